//! Drives a real client through a scenario: serves it, runs the client in a clean environment, and makes one transcript of what it asked and
//! what it printed (K-7, K-10).
//!
//! ```text
//!   scenario ──> replay server <══ requests ══ client (own group of processes, own folders)
//!                     │ gates: act on the client, continue      │ output, exit code
//!                     └── verdict ──────> Driven <───────────┘ ──> normalised text ──> snapshot
//! ```

mod environment;
mod member_path;
pub mod moment;
mod path_pattern;
mod preparation;
mod process;
pub mod profile;
mod shell;
pub mod sweep;
mod text;
mod verdict;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::network::{LOOPBACK, MachineNetwork, Network};
use super::serve::gate::{AnswerBoundary, AnswerGates, HeldAnswer, HoldRelease};
use super::serve::verdict::ServeVerdict;
use super::serve::{ServeOptions, ServedScenario};
pub use crate::children::{ChildSignal, SignalTarget};
use crate::children::{ChildStartError, WatcherProgram};
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind};
use crate::world::normalise::Normaliser;
use crate::world::setup::RunSetup;
use environment::RunFolders;
use moment::ClientMoment;
use process::ProcessAction;
pub use process::{ClientExit, ClientOutput};
use profile::ClientProfile;

/// How a client is driven.
#[derive(Clone, Debug)]
pub struct ClientHarness {
    /// The program and its arguments; `{base}` stands for the base URL.
    pub command: Vec<String>,
    /// The program that watches it.
    pub watcher: WatcherProgram,
    /// Its profile.
    pub profile: Option<Arc<ClientProfile>>,
    /// A folder whose files are copied into its working directory.
    pub files: Option<PathBuf>,
    /// A command for a shell, run in its folders before it starts.
    pub setup: Option<String>,
    /// A command that is run when the client is over, in the same folders: it prompts the client again or resumes its session.
    /// `{session}` stands for the session of the first run.
    pub again: Option<Vec<String>>,
    /// Further variables; `{base}` in a value stands for the base URL.
    pub variables: Vec<(String, String)>,
    /// The environment of the client.
    pub surroundings: ClientSurroundings,
    /// Its standard input.
    pub input: Option<Vec<u8>>,
    /// Whether its standard input stays open after that, for lines of a sweep.
    pub keeps_input_open: bool,
    /// How long it may take.
    pub patience: Duration,
    /// How the scenario is served.
    pub options: ServeOptions,
}

/// The environment of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientSurroundings {
    /// Folders and variables of its own.
    #[default]
    Clean,
    /// Folders of its own, and the variables of the calling process.
    Inherited,
}

/// The outcome of driving a client.
#[derive(Clone, Debug)]
pub struct ClientRun {
    /// Its requests.
    pub verdict: ServeVerdict,
    /// How many of the answers to requests for messages the first command got.
    pub first_answers: usize,
    /// Its output, and its end.
    pub output: ClientOutput,
    /// The same of the second command.
    pub again: Option<ClientOutput>,
    /// The problems of the requests and of the client; empty when all is well.
    pub failures: Vec<String>,
    /// The transcript, without the parts that may vary.
    pub text: String,
    /// Where answers were held, each with the name of the event that came next.
    pub boundaries: Vec<(AnswerBoundary, Option<Arc<str>>)>,
    /// The result of the action on the client.
    pub action: ActionOutcome,
}

/// The action on a client at a moment of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundaryAction {
    /// The moment of the action.
    pub at: ClientMoment,
    /// The action.
    pub what: ClientAction,
    /// How long the answer stands still before: the client has read all that was sent.
    pub lead: Duration,
    /// How long the answer stands still after.
    pub wait: Duration,
}

/// Something that is done to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientAction {
    /// It gets a signal, alone or with its group.
    Signal(ChildSignal, SignalTarget),
    /// The connection is closed inside the answer.
    Close,
    /// The connection breaks.
    Reset,
    /// It gets a line on its standard input.
    Line(String),
}

/// The result of an action on a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// None was wanted, or its boundary never came.
    NotDone,
    /// It was done.
    Done,
    /// The next request came first, or the client ended first.
    TooLate,
}

