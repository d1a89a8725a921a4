//! One command of a shell under a watcher (B-5, P-3).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use reenact_children::{ChildCommand, ChildExit, ChildStartError, FolderGuard, Sandbox, WatchedChild, WatcherProgram};
use reenact_engine::contract::{ProgressKind, ToolOutcome};
use reenact_engine::time::Micros;
use reenact_tools::inputs::BashInput;
use reenact_tools::sandbox::{CommandPlace, command_place};
use reenact_tools::shell_run::ShellRun;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::Instant;

use crate::output_text::OutputDecoder;

/// The shell, where the model names none.
const SHELL: &str = "sh";

/// So many bytes are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Variables that the commands of a model do not get: with them they could ask the API on the user's account.
const CREDENTIALS: [&str; 2] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];

/// How long the output of ended processes may take to come.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// Where commands run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandPlacement {
    /// As the input says, or else as the command needs (P-3).
    #[default]
    ByCommand,
    /// In a sandbox, whatever the input says.
    AlwaysSandbox,
}

/// The surroundings of commands.
#[derive(Clone, Debug)]
pub(crate) struct CommandSite {
    pub(crate) folder: PathBuf,
    /// For the temporary files of sandboxes.
    pub(crate) temporary: Arc<FolderGuard>,
    pub(crate) watcher: WatcherProgram,
    pub(crate) placement: CommandPlacement,
}

/// A command that runs.
#[derive(Debug)]
pub(crate) struct RunningCommand {
    child: WatchedChild,
    output: OutputPipe<ChildStdout>,
    errors: OutputPipe<ChildStderr>,
    run: ShellRun,
    began: Instant,
    deadline: Option<Instant>,
}

/// One of its two streams, until its end.
#[derive(Debug)]
struct OutputPipe<S> {
    stream: Option<S>,
    decoder: OutputDecoder,
    piece: Vec<u8>,
}

impl CommandPlacement {
    /// The place of a command.
    pub(crate) fn place(self, input: &BashInput) -> CommandPlace {
        match (self, input.sandbox) {
            (Self::AlwaysSandbox, _) | (Self::ByCommand, Some(true)) => CommandPlace::Sandbox,
            (Self::ByCommand, Some(false)) => CommandPlace::Outside,
            (Self::ByCommand, None) => command_place(&input.command),
        }
    }
}

impl CommandSite {
    /// Starts a command. One in the background has no limit of time unless its input gives one.
    pub(crate) async fn start(&self, input: &BashInput) -> Result<RunningCommand, String> {
        let shell = match &input.shell_executable {
            Some(path) if !Path::new(path).is_absolute() => return Err(format!("shell_executable: {path} is not an absolute path")),
            Some(path) => path,
            None => SHELL,
        };
        let mut command = ChildCommand::new([shell, "-c", &input.command].map(OsString::from).to_vec());
        command.streams = [Stdio::null(), Stdio::piped(), Stdio::piped()];
        command.folder = Some(self.folder.clone());
        command.environment = Some(environment());
        if self.placement.place(input) == CommandPlace::Sandbox {
            let temporary = self.temporary.path();
            command.variables.push((String::from("TMPDIR"), temporary.to_string_lossy().into_owned()));
            command.sandbox = Some(Sandbox { writable: vec![self.folder.clone(), temporary.to_owned()] });
        }
        let mut child = command.start(&self.watcher).await.map_err(|error| start_problem(&error))?;
        let (_, output, errors) = child.take_streams();
        let limit = input.time_limit();
        let began = Instant::now();
        Ok(RunningCommand {
            child,
            output: OutputPipe::new(output),
            errors: OutputPipe::new(errors),
            run: ShellRun::new(&input.command, limit),
            began,
            deadline: (!input.run_in_background || input.timeout.is_some()).then(|| began + Duration::from_micros(limit.0)),
        })
    }
}

