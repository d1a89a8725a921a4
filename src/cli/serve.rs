//! `reenact serve SCENARIO`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use super::CommandExit;
use super::access::AccessArguments;
use super::output::{complain, print_line, wrong_input};
use super::selection::ReachArguments;
use crate::children::{ChildCommand, ChildExit, ChildSession, WatchedChild};
use crate::files::scenario::{LoadOptions, LoadedScenario, find, load_with};
use crate::foreign::TranscriptExtent;
use crate::foreign::verdict::SessionVerdict;
use crate::live::access::{exposure_note, local_url};
use crate::live::base_url_variables::{BaseUrlVariable, inherited_key, known_variables};
use crate::live::client_folders;
use crate::live::drive::ClientHarnessError;
use crate::live::network::{MachineNetwork, Network};
use crate::live::no_proxy::inherited_variables;
use crate::live::serve::{AnswerPace, PacketGrouping, ServeLimit, ServeOptions, ServedScenario, TokenReporting};
use crate::live::signals::StopSignals;
use crate::prelude::*;
use crate::runner::statements::{RunEvidence, StatementsVerdict, judge};
use crate::sim::statements::RunView;
use crate::transcript::event::RunEnd;
use crate::transcript::text::{DetailLevel, render};
use crate::world::setup::RunSetup;

#[derive(Debug, clap::Args)]
pub(super) struct ServeArguments {
    /// A scenario (`*.toml`) or a tape (`*.tape.jsonl`); or several, also as a folder: each request says for which it is, by the header
    /// `x-reenact-scenario: NAME`, by `/NAME` before `/v1`, or by the text of its first prompt
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<PathBuf>,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    how: ServeArgumentsOfScenario,
    /// Stop when all answers were given and no request came for a second
    #[arg(long)]
    until_done: bool,
    /// Treat each path before `/v1` as a client of its own: `URL/a` and `URL/b` each get the scenario from its beginning
    #[arg(long)]
    sessions: bool,
    /// Show the transcript before the verdict
    #[arg(long)]
    transcript: bool,
    /// Start this with the base URL in all variables that clients are known to read, e.g. ANTHROPIC_BASE_URL, and stop when it ends
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// How a scenario is served.
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgumentsOfScenario {
    /// How fast: `recorded` (as the scenario has it), `scaled N%`, or `none`
    #[arg(long, value_name = "PACE", default_value = "recorded", value_parser = pace)]
    timing: AnswerPace,
    /// The pieces of one write: `apart` (each piece by itself) or `together` (pieces of the same time)
    #[arg(long, value_name = "HOW", default_value = "apart", value_parser = packets)]
    packets: PacketGrouping,
    /// Set a key of the scenario, e.g. `limits.time=2h`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = super::selection::key_and_value)]
    set: Vec<(String, String)>,
    /// Put the base URL into this variable as well; with a path where the client wants one, e.g. `MY_BASE_URL=/v1`
    #[arg(long = "base-url-var", value_name = "NAME", value_parser = BaseUrlVariable::read)]
    base_url_variables: Vec<BaseUrlVariable>,
    #[command(flatten)]
    reach: ReachArguments,
}

const NOT_CHECKED: &str = "note: not checked whether all faults and answers of the scenario came to pass: serving was stopped";

/// How long nothing is asked before serving is over.
const QUIET: Duration = Duration::from_secs(1);

impl ServeArgumentsOfScenario {
    pub(super) fn options(&self) -> ServeOptions {
        ServeOptions { pace: self.timing, packets: self.packets, tokens: TokenReporting::Always, ..ServeOptions::default() }
    }

    /// The further variables of a client with the base URL.
    pub(super) fn base_url_variables(&self, base: &str) -> impl Iterator<Item = (String, String)> {
        self.base_url_variables.iter().map(move |variable| variable.with_base(base))
    }

    /// The scenario, or what is wrong with it on standard error.
    pub(super) fn load(&self, path: &std::path::Path) -> Result<LoadedScenario, CommandExit> {
        let (paths, errors) = find(&[path.into()]);
        errors.iter().for_each(|error| complain(&error.to_string()));
        let [path] = paths.as_slice() else {
            if errors.is_empty() {
                complain(&format!(
                    "{}: this command takes one scenario, and this folder has {}: name one of them",
                    path.display(),
                    paths.len()
                ));
            }
            return Err(CommandExit::WrongInput);
        };
        self.load_file(path)
    }

