//! `reenact drive SCENARIO -- COMMAND…`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use super::CommandExit;
use super::output::{complain, print_line};
use super::serve::{ServeArgumentsOfScenario, listen, runtime, unpassed};
use crate::files::open;
use crate::files::scenario::{LoadedScenario, snapshot_path};
use crate::files::snapshot::{Snapshot, SnapshotMetadata, SnapshotOutcome, accept, compare, reject, write_pending};
use crate::live::drive::moment::ClientMoment;
use crate::live::drive::profile::shipped;
use crate::live::drive::sweep::{ClientSweep, sweep};
use crate::live::drive::{ChildSignal, ClientAction, ClientExit, ClientHarness, ClientRun, ClientSurroundings, SignalTarget, drive};
use crate::prelude::*;
use crate::runner::snapshot::diff;
use crate::runner::threads_available;
use crate::scenario::drive::KnownClient;

#[derive(Debug, clap::Args)]
pub(super) struct DriveArguments {
    /// A scenario (`*.toml`) or a tape (`*.tape.jsonl`)
    scenario: PathBuf,
    #[command(flatten)]
    how: ServeArgumentsOfScenario,
    /// Which client it is: `claude-code`, `opencode` or `sdk`; when not given, as the scenario has it
    #[arg(long, value_name = "CLIENT", value_parser = client)]
    client: Option<KnownClient>,
    /// Set a variable for the client; `{base}` in the value stands for the base URL
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = super::selection::key_and_value)]
    variables: Vec<(String, String)>,
    /// Give the client all variables of this environment; otherwise it gets only the few that it needs
    #[arg(long)]
    keep_env: bool,
    /// The standard input of the client
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// A shell command to run when the client has ended, e.g. one that resumes `{session}`
    #[arg(long, value_name = "COMMAND")]
    again: Option<String>,
    /// How long the client may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// Compare with the snapshot; a new or changed transcript is left beside its place as `*.snap.new`
    #[arg(long)]
    snapshots: bool,
    /// Write the snapshot as it is now
    #[arg(long, conflicts_with = "snapshots")]
    accept: bool,
    /// Do this at every boundary of the scenario and after each answer, one client each: `SIGINT`, `SIGTERM`, `SIGKILL`, `close`, `reset` or
    /// `line:TEXT`; a signal goes to the client and, in runs of their own, to its group; `SIGINT:process` and `SIGINT:group` choose one
    #[arg(long, value_name = "WHAT", value_parser = sweep_actions, conflicts_with_all = ["snapshots", "accept"])]
    sweep: Option<SweepActions>,
    /// Of a sweep do this row alone: `2:5`, `2:end` or `2:tools+50ms`; may be given several times
    #[arg(long, value_name = "BOUNDARY", requires = "sweep")]
    only: Vec<ClientMoment>,
    /// Print what the client printed in each row of a sweep
    #[arg(long, requires = "sweep")]
    show: bool,
    /// How many clients run at once in a sweep; one for each core when not given
    #[arg(long, value_name = "N", requires = "sweep")]
    jobs: Option<NonZeroUsize>,
    /// How long an answer pauses before a sweep acts, in milliseconds: the client needs this time to read the bytes before
    #[arg(long, value_name = "MS", default_value_t = 100, requires = "sweep")]
    lead: u64,
    /// How long the answer pauses afterwards, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 300, requires = "sweep")]
    wait: u64,
    /// The client; `{base}` in it stands for the base URL
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(arguments: &DriveArguments) -> CommandExit {
    let loaded = match arguments.how.load(&arguments.scenario) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let drive = match how(arguments, &loaded) {
        Ok(drive) => drive,
        Err(problem) => {
            complain(&problem);
            return CommandExit::WrongInput;
        }
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    runtime.block_on(async {
        let mut signals = match listen() {
            Ok(signals) => signals,
            Err(exit) => return exit,
        };
        if let Some(actions) = &arguments.sweep {
            let stop = async {
                signals.next().await;
            };
            return swept(arguments, &loaded, &drive, actions, stop).await;
        }
        tokio::select! {
            biased;
            // Dropping the run ends its client.
            _ = signals.next() => {
                complain("stopped before the client ended");
                CommandExit::Failed
            }
            exit = driven(arguments, &loaded, &drive) => exit,
        }
    })
}

/// A sweep; when `stop` resolves, the table so far is printed.
async fn swept(
    arguments: &DriveArguments,
    loaded: &LoadedScenario,
    how: &ClientHarness,
    actions: &SweepActions,
    stop: impl Future<Output = ()>,
) -> CommandExit {
    let wanted = ClientSweep {
        what: actions.0.clone(),
        only: arguments.only.clone(),
        lead: Duration::from_millis(arguments.lead),
        wait: Duration::from_millis(arguments.wait),
        jobs: arguments.jobs.unwrap_or_else(threads_available).get(),
    };
    let report = match sweep(&loaded.setup, how, &wanted, stop).await {
        Ok(report) => report,
        Err(error) => {
            complain(&error.to_string());
            return CommandExit::WrongInput;
        }
    };
    for row in report.rows.iter().filter(|_| arguments.show) {
        print_line(&format!("--- {}, {}", row.moment, row.action));
        row.run.iter().for_each(|run| print_line(&run.text));
    }
    print_line(&report.to_string());
    if report.is_fine() { CommandExit::Fine } else { CommandExit::Failed }
}

/// The limit of a client's input.
const INPUT_BYTES_MAX: u64 = 64 << 20;

fn how(arguments: &DriveArguments, loaded: &LoadedScenario) -> Result<ClientHarness, String> {
    let read = |path: &PathBuf| open::read(path, INPUT_BYTES_MAX).map_err(|error| format!("--stdin {}: {error}", path.display()));
    let input = arguments.stdin.as_ref().map(read).transpose()?;
    let of_scenario = &loaded.setup.scenario.drive;
    let profile = match arguments.client.or(of_scenario.client) {
        Some(client) => Some(Arc::new(shipped(client))),
        None => of_scenario.profile.clone(),
    };
    let takes_lines = arguments.sweep.iter().flat_map(|sweep| &sweep.0).any(|action| matches!(action, ClientAction::Line(_)));
    Ok(ClientHarness {
        command: arguments.command.clone(),
        watcher: super::watcher()?,
        profile,
        again: arguments.again.as_ref().map(|again| ["sh", "-c", again].map(String::from).to_vec()),
        variables: arguments.how.base_url_variables("{base}").chain(arguments.variables.iter().cloned()).collect(),
        surroundings: if arguments.keep_env { ClientSurroundings::Inherited } else { ClientSurroundings::Clean },
        input: input.or(takes_lines.then(Vec::new)),
        keeps_input_open: takes_lines,
        patience: Duration::from_secs(arguments.timeout),
        options: arguments.how.options(),
    })
}

async fn driven(arguments: &DriveArguments, loaded: &LoadedScenario, how: &ClientHarness) -> CommandExit {
    let wrong = |error: &dyn core::fmt::Display| {
        complain(&error.to_string());
        CommandExit::WrongInput
    };
    match drive(&loaded.setup, how, None).await {
        Ok(mut driven) => {
            let is_stopped = driven.output.ended == ClientExit::TimedOut;
            let unpassed = unpassed(loaded, core::iter::once(&driven.verdict), is_stopped);
            driven.failures.extend(unpassed.iter().cloned());
            driven.verdict.failures.extend(unpassed);
            show(arguments, loaded, &driven)
        }
        Err(error) => wrong(&error),
    }
}

fn show(arguments: &DriveArguments, loaded: &LoadedScenario, driven: &ClientRun) -> CommandExit {
    let mut exit = if driven.failures.is_empty() { CommandExit::Fine } else { CommandExit::Failed };
    if !arguments.snapshots && !arguments.accept {
        print_line(&driven.text);
        print_line(&driven.verdict.to_string());
        return exit;
    }
    driven.verdict.remarks.iter().for_each(|remark| complain(&format!("note: {remark}")));
    driven.failures.iter().for_each(|failure| complain(failure));
    let path = snapshot_path(&loaded.path).with_extension("drive.snap");
    let title = loaded.setup.scenario.title.as_deref().unwrap_or(&loaded.name);
    let metadata = SnapshotMetadata::default().with("description", title).with("expression", "what a driven client asked and printed");
    let snapshot = Snapshot::new(metadata, &driven.text);
    let standing = compare(&path, &snapshot).and_then(|outcome| {
        match (&outcome, arguments.accept) {
            (SnapshotOutcome::Same, _) => drop(reject(&path)?),
            (_, true) => {
                write_pending(&path, &snapshot)?;
                accept(&path)?;
                print_line(&format!("wrote {}", path.display()));
            }
            (_, false) => drop(write_pending(&path, &snapshot)?),
        }
        Ok(outcome)
    });
    match standing {
        Ok(SnapshotOutcome::Same) => (),
        Ok(_) if arguments.accept => (),
        Ok(SnapshotOutcome::Missing) => {
            complain(&format!(
                "has no snapshot yet; the new transcript is kept beside {}: if it is right, run with --accept",
                path.display()
            ));
            exit = exit.max(CommandExit::Failed);
        }
        Ok(SnapshotOutcome::Different { old }) => {
            complain(&format!("the transcript changed:\n{}", diff(&old, snapshot.contents()).trim_end()));
            complain(&format!("the new transcript is kept beside {}: if it is right, run with --accept", path.display()));
            exit = exit.max(CommandExit::Failed);
        }
        Err(error) => {
            complain(&error.to_string());
            exit = CommandExit::WrongInput;
        }
    }
    exit
}

fn client(word: &str) -> Result<KnownClient, String> {
    let words = || KnownClient::ALL.iter().map(|client| client.as_str()).collect::<Vec<_>>().join(", ");
    KnownClient::from_word(word).ok_or_else(|| format!("write one of {}", words()))
}

/// The actions of a sweep, each in runs of its own.
#[derive(Clone, Debug)]
struct SweepActions(Vec<ClientAction>);

fn sweep_actions(word: &str) -> Result<SweepActions, String> {
    let (name, target) = word.split_once(':').unwrap_or((word, ""));
    let targets = match target {
        "" => &[SignalTarget::Process, SignalTarget::Group][..],
        "process" => &[SignalTarget::Process],
        "group" => &[SignalTarget::Group],
        _ => &[],
    };
    let known = ChildSignal::ALL.iter().find(|signal| signal.name() == name).filter(|_| !targets.is_empty());
    let actions = match (word, known) {
        (_, Some(signal)) => targets.iter().map(|target| ClientAction::Signal(*signal, *target)).collect(),
        ("close", _) => vec![ClientAction::Close],
        ("reset", _) => vec![ClientAction::Reset],
        _ => match word.strip_prefix("line:") {
            Some(line) => vec![ClientAction::Line(line.into())],
            None => return Err(String::from("write SIGINT, SIGTERM, SIGHUP, SIGKILL, close, reset or line:TEXT")),
        },
    };
    Ok(SweepActions(actions))
}