impl RunningCommand {
    /// Waits for its end. When `stop` comes, or its time is over, all that it has started is ended.
    pub(crate) async fn finish(mut self, stop: impl Future<Output = ()>, mut progress: impl FnMut(ProgressKind, &str)) -> ToolOutcome {
        let mut stop = core::pin::pin!(stop);
        let end = loop {
            tokio::select! {
                biased;
                () = &mut stop => break None,
                () = until(self.deadline) => break Some(Err(())),
                text = self.output.next() => self.tell(ProgressKind::Stdout, &text, &mut progress),
                text = self.errors.next() => self.tell(ProgressKind::Stderr, &text, &mut progress),
                exit = self.child.exited() => break Some(Ok(exit)),
            }
        };
        if !matches!(end, Some(Ok(_))) {
            self.child.end();
        }
        let left = self.drain(&mut progress).await;
        self.run.taken = Micros(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX));
        match end {
            None => ToolOutcome::error("stopped"),
            Some(Err(())) => self.run.timed_out(),
            Some(Ok(Err(problem))) => ToolOutcome::error(&problem.to_string()),
            Some(Ok(Ok(exit))) => {
                match exit {
                    ChildExit::Code(code) => self.run.code = code,
                    ChildExit::Signal(_) => self.run.signal = Some(exit.to_string().trim_start_matches("killed by ").to_owned()),
                }
                if let Some(notice) = left {
                    self.run.print_error(&format!("({notice})\n"));
                }
                self.run.outcome()
            }
        }
    }

    /// Waits until nothing is left of it, and reads the rest of its output. For people: what it had left behind.
    async fn drain(&mut self, progress: &mut impl FnMut(ProgressKind, &str)) -> Option<String> {
        let mut left = None;
        let mut deadline = None;
        loop {
            tokio::select! {
                biased;
                text = self.output.next() => self.tell(ProgressKind::Stdout, &text, progress),
                text = self.errors.next() => self.tell(ProgressKind::Stderr, &text, progress),
                processes = self.child.left(), if deadline.is_none() => {
                    left = processes.ok().and_then(|processes| processes.notice());
                    deadline = Some(Instant::now() + LAST_OUTPUT);
                }
                () = until(deadline), if deadline.is_some() => return left,
            }
            if deadline.is_some() && self.output.is_over() && self.errors.is_over() {
                return left;
            }
        }
    }

    /// Keeps some output, and tells as much as is kept.
    fn tell(&mut self, kind: ProgressKind, text: &str, progress: &mut impl FnMut(ProgressKind, &str)) {
        let kept = if kind == ProgressKind::Stdout { self.run.print(text) } else { self.run.print_error(text) };
        if !kept.is_empty() {
            progress(kind, kept);
        }
    }
}

impl<S: AsyncRead + Unpin> OutputPipe<S> {
    fn new(stream: Option<S>) -> Self {
        Self { stream, decoder: OutputDecoder::default(), piece: vec![0; PIECE_BYTES] }
    }

    fn is_over(&self) -> bool {
        self.stream.is_none()
    }

    /// The next text; behind the last one nothing comes any more.
    async fn next(&mut self) -> String {
        let Some(stream) = &mut self.stream else { return core::future::pending().await };
        match stream.read(&mut self.piece).await {
            Ok(count) if count > 0 => self.decoder.text(&self.piece[..count]),
            _ => {
                self.stream = None;
                self.decoder.rest()
            }
        }
    }
}

/// The variables of this process, but for the user's keys.
#[expect(clippy::disallowed_methods, reason = "a command has the environment that it would have at a terminal")]
fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| CREDENTIALS.iter().all(|secret| name != secret)).collect()
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => core::future::pending().await,
    }
}

fn start_problem(error: &ChildStartError) -> String {
    match error {
        ChildStartError::Program { program, problem } => format!("{program}: {problem}"),
        other => other.to_string(),
    }
}