/// Why a client could not be driven. Messages end with a next step.
#[derive(Debug, thiserror::Error)]
pub enum ClientHarnessError {
    /// The folders could not be made.
    #[error("cannot make the folders for the client: {0}; is the temporary folder writable?")]
    Folders(io::Error),
    /// No port could be opened.
    #[error("cannot open a port on loopback: {0}")]
    Port(io::Error),
    /// The client could not be started.
    #[error("cannot start `{program}`: {problem}; name a program that is installed, or give its path")]
    Start {
        /// The program.
        program: String,
        /// The error of the system.
        problem: io::Error,
    },
    /// There is no command.
    #[error("no command is given: write it after `--`")]
    NoCommand,
    /// The files for it cannot be copied.
    #[error("cannot copy the files of `{folder}` for the client: {problem}; name a folder that can be read")]
    Files {
        /// From where.
        folder: String,
        /// The error of the system.
        problem: io::Error,
    },
    /// The command that prepares its folders failed.
    #[error("the command `{command}`, which prepares the client's folders, failed ({ended}); correct it:\n{said}")]
    Setup {
        /// Which.
        command: String,
        /// How it ended.
        ended: ClientExit,
        /// What it printed.
        said: String,
    },
    /// The watcher of the client does not run, or was killed.
    #[error("cannot watch the client: {0}; start it again")]
    Watcher(io::Error),
}

impl ClientAction {
    /// Whether it is done to the client itself, and not to a connection: then it can be done between answers, too.
    pub fn is_on_process(&self) -> bool {
        matches!(self, Self::Signal(..) | Self::Line(_))
    }
}

/// `SIGINT`, `SIGINT to the group`, `close`.
impl core::fmt::Display for ClientAction {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Signal(signal, SignalTarget::Process) => f.write_str(signal.name()),
            Self::Signal(signal, SignalTarget::Group) => write!(f, "{} to the group", signal.name()),
            Self::Close => f.write_str("close"),
            Self::Reset => f.write_str("reset"),
            Self::Line(line) => write!(f, "line {line:?}"),
        }
    }
}

impl From<ChildStartError> for ClientHarnessError {
    fn from(error: ChildStartError) -> Self {
        match error {
            ChildStartError::NoCommand => Self::NoCommand,
            ChildStartError::Program { program, problem } => Self::Start { program, problem },
            ChildStartError::Watcher(problem) => Self::Watcher(problem),
        }
    }
}

/// Drives a client through a scenario once.
///
/// # Errors
/// When it could not be started; what goes wrong from then on is a failure of the run.
pub async fn drive(setup: &Arc<RunSetup>, drive: &ClientHarness, act: Option<&BoundaryAction>) -> Result<ClientRun, ClientHarnessError> {
    let folders = RunFolders::new(&drive.watcher).map_err(ClientHarnessError::Folders)?;
    let listener = MachineNetwork.bind(LOOPBACK).await.map_err(ClientHarnessError::Port)?;
    let base = format!("http://{}", MachineNetwork::address(&listener).map_err(ClientHarnessError::Port)?);
    let names = folders.profile_names(&base, &prompt(setup, 0).unwrap_or_default());
    preparation::prepare(drive, &folders, &base, &names).await?;
    let answers = AtomicU32::new(0);
    let (stop, stopped) = oneshot::channel::<()>();
    let (gates, held) = AnswerGates::new();
    let (act_on_process, actions) = mpsc::unbounded_channel();
    let options = ServeOptions { gates: Some(gates), ..drive.options.clone() };
    let setup = &Arc::new(RunSetup::clone(setup).for_client(&folders.named()));
    let server = ServedScenario::new(setup, options).serve::<MachineNetwork>(listener, async {
        let _ = stopped.await;
    });
    let client = async {
        let output = process::run(drive, &drive.command, &folders, &base, &names, actions).await;
        let first_answers = answers.load(Ordering::Relaxed) as usize;
        let again = match (&output, &drive.again) {
            (Ok(output), Some(again)) => {
                let session = output.session().unwrap_or_default();
                let next = prompt(setup, 1).unwrap_or_else(|| NEXT_PROMPT.into());
                let names = names.clone().with("session", session).with("prompt", next);
                let (_, no_actions) = mpsc::unbounded_channel();
                Some(process::run(drive, again, &folders, &base, &names, no_actions).await)
            }
            _ => None,
        };
        let _ = stop.send(());
        (output, again.transpose(), first_answers)
    };
    let (verdict, (output, again, first_answers), (boundaries, action)) =
        tokio::join!(server, client, keep_gates(held, act, act_on_process, &answers));
    let (output, again) = (output?, again?);
    let mut driven = ClientRun { verdict, first_answers, output, again, failures: Vec::new(), text: String::new(), boundaries, action };
    driven.failures = failures(setup, &driven, act);
    if let Some(profile) = drive.profile.as_deref() {
        driven.failures.extend(verdict::problems(profile, setup.scenario.drive.exit, &driven, act));
    }
    let mut normaliser = Normaliser::new(&setup.scenario.drive, &folders.named());
    driven.text = text::render(setup, &driven, drive.profile.as_deref(), &mut normaliser);
    let unused = normaliser.unused().map(|name| format!("[[normalise]] `{name}` replaced nothing: is its `member` or `after` misspelt?"));
    driven.verdict.remarks.extend(unused);
    Ok(driven)
}

