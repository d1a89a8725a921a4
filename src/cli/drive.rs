//! `reenact drive SCENARIO -- COMMAND…`.

mod conformance;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use super::CommandExit;
use super::output::{complain, print_line, wrong_input};
use super::serve::{ServeArgumentsOfScenario, listen, runtime, unpassed};
use crate::files::scenario::{LoadedScenario, snapshot_path};
use crate::files::snapshot::{Snapshot, SnapshotMetadata, SnapshotOutcome, accept, compare, reject, write_pending};
use crate::files::{atomic, open};
use crate::live::drive::client_sweep::{ClientSweep, RowVerdict, client_sweep_after, clients_at_once, usual_run};
use crate::live::drive::moment::ClientMoment;
use crate::live::drive::profile::{ClientProfile, shipped};
use crate::live::drive::{ClientAction, ClientExit, ClientHarness, ClientRun, ClientSurroundings, ClientTerminal, drive};
use crate::live::signals::StopSignals;
use crate::prelude::*;
use crate::runner::snapshot::diff;
use crate::runner::threads_available;
use crate::scenario::client_profile;
use crate::scenario::drive::KnownClient;
use crate::scenario::parse::nearest::nearest;

#[derive(Debug, clap::Args)]
pub(super) struct DriveArguments {
    /// A scenario (`*.toml`) or a tape (`*.tape.jsonl`)
    #[arg(required_unless_present = "conformance")]
    scenario: Option<PathBuf>,
    /// Run the client through each scenario that any client should pass; `{prompt}` in the command stands for the prompt
    #[arg(long, conflicts_with_all = ["scenario", "sweep", "snapshots", "accept"])]
    conformance: bool,
    #[command(flatten)]
    how: ServeArgumentsOfScenario,
    /// The shipped profile of the client, such as `claude-code` or `gptme`; when not given, as the scenario has it
    #[arg(long, value_name = "CLIENT", value_parser = client)]
    client: Option<KnownClient>,
    /// The file with the profile of the client
    #[arg(long, value_name = "FILE", conflicts_with = "client")]
    profile: Option<PathBuf>,
    /// Copy the files of this folder into the client's working directory
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// A shell command to run in the client's folders before it starts
    #[arg(long, value_name = "COMMAND")]
    setup: Option<String>,
    /// Set a variable for the client; `{base}` in the value stands for the base URL
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = super::selection::key_and_value)]
    variables: Vec<(String, String)>,
    /// Give the client all variables of this environment; otherwise it gets only the few that it needs
    #[arg(long)]
    keep_env: bool,
    /// The standard input of the client
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// A shell command to run when the client has ended, e.g. one that resumes `{session}`; a sweep resumes as the profile says when not given
    #[arg(long, value_name = "COMMAND")]
    again: Option<String>,
    /// Run the command of the profile that resumes the session when the client has ended, also without a sweep
    #[arg(long, conflicts_with = "again")]
    resume: bool,
    /// How long the client may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// Compare with the snapshot; a new or changed transcript is left beside its place as `*.snap.new`
    #[arg(long)]
    snapshots: bool,
    /// Write the snapshot as it is now
    #[arg(long, conflicts_with = "snapshots")]
    accept: bool,
    /// Give the client a terminal of its own, at which `--stdin` and the keys of a sweep are typed
    #[arg(long)]
    terminal: bool,
    /// Do this at every moment of the scenario, one client each: `SIGINT`, `SIGTERM`, `SIGHUP`, `SIGKILL`, `close`, `reset`, `line:TEXT`, or with
    /// --terminal `key:ESC`, `key:^C`, `key:^C^C`; a signal goes to the client and, in runs of their own, to its group; `SIGINT:process` and
    /// `SIGINT:group` choose one; several with commas between them
    #[arg(long, value_name = "WHAT", value_parser = client_sweep_actions, conflicts_with_all = ["snapshots", "accept"])]
    sweep: Option<ClientSweepActions>,
    /// Of a sweep do this moment alone: `start+100ms`, `2:5`, `2:end`, `2:tools+50ms` (`2:tools` for each delay), `2:marker` or `done+500ms`; may be
    /// given several times
    #[arg(long, value_name = "MOMENT", requires = "sweep")]
    only: Vec<ClientSweepMoments>,
    /// Print what the client printed in each row of a sweep
    #[arg(long, requires = "sweep")]
    show: bool,
    /// Write what a sweep found to this file, as JSON
    #[arg(long, value_name = "FILE", requires = "sweep")]
    json: Option<PathBuf>,
    /// Run each row of a sweep so often; a row whose runs differ is flaky, and fails
    #[arg(long, value_name = "N", default_value = "1", requires = "sweep")]
    repeat: NonZeroUsize,
    /// How many clients run at once in a sweep; when not given two for each core, or fewer where the run in which nothing is done computes much
    #[arg(long, value_name = "N", requires = "sweep")]
    jobs: Option<NonZeroUsize>,
    /// How long an answer pauses before a sweep acts, in milliseconds: the client needs this time to read the bytes before
    #[arg(long, value_name = "MS", default_value_t = 100, requires = "sweep")]
    lead: u64,
    /// How long the answer pauses afterwards, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 300, requires = "sweep")]
    wait: u64,
    /// The client; `{base}` in it stands for the base URL; when not given, as its profile starts it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(arguments: &DriveArguments) -> CommandExit {
    let Some(scenario) = &arguments.scenario else { return conformance::run(arguments) };
    let loaded = match arguments.how.load(scenario) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let drive = match how(arguments, &loaded) {
        Ok(drive) => drive,
        Err(problem) => return wrong_input(&problem),
    };
    with_signals(async |mut signals| {
        let Some(actions) = &arguments.sweep else {
            return until_stopped(signals, driven(arguments, &loaded, &drive)).await;
        };
        let usual = tokio::select! {
            biased;
            _ = signals.next() => return stopped(),
            usual = usual_run(&loaded.setup, &drive) => usual,
        };
        let stop = async {
            signals.next().await;
        };
        match usual {
            Ok(mut usual) => {
                usual.failures.extend(unpassed_by(&loaded, &usual));
                swept(arguments, &loaded, &drive, usual, actions, stop).await
            }
            Err(error) => wrong_input(&error.to_string()),
        }
    })
}