    /// All scenarios of these files and folders, or what is wrong with them on standard error.
    fn load_all(&self, paths: &[PathBuf]) -> Result<Vec<LoadedScenario>, CommandExit> {
        let (files, errors) = find(paths);
        errors.iter().for_each(|error| complain(&error.to_string()));
        if !errors.is_empty() {
            return Err(CommandExit::WrongInput);
        }
        let loaded = files.iter().map(|file| self.load_file(file)).collect::<Result<Vec<_>, _>>()?;
        let name_of = |at: usize| &loaded[at].name;
        if let Some(twice) = (1..loaded.len()).find(|at| (0..*at).any(|before| name_of(before) == name_of(*at))) {
            complain(&format!("two scenarios have the name `{}`, by which requests choose them: rename one of the files", name_of(twice)));
            return Err(CommandExit::WrongInput);
        }
        Ok(loaded)
    }

    fn load_file(&self, path: &std::path::Path) -> Result<LoadedScenario, CommandExit> {
        let options = LoadOptions { overrides: self.set.clone(), reach: self.reach.reach(), ..LoadOptions::default() };
        match load_with(path, &options).and_then(LoadedScenario::for_clients) {
            Ok(loaded) => {
                loaded.warnings.iter().for_each(|warning| complain(&warning.text));
                Ok(loaded)
            }
            Err(error) => {
                complain(&error.to_string());
                Err(CommandExit::WrongInput)
            }
        }
    }
}

pub(super) fn run(arguments: &ServeArguments) -> CommandExit {
    let loaded = match arguments.how.load_all(&arguments.scenarios) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    if arguments.sessions && loaded.len() != 1 {
        return wrong_input("--sessions gives each path one and the same scenario: name one scenario, or leave the option out");
    }
    match single_runtime() {
        Ok(runtime) => runtime.block_on(serve(arguments, &loaded)),
        Err(exit) => exit,
    }
}

/// The server's runtime. One task owns all that changes, and each answer goes through it: on one thread the others need not wait until another wakes.
pub(super) fn single_runtime() -> Result<tokio::runtime::Runtime, CommandExit> {
    made(tokio::runtime::Builder::new_current_thread().enable_all().build())
}

/// The runtime of a command that has connections.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, CommandExit> {
    made(tokio::runtime::Builder::new_multi_thread().enable_all().build())
}

fn made(runtime: std::io::Result<tokio::runtime::Runtime>) -> Result<tokio::runtime::Runtime, CommandExit> {
    runtime.map_err(|error| {
        complain(&format!("cannot start the runtime: {error}"));
        CommandExit::WrongInput
    })
}

async fn serve(arguments: &ServeArguments, loaded: &[LoadedScenario]) -> CommandExit {
    let (listener, address) = match open_port(arguments).await {
        Ok(open) => open,
        Err(problem) => return wrong_input(&problem),
    };
    let base = local_url(address);
    // A reader of the first line may stop the server.
    let mut signals = match listen() {
        Ok(signals) => signals,
        Err(exit) => return exit,
    };
    print_line(&base);
    if let Some(note) = exposure_note(address, "can ask for the answers of this scenario, and uses them up") {
        complain(&note);
    }
    // What nobody will look at is not kept: many long streams would fill the memory (K-8).
    let keeps = if arguments.transcript { TranscriptExtent::Everything } else { TranscriptExtent::Outlines };
    let mut options = ServeOptions { keeps, access: arguments.access.rules(), ..arguments.how.options() };
    if arguments.until_done {
        options.until = ServeLimit::Quiet(QUIET);
    }
    let mut started = match start(arguments, address, &base).await {
        Ok(started) => started,
        Err(exit) => return exit,
    };
    let (mut status, mut is_stopped) = (None, false);
    let stop = async {
        match &mut started {
            None => {
                signals.next().await;
                is_stopped = true;
            }
            Some(child) => {
                tokio::select! {
                    biased;
                    _ = signals.next() => is_stopped = true,
                    ended = child.exited() => status = Some(ended),
                }
            }
        }
    };
    let served =
        |loaded: &LoadedScenario| ServedScenario::new(&setup_of(arguments, loaded), options.clone()).named(&loaded.name, &loaded.places);
    let mut verdicts = match loaded {
        [one] if arguments.sessions => served(one).serve_all::<MachineNetwork>(listener, stop).await,
        [one] => vec![("".into(), served(one).serve::<MachineNetwork>(listener, stop).await)],
        several => ServedScenario::serve_several::<MachineNetwork>(several.iter().map(served).collect(), listener, stop).await,
    };
    let exit = command_exit(arguments, started, status).await;
    let judged = match loaded {
        [one] => judge_sessions(one, &mut verdicts, is_stopped),
        several => {
            judge_several(several, &mut verdicts, is_stopped);
            CommandExit::Fine
        }
    };
    verdicts.iter().map(|(session, verdict)| show(arguments, session, verdict)).fold(exit.max(judged), CommandExit::max)
}