/// The prompt of a resumed session, where the scenario has no second prompt.
const NEXT_PROMPT: &str = "Go on.";

/// The text of a prompt of the scenario, from 0.
fn prompt(setup: &RunSetup, nth: usize) -> Option<String> {
    let blocks = &setup.scenario.prompts.get(nth)?.content;
    let text = |block: &Block| match block.kind() {
        BlockKind::Text(text) => Some(String::from(&**text)),
        _ => None,
    };
    Some(blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n"))
}

/// Lets all answers continue, and does what is to be done when its moment comes.
async fn keep_gates(
    mut held: mpsc::UnboundedReceiver<HeldAnswer>,
    act: Option<&BoundaryAction>,
    process: mpsc::UnboundedSender<ProcessAction>,
    answers: &AtomicU32,
) -> (Vec<(AnswerBoundary, Option<Arc<str>>)>, ActionOutcome) {
    let (mut boundaries, mut outcome) = (Vec::new(), ActionOutcome::NotDone);
    // When the action is due that waits for a while after the end of an answer.
    let mut due: Option<Instant> = None;
    loop {
        let next = tokio::select! {
            biased;
            next = held.recv() => next,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                outcome = ActionOutcome::Done;
                act.iter().for_each(|act| _ = act_on(&act.what, &process));
                continue;
            }
        };
        if due.take().is_some() {
            outcome = ActionOutcome::TooLate;
        }
        let Some(one) = next else { return (boundaries, outcome) };
        boundaries.push((one.boundary.clone(), one.event.clone()));
        answers.fetch_max(one.boundary.answer, Ordering::Relaxed);
        let Some(act) = act.filter(|act| act.at.boundary == one.boundary && outcome == ActionOutcome::NotDone) else {
            let _ = one.go.send(HoldRelease::On);
            continue;
        };
        one.disturb();
        if let Some(after) = act.at.after {
            let _ = one.go.send(HoldRelease::On);
            due = Some(Instant::now() + after);
            continue;
        }
        outcome = ActionOutcome::Done;
        tokio::time::sleep(act.lead).await;
        let how = act_on(&act.what, &process);
        if how == HoldRelease::On {
            tokio::time::sleep(act.wait).await;
        }
        let _ = one.go.send(how);
    }
}

/// Does it, and says how the answer that is held continues. A client that is gone needs no signal and no line.
fn act_on(what: &ClientAction, process: &mpsc::UnboundedSender<ProcessAction>) -> HoldRelease {
    match what {
        ClientAction::Close => return HoldRelease::Close,
        ClientAction::Reset => return HoldRelease::Reset,
        ClientAction::Signal(signal, target) => _ = process.send(ProcessAction::Signal(*signal, *target)),
        ClientAction::Line(line) => _ = process.send(ProcessAction::Line(format!("{line}\n"))),
    }
    HoldRelease::On
}

/// The failures of the run, a sentence each.
fn failures(setup: &RunSetup, driven: &ClientRun, act: Option<&BoundaryAction>) -> Vec<String> {
    // Who is interfered with on purpose owes no more than valid requests.
    let is_owed = |failure: &&String| act.is_none() || failure.starts_with("O-") || failure.contains("the API refuses");
    let mut failures: Vec<String> = driven.verdict.failures.iter().filter(is_owed).cloned().collect();
    for (output, which) in
        core::iter::once((&driven.output, "the client")).chain(driven.again.as_ref().map(|again| (again, "the second command")))
    {
        if output.ended == ClientExit::TimedOut {
            failures.push(format!("{which} did not end in time and was killed"));
        }
        if !output.left_behind.is_empty() {
            failures.push(format!("{which} left processes behind: {}", output.left_behind.join(", ")));
        }
    }
    let wanted = setup.scenario.drive.exit.filter(|_| act.is_none());
    if let Some(wanted) = wanted.filter(|wanted| driven.output.ended != ClientExit::Code(i32::try_from(*wanted).unwrap_or(i32::MAX))) {
        failures.push(format!("expected exit code {wanted}, got {}", driven.output.ended));
    }
    failures
}
