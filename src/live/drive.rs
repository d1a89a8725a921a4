//! Drives a real client through a scenario: serves it, runs the client in a clean environment, and makes one transcript of what it asked and
//! what it printed (K-7, K-10).
//!
//! ```text
//!   scenario ──> replay server <══ requests ══ client (own group of processes, own folders)
//!                     │ gates: act on the client, continue      │ output, exit code
//!                     └── verdict ──────> Driven <───────────┘ ──> normalised text ──> snapshot
//! ```

mod action;
mod call_result;
pub mod client_sweep;
pub mod client_sweep_json;
mod client_sweep_table;
pub mod conformance;
mod environment;
mod history_judge;
mod marker;
mod member_path;
pub mod moment;
mod moment_watch;
mod output;
mod path_pattern;
mod plain_text;
mod preparation;
mod process;
mod process_facts;
mod process_message;
pub mod profile;
mod profile_places;
mod run_history;
mod scripted_interrupt;
mod shell;
mod streams;
mod text;
mod traces;
mod verdict;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::network::{LOOPBACK, MachineNetwork, Network};
use super::serve::gate::{AnswerBoundary, AnswerGates};
use super::serve::{ServeOptions, ServedScenario};
pub use action::{ActionOutcome, BoundaryAction, ClientAction, TerminalKey};
pub use call_result::CallResult;
use environment::RunFolders;
use history_judge::UserTexts;
pub use history_judge::{RunJudgement, RunQuestion};
use marker::MarkerPlaces;
use moment_watch::{MomentWatch, WatchedMoments};
pub use output::{ClientExit, ClientLeaving, ClientOutput};
use process::RunSurroundings;
use process_message::ProcessAction;
use profile::ClientProfile;
pub use reenact_children::{ChildSignal, SignalTarget};
use reenact_children::{ChildStartError, WatcherProgram};
use reenact_foreign::verdict::SessionVerdict;
use reenact_wire::prelude::*;
use reenact_world::normalise::Normaliser;
use reenact_world::setup::RunSetup;
use run_history::RunExchange;
use scripted_interrupt::InterruptAct;
use traces::FolderState;
pub use traces::{ClientTraces, FileTrace, StoredSessions};

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
    /// Whether it has a terminal of its own.
    pub terminal: ClientTerminal,
    /// Its standard input, or what is typed at its terminal.
    pub input: Option<Vec<u8>>,
    /// Whether its standard input stays open after that, for lines of a client sweep.
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

/// The terminal of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientTerminal {
    /// None: pipes.
    #[default]
    None,
    /// One of its own, at which keys are pressed. The second command has none.
    Own,
}

/// The outcome of driving a client.
#[derive(Clone, Debug)]
pub struct ClientRun {
    /// Its requests.
    pub verdict: SessionVerdict,
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
    /// The answers whose tools showed that they run.
    pub marked: Vec<u32>,
    /// The result of the action on the client.
    pub action: ActionOutcome,
    /// Its traces on the disk.
    pub traces: ClientTraces,
    /// The judgement of its traces and of its later requests.
    pub judgement: RunJudgement,
    /// How many cores the client kept busy; known on Linux, of a run that was alone.
    pub cores_busy: Option<f64>,
}

impl ClientHarness {
    /// Whether a command that resumes knows the session by its id.
    fn resumes_by_session(&self, command: &[String]) -> bool {
        let of_profile = self.profile.iter().flat_map(|profile| &profile.env);
        let values = of_profile.chain(&self.variables).map(|(_, value)| value);
        command.iter().chain(values).any(|word| word.contains("{session}"))
    }
}

