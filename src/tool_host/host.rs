//! The tools of one session, and what they share.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use reenact_children::{FolderGuard, SandboxSupport, WatcherProgram};
use reenact_engine::contract::{ProgressKind, ToolCheck, ToolOutcome};
use reenact_engine::permission::PermissionWord;
use reenact_tools::BuiltinTool;
use reenact_tools::inputs::{BashInput, BashOutputInput, read_input};
use reenact_tools::sandbox::CommandPlace;
use reenact_wire::json::Json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::background::{self, OutputRequest};
use crate::command::{CommandPlacement, CommandSite};
use crate::files::{FileJob, HostFiles};

/// How a host is set up.
#[derive(Clone, Debug)]
pub struct ToolHostOptions {
    /// The working directory.
    pub directory: PathBuf,
    /// Further folders in which paths need no question (P-4).
    pub directories: Vec<Arc<str>>,
    /// The program that watches commands (K-13).
    pub watcher: WatcherProgram,
    /// Where commands run (P-3).
    pub placement: CommandPlacement,
}

/// The built-in tools of a session, over a directory.
#[derive(Debug)]
pub struct ToolHost {
    directory: String,
    /// The thread of the files.
    files: mpsc::UnboundedSender<FileJob>,
    commands: CommandSite,
    /// The commands in the background, by their ids.
    background: BTreeMap<String, mpsc::Sender<OutputRequest>>,
    /// The owner of the files, and the commands in the background: they end with this value.
    tasks: JoinSet<()>,
    sandbox: SandboxSupport,
}

impl ToolHost {
    /// Opens the directory. It is to be called in a runtime of tokio, which lets the tools work.
    ///
    /// # Errors
    /// It is not a directory, or may not be looked into; or no folder for temporary files can be made.
    pub fn open(options: ToolHostOptions) -> io::Result<Self> {
        let ToolHostOptions { directory, directories, watcher, placement } = options;
        let files = HostFiles::open(&directory, directories)?;
        let directory = files.directory().to_owned();
        let temporary = FolderGuard::new("reenact-tools", &watcher)?;
        let (sender, jobs) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn_blocking(move || files.work(jobs));
        Ok(Self {
            files: sender,
            commands: CommandSite { folder: PathBuf::from(&directory), temporary: Arc::new(temporary), watcher, placement },
            directory,
            background: BTreeMap::new(),
            tasks,
            sandbox: SandboxSupport::of_system(),
        })
    }

    /// The working directory, behind all links.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The look of a tool at its input (T-22, P-2, P-4), and whether a sandbox that it needs is missing (P-3).
    pub fn check(&self, tool: BuiltinTool, input: &Json) -> impl Future<Output = ToolCheck> + use<> {
        let (reply, answer) = oneshot::channel();
        // A thread that is gone gives no answer.
        let _ = self.files.send(FileJob::Check { tool, input: input.clone(), reply });
        let needs_sandbox = tool == BuiltinTool::Bash
            && read_input::<BashInput>(input).is_ok_and(|input| self.commands.placement.place(&input) == CommandPlace::Sandbox);
        let is_missing = needs_sandbox && self.sandbox == SandboxSupport::None;
        async move {
            let check = answer.await.unwrap_or_else(|_| ToolCheck { problem: Some("the tools are gone".into()), ..ToolCheck::default() });
            let is_undecided = check.problem.is_none() && check.permission.is_none_or(|word| word == PermissionWord::Allow);
            if !(is_missing && is_undecided) {
                return check;
            }
            let reason = Some("this system has no sandbox for the command".into());
            ToolCheck { permission: Some(PermissionWord::Ask), reason, ..check }
        }
    }