/// Work with real connections, and with the signals that stop it.
fn with_signals(work: impl AsyncFnOnce(StopSignals) -> CommandExit) -> CommandExit {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    runtime.block_on(async {
        match listen() {
            Ok(signals) => work(signals).await,
            Err(exit) => exit,
        }
    })
}

/// Work that a signal ends: dropping a run ends its client.
async fn until_stopped(mut signals: StopSignals, work: impl Future<Output = CommandExit>) -> CommandExit {
    tokio::select! {
        biased;
        _ = signals.next() => stopped(),
        exit = work => exit,
    }
}

fn stopped() -> CommandExit {
    complain("stopped before the client ended");
    CommandExit::Failed
}

/// A sweep; when `stop` resolves, the table so far is printed.
async fn swept(
    arguments: &DriveArguments,
    loaded: &LoadedScenario,
    how: &ClientHarness,
    usual: ClientRun,
    actions: &ClientSweepActions,
    stop: impl Future<Output = ()>,
) -> CommandExit {
    let wanted = ClientSweep {
        what: actions.0.clone(),
        only: arguments.only.iter().flat_map(|moments| moments.0.clone()).collect(),
        lead: Duration::from_millis(arguments.lead),
        wait: Duration::from_millis(arguments.wait),
        repeat: arguments.repeat.get(),
        jobs: arguments.jobs.map_or_else(|| clients_at_once(threads_available().get(), usual.cores_busy), NonZeroUsize::get),
    };
    let report = client_sweep_after(&loaded.setup, how, usual, &wanted, stop).await;
    for row in report.rows.iter().filter(|_| arguments.show) {
        print_line(&format!("--- {}, {}", row.moment, row.action));
        for run in row.runs.iter().flat_map(|run| &run.run) {
            print_line(&run.text);
            print_line(&run.judgement.shown);
        }
    }
    print_line(&report.to_string());
    for row in report.rows.iter().filter(|row| matches!(row.verdict(), RowVerdict::Failed | RowVerdict::Flaky { .. })).take(COMMANDS_MAX) {
        print_line(&format!("again: {}", repeating_command(&row.moment, &row.action)));
    }
    if let Some(path) = &arguments.json
        && let Err(error) = atomic::write(path, format!("{:#}\n", report.json()).as_bytes())
    {
        return wrong_input(&format!("--json {}: {error}; name a file in a folder that can be written", path.display()));
    }
    if report.is_fine() { CommandExit::Fine } else { CommandExit::Failed }
}