/// Adds what no session of a scenario showed.
fn judge_sessions(loaded: &LoadedScenario, verdicts: &mut [(Arc<str>, SessionVerdict)], is_stopped: bool) -> CommandExit {
    let unpassed = unpassed(loaded, verdicts.iter().map(|(_, verdict)| verdict), is_stopped);
    match verdicts.last_mut() {
        // All sessions are over, so the last one's verdict says what none of them showed.
        Some((_, last)) => last.failures.extend(unpassed),
        None => {
            unpassed.iter().for_each(|failure| complain(&format!("FAILED: {failure}")));
            return if unpassed.is_empty() { CommandExit::Fine } else { CommandExit::Failed };
        }
    }
    CommandExit::Fine
}

/// Adds what each scenario did not show. One that nobody asked for is not judged, unless nobody asked for any.
fn judge_several(loaded: &[LoadedScenario], verdicts: &mut Vec<(Arc<str>, SessionVerdict)>, is_stopped: bool) {
    let is_asked = |verdict: &SessionVerdict| !verdict.asked.is_empty();
    if !verdicts.iter().any(|(_, verdict)| is_asked(verdict)) {
        return;
    }
    if is_stopped {
        complain(NOT_CHECKED);
    }
    for (loaded, (_, verdict)) in loaded.iter().zip(verdicts.iter_mut()).filter(|(_, (_, verdict))| is_asked(verdict) && !is_stopped) {
        let unpassed = unpassed(loaded, core::iter::once(&*verdict), false);
        verdict.failures.extend(unpassed);
    }
    let (asked, idle): (Vec<_>, Vec<_>) = core::mem::take(verdicts).into_iter().partition(|(_, verdict)| is_asked(verdict));
    idle.iter().for_each(|(name, _)| complain(&format!("note: nobody asked for the scenario `{name}`, so that it is not judged")));
    *verdicts = asked;
}

/// The scenario for its client. One that is started here has the folders of this process; another one can only name its own.
fn setup_of(arguments: &ServeArguments, loaded: &LoadedScenario) -> Arc<RunSetup> {
    match &loaded.setup.scenario.tape {
        Some(_) if !arguments.command.is_empty() => Arc::new(RunSetup::clone(&loaded.setup).for_client(&client_folders::named())),
        _ => loaded.setup.clone(),
    }
}

/// Opens the port; returns its address, too.
async fn open_port(arguments: &ServeArguments) -> Result<(<MachineNetwork as Network>::Listener, SocketAddr), String> {
    let address = arguments.access.address()?;
    let bound = MachineNetwork.bind(address).await;
    let listener = bound.map_err(|error| format!("cannot serve at {address}: {error}; {}", advice(&error)))?;
    let address = MachineNetwork::address(&listener).map_err(|error| format!("the open port is not known: {error}"))?;
    Ok((listener, address))
}

/// Starts the command, if there is one.
async fn start(arguments: &ServeArguments, address: SocketAddr, base: &str) -> Result<Option<WatchedChild>, CommandExit> {
    if arguments.command.is_empty() {
        return Ok(None);
    }
    let mut child = ChildCommand::new(arguments.command.iter().map(OsString::from).collect());
    let proxies = inherited_variables(&address.ip().to_string());
    let shared = proxies.into_iter().chain(known_variables(base)).chain(inherited_key().map(|(name, key)| (name, key.to_string())));
    child.variables = shared.map(|(name, value)| (name.to_string(), value)).chain(arguments.how.base_url_variables(base)).collect();
    // Standard output is the verdict's; what the client says goes where messages go.
    child.streams = [Stdio::inherit(), Stdio::from(std::io::stderr()), Stdio::inherit()];
    child.session = ChildSession::from_terminal();
    let started = match super::watcher() {
        // The errors of a harness end with the right advice, for a command and for its watcher.
        Ok(watcher) => child.start(&watcher).await.map_err(|error| ClientHarnessError::from(error).to_string()),
        Err(problem) => Err(problem),
    };
    started.map(Some).map_err(|problem| {
        complain(&problem);
        CommandExit::WrongInput
    })
}