    /// Runs a tool to its end. `is_agreed`: somebody was asked about its path, or a rule allows it. When `stop` comes first, what runs is ended. Several
    /// calls may run beside each other; those of files take turns.
    pub fn call<S, P>(
        &mut self,
        (tool, input): (BuiltinTool, &Json),
        is_agreed: bool,
        stop: S,
        progress: P,
    ) -> impl Future<Output = ToolOutcome> + use<S, P>
    where
        S: Future<Output = ()>,
        P: FnMut(ProgressKind, &str),
    {
        let call = self.begin(tool, input, is_agreed);
        let site = self.commands.clone();
        async move {
            let outcome = match call {
                HostCall::Command(input) => match site.start(&input).await {
                    Ok(command) => Ok(command.finish(stop, progress).await),
                    Err(problem) => Err(problem),
                },
                HostCall::Started(id, started) => match started.await {
                    Ok(Ok(())) => {
                        Ok(ToolOutcome::text(&format!("The command runs in the background as {id}. Read its output with BashOutput.")))
                    }
                    Ok(Err(problem)) => Err(problem),
                    Err(_) => Err(String::from("the command did not begin")),
                },
                HostCall::Output(answer) => {
                    answer.await.map(|text| ToolOutcome::text(&text)).map_err(|_| String::from("the command is gone"))
                }
                // A file is written whole or not at all: nobody waits for less.
                HostCall::Files(answer) => answer.await.map_err(|_| String::from("the tool panicked")),
                HostCall::Refused(problem) => Err(problem),
            };
            outcome.unwrap_or_else(|problem| ToolOutcome::error(&problem))
        }
    }

    fn begin(&mut self, tool: BuiltinTool, input: &Json, is_agreed: bool) -> HostCall {
        match tool {
            BuiltinTool::Bash => match read_input::<BashInput>(input) {
                Ok(input) if input.run_in_background => self.begin_in_background(input),
                Ok(input) => HostCall::Command(input),
                Err(problem) => HostCall::Refused(problem),
            },
            BuiltinTool::BashOutput => read_input(input).map_or_else(HostCall::Refused, |input| self.ask_for_output(&input)),
            BuiltinTool::Agent | BuiltinTool::WebFetch => HostCall::Refused(String::from("this tool is carried out elsewhere")),
            _ => {
                let (reply, answer) = oneshot::channel();
                let _ = self.files.send(FileJob::Run { tool, input: input.clone(), is_agreed, reply });
                HostCall::Files(answer)
            }
        }
    }

    fn begin_in_background(&mut self, input: BashInput) -> HostCall {
        let id = format!("bash_{}", self.background.len() + 1);
        let (sender, requests) = mpsc::channel(1);
        let (started, answer) = oneshot::channel();
        self.background.insert(id.clone(), sender);
        self.tasks.spawn(background::run(self.commands.clone(), input, started, requests));
        HostCall::Started(id, answer)
    }

    fn ask_for_output(&mut self, input: &BashOutputInput) -> HostCall {
        let Some(requests) = self.background.get(&input.bash_id) else {
            let known: Vec<&str> = self.background.keys().map(String::as_str).collect();
            let known = if known.is_empty() { String::from("none") } else { known.join(", ") };
            return HostCall::Refused(format!("no command in the background is called {}; known: {known}", input.bash_id));
        };
        let (reply, answer) = oneshot::channel();
        match requests.try_send(OutputRequest { kill: input.kill, reply }) {
            Ok(()) => HostCall::Output(answer),
            Err(mpsc::error::TrySendError::Full(_)) => HostCall::Refused(String::from("its output is being read by another call")),
            Err(mpsc::error::TrySendError::Closed(_)) => HostCall::Refused(format!("{} is gone{}", input.bash_id, self.panic_text())),
        }
    }

    /// The error of a task that panicked, for people.
    fn panic_text(&mut self) -> String {
        let errors = core::iter::from_fn(|| self.tasks.try_join_next()).filter_map(Result::err);
        errors.last().map(|error| format!(": {error}")).unwrap_or_default()
    }
}

/// A call that has begun.
enum HostCall {
    Command(BashInput),
    /// In the background, under this id.
    Started(String, oneshot::Receiver<Result<(), String>>),
    Output(oneshot::Receiver<String>),
    Files(oneshot::Receiver<ToolOutcome>),
    Refused(String),
}