impl ClientRun {
    /// How many requests for messages there were, of both commands.
    pub fn message_requests(&self) -> usize {
        self.verdict.asked.iter().filter(|asked| asked.message.is_some()).count()
    }
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
        /// The command.
        command: String,
        /// How it ended.
        ended: ClientExit,
        /// Its output.
        said: String,
    },
    /// No terminal could be made.
    #[error("cannot make a terminal for the client: {0}; leave --terminal out, or run where /dev/ptmx is")]
    Terminal(io::Error),
    /// The watcher of the client does not run, or was killed.
    #[error("cannot watch the client: {0}; start it again")]
    Watcher(io::Error),
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
    let (stop, stopped) = oneshot::channel::<()>();
    let (gates, held) = AnswerGates::new();
    let (act_on_process, actions) = mpsc::unbounded_channel();
    let options = ServeOptions { gates: Some(gates), ..drive.options.clone() };
    let setup = &Arc::new(RunSetup::clone(setup).for_client(&folders.named()));
    let server = ServedScenario::new(setup, options).serve::<MachineNetwork>(listener, async {
        let _ = stopped.await;
    });
    let markers = &setup.scenario.drive.markers;
    let marker_places = MarkerPlaces::open(markers.file.as_ref().map(|file| folders.work().join(&**file))).await;
    let marker_places = marker_places.map_err(ClientHarnessError::Port)?;
    let marker_url = marker_places.url().map_err(ClientHarnessError::Port)?;
    let (tell_signs, signs) = mpsc::unbounded_channel();
    let first = RunSurroundings {
        folders: &folders,
        base: &base,
        names: &names,
        marker_url: &marker_url,
        marker_line: markers.line.as_deref(),
        terminal: drive.terminal,
        signs: &tell_signs,
    };
    let client = async {
        let ended = run_commands(setup, drive, &first, actions).await;
        let _ = stop.send(());
        ended
    };
    let client = async {
        tokio::select! {
            biased;
            ended = client => ended,
            never = marker_places.watch(&tell_signs) => match never {},
        }
    };
    let interrupts = InterruptAct::of_scenario(&setup.scenario, drive.terminal);
    let watch = MomentWatch::new(act, interrupts, act_on_process).with_prompts(typed_prompts(setup, drive)).run(held, signs);
    let (verdict, ended, watched) = tokio::join!(server, client, watch);
    let (output, again, traces) = ended?;
    let WatchedMoments { boundaries, marked, action, interrupts, first_answers, acted_at, abort } = watched;
    let is_late = act.zip(output.age_at_signal).is_some_and(|(act, age)| act.at.is_long_over(age));
    let action = if is_late { ActionOutcome::TooLate } else { action };
    let failures = scripted_interrupt::failures(&setup.scenario, drive.terminal, &interrupts);
    let (text, judgement) = (String::new(), RunJudgement::default());
    let traces = ClientTraces { acted_at, ..traces };
    let cores_busy = None;
    let run =
        ClientRun { verdict, first_answers, output, again, failures, text, boundaries, marked, action, traces, judgement, cores_busy };
    Ok(judged(setup, drive, (act, abort.as_ref()), run, &folders.named()))
}