/// More rows than this are not repeated by a command each.
const COMMANDS_MAX: usize = 20;

/// The command that does one row of this sweep again.
fn repeating_command(moment: &ClientMoment, action: &ClientAction) -> String {
    let mut words: Vec<String> = vec![String::from("reenact")];
    let mut given = std::env::args().skip(1);
    let mut client = Vec::new();
    while let Some(word) = given.next() {
        let name = word.split('=').next().unwrap_or_default();
        match name {
            "--" => client = core::iter::once(word).chain(given.by_ref()).collect(),
            "--sweep" | "--only" | "--json" if name == word => drop(given.next()),
            "--sweep" | "--only" | "--json" | "--show" => (),
            _ => words.push(word),
        }
    }
    words.extend([String::from("--sweep"), action.word(), String::from("--only"), moment.to_string(), String::from("--show")]);
    words.iter().chain(&client).map(|word| super::program::quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The limit of a client's input.
const INPUT_BYTES_MAX: u64 = 64 << 20;

fn how(arguments: &DriveArguments, loaded: &LoadedScenario) -> Result<ClientHarness, String> {
    let read = |path: &PathBuf| open::read(path, INPUT_BYTES_MAX).map_err(|error| format!("--stdin {}: {error}", path.display()));
    let input = arguments.stdin.as_ref().map(read).transpose()?;
    let profile = profile(arguments, loaded)?;
    let has_terminal = arguments.terminal || profile.as_ref().is_some_and(|profile| profile.terminal);
    let takes_keys = arguments.sweep.iter().flat_map(|sweep| &sweep.0).any(|action| matches!(action, ClientAction::Keys(_)));
    if takes_keys && !has_terminal {
        return Err(String::from("--sweep key:… presses keys at a terminal: add --terminal"));
    }
    let takes_lines = arguments.sweep.iter().flat_map(|sweep| &sweep.0).any(|action| matches!(action, ClientAction::Line(_)));
    Ok(ClientHarness {
        command: start(arguments, profile.as_deref())?,
        watcher: super::watcher()?,
        again: again(arguments, profile.as_deref(), loaded.setup.scenario.prompts.len())?,
        profile,
        files: arguments.files.clone(),
        setup: arguments.setup.clone(),
        variables: arguments.how.base_url_variables("{base}").chain(arguments.variables.iter().cloned()).collect(),
        surroundings: if arguments.keep_env { ClientSurroundings::Inherited } else { ClientSurroundings::Clean },
        terminal: if has_terminal { ClientTerminal::Own } else { ClientTerminal::None },
        input: input.or(takes_lines.then(Vec::new)),
        keeps_input_open: takes_lines,
        patience: Duration::from_secs(arguments.timeout),
        options: arguments.how.options(),
    })
}

/// The longest file of a profile.
const PROFILE_BYTES_MAX: u64 = 1 << 20;

/// The profile that the command line names, or the scenario.
fn profile(arguments: &DriveArguments, loaded: &LoadedScenario) -> Result<Option<Arc<ClientProfile>>, String> {
    if let Some(path) = &arguments.profile {
        let text = open::read(path, PROFILE_BYTES_MAX).map_err(|error| format!("--profile {}: {error}", path.display()))?;
        let read = client_profile::read(&path.display().to_string(), &String::from_utf8_lossy(&text));
        return read.map(|profile| Some(Arc::new(profile))).map_err(|diagnostics| diagnostics.to_string());
    }
    let of_scenario = &loaded.setup.scenario.drive;
    let named = arguments.client.or(of_scenario.client.filter(|_| of_scenario.profile.is_none()));
    Ok(named.map(|client| Arc::new(shipped(client))).or_else(|| of_scenario.profile.clone()))
}

/// The words that start the client.
fn start(arguments: &DriveArguments, profile: Option<&ClientProfile>) -> Result<Vec<String>, String> {
    match (&arguments.command[..], profile) {
        ([], Some(profile)) if profile.start.is_empty() => {
            Err(format!("the profile `{}` does not say how the client is started: write its command after `--`", profile.name))
        }
        ([], Some(profile)) => Ok(profile.start.clone()),
        ([], None) => Err(String::from("no command is given: write it after `--`, or name a client with --client or --profile")),
        (words, _) => Ok(words.to_vec()),
    }
}

/// The words of the second command.
fn again(arguments: &DriveArguments, profile: Option<&ClientProfile>, prompts: usize) -> Result<Option<Vec<String>>, String> {
    if let Some(command) = &arguments.again {
        return Ok(Some(["sh", "-c", command].map(String::from).to_vec()));
    }
    let resume = profile.map(|profile| &profile.resume).filter(|words| !words.is_empty());
    if arguments.resume && resume.is_none() {
        return Err(String::from("no profile says how the session is resumed: give the command with --again"));
    }
    // A second prompt is that of the resumed session, where nobody types it.
    let has_terminal = arguments.terminal || profile.is_some_and(|profile| profile.terminal);
    let is_second = prompts > 1 && arguments.stdin.is_none() && !has_terminal;
    let is_wanted = arguments.resume || arguments.sweep.is_some() || is_second;
    let Some(words) = resume.filter(|_| is_wanted) else { return Ok(None) };
    let name = |words: &[String]| words.first().and_then(|word| Some(PathBuf::from(word).file_name()?.to_os_string()));
    match &arguments.command[..] {
        [] => Ok(Some(words.clone())),
        // The same program from another place resumes its session, too.
        [program, ..] if name(words) == name(&arguments.command) => {
            Ok(Some(core::iter::once(program).chain(&words[1..]).cloned().collect()))
        }
        [program, ..] => {
            let problem = format!(
                "the profile resumes with `{}`, and the command after `--` is `{program}`: say with --again how that resumes",
                words[0]
            );
            if arguments.resume {
                return Err(problem);
            }
            complain(&format!("note: no session is resumed, because {problem}"));
            Ok(None)
        }
    }
}

async fn driven(arguments: &DriveArguments, loaded: &LoadedScenario, how: &ClientHarness) -> CommandExit {
    match drive(&loaded.setup, how, None).await {
        Ok(mut driven) => {
            let unpassed = unpassed_by(loaded, &driven);
            driven.failures.extend(unpassed.iter().cloned());
            driven.verdict.failures.extend(unpassed);
            show(arguments, loaded, &driven)
        }
        Err(error) => wrong_input(&error.to_string()),
    }
}

/// The statements of the scenario that the client did not come to.
fn unpassed_by(loaded: &LoadedScenario, driven: &ClientRun) -> Vec<String> {
    unpassed(loaded, core::iter::once(&driven.verdict), driven.output.ended == ClientExit::TimedOut)
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
    let words = || KnownClient::ALL.iter().map(|client| client.as_str());
    let near = || nearest(word, words()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    KnownClient::from_word(word)
        .ok_or_else(|| format!("write one of {}, or --profile FILE{}", words().collect::<Vec<_>>().join(", "), near()))
}

/// The actions of a sweep, each in runs of its own.
#[derive(Clone, Debug)]
struct ClientSweepActions(Vec<ClientAction>);

/// The moments of one `--only`.
#[derive(Clone, Debug)]
struct ClientSweepMoments(Vec<ClientMoment>);

impl core::str::FromStr for ClientSweepMoments {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ClientMoment::parse_all(text).map(Self)
    }
}

fn client_sweep_actions(word: &str) -> Result<ClientSweepActions, String> {
    ClientAction::parse(word).map(ClientSweepActions)
}