/// The exit of the command that was started, if it ended.
async fn command_exit(arguments: &ServeArguments, child: Option<WatchedChild>, status: Option<std::io::Result<ChildExit>>) -> CommandExit {
    if let (Some(mut child), Some(Ok(_))) = (child, &status)
        && let Ok(left) = child.left().await
    {
        left.notice().iter().for_each(|notice| complain(notice));
    }
    match status {
        Some(Ok(ChildExit::Code(0))) | None => CommandExit::Fine,
        Some(Ok(ended)) => {
            complain(&format!("FAILED: `{}` ended with {ended}", arguments.command[0]));
            CommandExit::Failed
        }
        Some(Err(error)) => {
            complain(&format!("cannot wait for `{}`: {error}", arguments.command[0]));
            CommandExit::Failed
        }
    }
}

/// Statements about faults and answers that no session showed (F-10). A stopped server might have come to them later.
pub(super) fn unpassed<'a>(loaded: &LoadedScenario, verdicts: impl Iterator<Item = &'a SessionVerdict>, is_stopped: bool) -> Vec<String> {
    if is_stopped {
        complain(NOT_CHECKED);
        return Vec::new();
    }
    let ran = |SessionVerdict { passed, transcript, end, .. }: &'a SessionVerdict| RunEvidence { passed, transcript, end };
    let runs: Vec<_> = verdicts.map(|verdict| (loaded, Some(ran(verdict)))).collect();
    let StatementsVerdict { failures, not_asked } = judge(&runs, RunView::Server);
    not_asked.iter().for_each(|(file, reason)| {
        complain(&format!("note: not checked whether each turn and fault of the file was used ({reason}): {file}"))
    });
    failures.into_iter().flat_map(|(_, failures)| failures).collect()
}

fn show(arguments: &ServeArguments, session: &str, verdict: &SessionVerdict) -> CommandExit {
    if !session.is_empty() {
        let what = if arguments.sessions { "session" } else { "scenario" };
        print_line(&format!("{what} {session}"));
    }
    if arguments.transcript {
        print_line(&render(&verdict.transcript, DetailLevel::Normal));
    }
    print_line(&verdict.to_string());
    if matches!(verdict.end, RunEnd::TapeExhausted { .. }) && !arguments.sessions {
        complain(
            "note: a server plays its scenario once: start it again for another client, or give each client its own path with --sessions",
        );
    }
    if verdict.is_fine() { CommandExit::Fine } else { CommandExit::Failed }
}

/// Listens for the signals that stop the command, or reports the error.
pub(super) fn listen() -> Result<StopSignals, CommandExit> {
    StopSignals::listen().map_err(|error| {
        complain(&format!("cannot listen for signals: {error}"));
        CommandExit::WrongInput
    })
}

fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => "another program has this port: name another with --port, or leave it out for any free one",
        std::io::ErrorKind::PermissionDenied => "ports below 1024 need special rights: name a higher one with --port",
        std::io::ErrorKind::AddrNotAvailable => "this machine does not have this address: name one of its own with --listen",
        _ => "name another with --listen and --port",
    }
}

fn pace(text: &str) -> Result<AnswerPace, String> {
    let wrong = || String::from("write `recorded`, `none`, or `scaled 10%`");
    match text.trim() {
        "recorded" => Ok(AnswerPace::Recorded),
        "none" => Ok(AnswerPace::None),
        other => {
            let percent = other.trim_start_matches("scaled").trim().trim_end_matches('%').trim();
            percent.parse().map(AnswerPace::Scaled).map_err(|_| wrong())
        }
    }
}

fn packets(text: &str) -> Result<PacketGrouping, String> {
    match text {
        "apart" => Ok(PacketGrouping::Apart),
        "together" => Ok(PacketGrouping::Together),
        _ => Err(String::from("write `apart` or `together`")),
    }
}