/// The run with its failures, its transcript, and what its verdict rests on. `abort` is the scenario's own interrupt. Interrupts that were not done are
/// among its failures already.
fn judged(
    setup: &RunSetup,
    drive: &ClientHarness,
    (act, abort): (Option<&BoundaryAction>, Option<&BoundaryAction>),
    mut run: ClientRun,
    folders: &[(String, &'static str)],
) -> ClientRun {
    run.verdict.failures.append(&mut run.failures);
    let exchanges = run_history::exchanges(&run.verdict);
    run.failures = failures(setup, &run, act);
    run.failures.extend(verdict::problems(drive, &setup.scenario, &run, &exchanges, (act, abort)));
    let (first, second) = (prompts(setup, drive), prompt(setup, 1).unwrap_or_else(|| NEXT_PROMPT.into()));
    let texts = UserTexts { first: &first, second: &second };
    run.judgement = history_judge::judge(setup, &run, &exchanges, drive.profile.as_deref(), texts, (act, abort));
    run.failures.extend(run.judgement.problems.iter().cloned());
    if act.is_none() {
        run.failures.extend(profile_places::problems(drive, &run, &exchanges));
        // A client that need not ask may fail as it likes.
        let is_wrong = !run.failures.is_empty();
        run.failures.extend(last_words(&run, &exchanges, folders).filter(|_| is_wrong));
    }
    run.verdict.failures.clone_from(&run.failures);
    run.verdict.remarks.extend(run.judgement.remarks.iter().cloned());
    let mut normaliser = Normaliser::new(&setup.scenario.drive, folders);
    run.text = text::render(setup, &run, drive.profile.as_deref(), &mut normaliser);
    let unused = normaliser.unused().map(|name| format!("[[normalise]] `{name}` replaced nothing: is its `member` or `after` misspelt?"));
    run.verdict.remarks.extend(unused);
    run.verdict.remarks.extend(acted_rules(&normaliser));
    add_questions(setup, drive, &exchanges, act.or(abort), &mut run);
    run
}

/// The last line of a client that asked nothing and failed: it says why.
fn last_words(run: &ClientRun, exchanges: &[RunExchange], folders: &[(String, &'static str)]) -> Option<String> {
    let is_failure = exchanges.is_empty() && run.output.ended != ClientExit::Code(0);
    let line = run.output.last_error().filter(|_| is_failure)?;
    let line = environment::with_folder_names(line.trim(), folders);
    Some(format!("the client ended with {} and asked nothing; its last line is: {line}", run.output.ended))
}

/// A remark on the rules of normalisation that acted.
fn acted_rules(normaliser: &Normaliser) -> Option<String> {
    let rules: Vec<&str> = normaliser.acted().collect();
    let order = if rules.contains(&"order") { "; `order` moved results of parallel tools" } else { "" };
    (!rules.is_empty())
        .then(|| format!("what varies was replaced by the rules {}{order}; `without` in [drive] leaves rules out", rules.join(", ")))
}

/// Adds the questions to a driven client beside those about its requests.
fn add_questions(setup: &RunSetup, drive: &ClientHarness, exchanges: &[RunExchange], act: Option<&BoundaryAction>, run: &mut ClientRun) {
    let mut further = vec![(true, "processes left behind"), (true, "an end in time")];
    further.extend(verdict::questions(drive, &setup.scenario, run, exchanges, act));
    further.extend(RunQuestion::ALL.map(|question| (run.judgement.asked.contains(&question), question.as_str())));
    if !setup.scenario.interrupts.is_empty() {
        further.push((true, "the interrupts of the scenario"));
    }
    if drive.terminal == ClientTerminal::Own {
        further.push((false, verdict::NEVER_ASKED_AT_TERMINALS));
    }
    further.extend(verdict::judges_parts(drive, run, exchanges).map(|is_asked| (is_asked, verdict::PARTS_OF_OUTPUT)));
    for (is_asked, words) in further {
        let questions = &mut run.verdict.questions;
        if is_asked { &mut questions.asked } else { &mut questions.unasked }.push(words.into());
    }
}

/// Runs the client, and then the second command, with what each leaves on the disk.
async fn run_commands(
    setup: &RunSetup,
    drive: &ClientHarness,
    first: &RunSurroundings<'_>,
    actions: mpsc::UnboundedReceiver<ProcessAction>,
) -> Result<(ClientOutput, Option<ClientOutput>, ClientTraces), ClientHarnessError> {
    let folder = first.folders.work();
    let stored = || StoredSessions::read(drive.profile.as_deref(), first.names, &first.folders.named());
    let before = FolderState::read(&folder);
    let output = process::run(drive, &drive.command, first, actions).await?;
    let after = FolderState::read(&folder);
    let mut traces = ClientTraces { changed: after.clone().changed_since(&before), stored: stored(), ..ClientTraces::default() };
    let Some(again) = &drive.again else { return Ok((output, None, traces)) };
    let session = output.session().or_else(|| traces.stored.as_ref()?.newest_session());
    // A client that was stopped before it named its session has none that could be resumed by its name.
    if session.is_none() && drive.resumes_by_session(again) {
        return Ok((output, None, traces));
    }
    let session = session.unwrap_or_default();
    let next = prompt(setup, 1).unwrap_or_else(|| NEXT_PROMPT.into());
    let names = first.names.clone().with("session", session).with("prompt", next);
    let (_, no_actions) = mpsc::unbounded_channel();
    let (no_signs, _) = mpsc::unbounded_channel();
    let second = RunSurroundings { names: &names, terminal: ClientTerminal::None, signs: &no_signs, ..*first };
    let again = process::run(drive, again, &second, no_actions).await?;
    traces.stored_again = stored();
    traces.changed_again = FolderState::read(&folder).changed_since(&after);
    Ok((output, Some(again), traces))
}

/// The texts that the user may have given to the client: the scenario's prompt, words of its command that are sentences, and its input.
fn prompts(setup: &RunSetup, drive: &ClientHarness) -> Vec<String> {
    let words = drive.command.iter().filter(|word| word.trim().contains(' ') && !word.contains('{')).cloned();
    let input = drive.input.as_ref().and_then(|input| String::from_utf8(input.clone()).ok());
    let mut prompts: Vec<String> = prompt(setup, 0).into_iter().chain(words).chain(input).collect();
    prompts.retain(|prompt| !prompt.trim().is_empty());
    prompts
}

/// The prompts after the first that are typed at a terminal: those of the scenario that it owes an answer, unless another command has them.
fn typed_prompts(setup: &RunSetup, drive: &ClientHarness) -> Vec<String> {
    let is_typed = drive.terminal == ClientTerminal::Own && drive.again.is_none() && drive.input.is_none();
    let owed = |nth: &usize| setup.scenario.prompts[*nth].turns.first().is_none_or(|turn| !turn.may);
    (1..setup.scenario.prompts.len()).filter(|nth| is_typed && owed(nth)).filter_map(|nth| prompt(setup, nth)).collect()
}

/// The prompt of a resumed session, where the scenario has no second prompt.
const NEXT_PROMPT: &str = "Go on.";

/// The text of a prompt of the scenario, from 0.
fn prompt(setup: &RunSetup, nth: usize) -> Option<String> {
    Some(scripted_interrupt::plain_text(&setup.scenario.prompts.get(nth)?.content))
}

/// The failures, without those that refuse a later request for the same reason: a history that is broken once is broken in all that follow.
fn without_repeats<'f>(failures: impl Iterator<Item = &'f String>) -> Vec<String> {
    let mut reasons: Vec<&str> = Vec::new();
    let is_new = |failure: &&'f String| {
        let failure: &'f str = failure;
        let reason = failure.split_once("the API refuses request ").and_then(|(_, refused)| refused.split_once(": "));
        let is_known = reason.is_some_and(|(_, reason)| reasons.contains(&reason));
        reasons.extend(reason.map(|(_, reason)| reason));
        !is_known
    };
    failures.filter(is_new).cloned().collect()
}

/// The failures of the run.
fn failures(setup: &RunSetup, driven: &ClientRun, act: Option<&BoundaryAction>) -> Vec<String> {
    // Who is interfered with on purpose owes no more than valid requests.
    let is_owed = |failure: &&String| failure.starts_with("O-") || failure.contains("the API refuses");
    let told = &driven.verdict.failures;
    // A request that breaks a rule is refused for it: once is enough.
    let is_told = |failure: &&String| told.iter().any(|other| other.strip_prefix("O-1: ") == Some(failure.as_str()));
    let mut failures: Vec<String> = match act {
        None => told.clone(),
        Some(_) => without_repeats(told.iter().filter(is_owed).filter(|failure| !is_told(failure))),
    };
    for (output, which) in
        core::iter::once((&driven.output, "the client")).chain(driven.again.as_ref().map(|again| (again, "the second command")))
    {
        if output.ended == ClientExit::TimedOut {
            failures.push(format!("{which} did not end in time and was killed"));
        }
        // Who is killed cannot end what it started.
        let is_killed = output.ended == ClientExit::Signal(9) && act.is_some_and(BoundaryAction::is_kill);
        if !output.left_behind.is_empty() && !is_killed {
            failures.push(format!("{which} left processes behind: {}", output.left_behind.join(", ")));
        }
    }
    let wanted = setup.scenario.drive.exit.filter(|_| act.is_none() && driven.output.leaving == ClientLeaving::OnItsOwn);
    if let Some(wanted) = wanted.filter(|wanted| driven.output.ended != ClientExit::Code(i32::try_from(*wanted).unwrap_or(i32::MAX))) {
        failures.push(format!("expected exit code {wanted}, got {}", driven.output.ended));
    }
    failures
}
