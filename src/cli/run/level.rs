//! `--level`: the simulated run, real HTTP over a simulated network, or real HTTP to a real server (M-11).

use std::collections::BTreeSet;
use std::env;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use tokio::task::JoinSet;

use super::super::CommandExit;
use super::super::output::complain;
use super::super::program::quoted;
use super::super::serve::{listen, runtime};
use super::{RunArguments, real_tools};
use crate::engine::contract::Engine;
use crate::files::scenario::LoadedScenario;
use crate::live::clock::TimeScale;
use crate::live::driver::{ApiAddress, EngineDriverOptions, drive};
use crate::live::network::MachineNetwork;
use crate::live::simulation::{SimulationError, run_in_network};
use crate::prelude::*;
use crate::runner::{EnginePanic, RunOutcome, in_parallel, run_each};
use crate::sim::Run;
use crate::sim::statements::RunView;
use crate::transcript::text::untimed;

#[derive(Debug, clap::Args)]
pub(super) struct LevelArguments {
    /// The carrier of requests and answers: `engine` (none: the simulated world answers), `network` (real HTTP over a simulated network, see
    /// `[network]`), or `live` (real HTTP to --upstream, on the real clock)
    #[arg(long, value_enum, default_value = "engine")]
    level: Level,
    /// Where requests go at level live: the base URL of any Messages API, e.g. http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Check an https upstream against these certificates (PEM) and not the system's
    #[arg(long, value_name = "FILE", requires = "upstream")]
    ca: Option<PathBuf>,
    /// The environment variable with the key for the upstream; without it requests carry a made-up key, which a replay server accepts
    #[arg(long, value_name = "NAME", requires = "upstream")]
    api_key_var: Option<String>,
    /// At level live: let the built-in tools work for real in this folder and nowhere else; the user at the terminal is asked
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,
    /// With --tools: a host whose pages WebFetch may fetch although its addresses are private; may be given several times
    #[arg(long, value_name = "HOST", requires = "tools")]
    private_host: Vec<String>,
    /// How long a second of the scenario takes at level network, e.g. `10%`: answers, tools, waits and limits together
    #[arg(long, value_name = "N%", value_parser = scale)]
    scale: Option<TimeScale>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Level {
    Engine,
    Network,
    Live,
}

impl LevelArguments {
    /// Whether what runs is a real session.
    pub(super) fn is_live(&self) -> bool {
        self.level == Level::Live
    }

    /// How fast time goes on the simulated network; `None` at the other levels.
    pub(super) fn network_scale(&self) -> Option<TimeScale> {
        (self.level == Level::Network).then(|| self.scale.unwrap_or_default())
    }
}

/// The key of requests where none is named: it opens nothing.
const MADE_UP_KEY: &str = "sk-ant-test-000";

/// How many files a note names.
const NAMED_MAX: usize = 5;

/// Refuses options that do not go together.
pub(super) fn check_usage(arguments: &RunArguments, scenarios: &[LoadedScenario]) -> Result<(), String> {
    let LevelArguments { level, upstream, scale, tools, private_host: _, ca: _, api_key_var: _ } = &arguments.level;
    let only = |option: &str, of: &str| Err(format!("{option} is for --level {of}: add that, or leave out {option}"));
    match level {
        Level::Engine | Level::Network if upstream.is_some() => return only("--upstream", "live"),
        Level::Engine | Level::Network if tools.is_some() => return only("--tools", "live"),
        Level::Engine | Level::Live if scale.is_some() => return only("--scale", "network"),
        Level::Network if arguments.no_oracles => return only("--no-oracles", "engine"),
        Level::Engine => return Ok(()),
        Level::Live if upstream.is_none() => {
            return Err("--level live needs --upstream URL; `reenact serve SCENARIO` starts a server".into());
        }
        Level::Live if arguments.selection.seeds().is_some() => {
            return Err("--level live takes one run: name its seed with --seed N in place of --seeds".into());
        }
        Level::Live if scenarios.len() > 1 => {
            return Err(format!("--level live takes one scenario, and these are {}: name one of them", scenarios.len()));
        }
        Level::Live if arguments.check => {
            return Err("--check is not for --level live: no two runs on a real clock are the same; leave out --check".into());
        }
        Level::Live if scenarios.iter().any(|scenario| scenario.setup.scenario.plan.has_injections()) => {
            return Err("--level live: the [plan] of this scenario names events of a simulated run; leave out --level".into());
        }
        Level::Network | Level::Live => (),
    }
    let snapshots = [(arguments.snapshots, "--snapshots"), (arguments.accept, "--accept")];
    let others = [(arguments.write_plan.is_some(), "--write-plan"), (arguments.interrupt_at.is_some(), "--interrupt-at")];
    match snapshots.into_iter().chain(others).find(|(is_given, _)| *is_given) {
        Some((_, option)) => only(option, "engine"),
        None => Ok(()),
    }
}

/// The part of a scenario that runs at their level can show.
pub(super) fn view(arguments: &RunArguments) -> RunView {
    match arguments.level.level {
        Level::Engine => RunView::Simulated,
        Level::Network => RunView::Network,
        Level::Live => RunView::Engine,
    }
}

/// Runs the scenarios at their level.
pub(super) fn run<E: Engine + Send + 'static>(
    arguments: &RunArguments,
    scenarios: &[LoadedScenario],
    threads: NonZeroUsize,
    new_engine: &(impl Fn() -> E + Sync),
) -> Result<Vec<RunOutcome<E>>, String> {
    tell(arguments, scenarios);
    match arguments.level.level {
        Level::Engine | Level::Network => Ok(run_quietly(arguments, scenarios, threads, new_engine)),
        Level::Live => live(arguments, &scenarios[0], new_engine()).map(|outcome| vec![outcome]),
    }
}

/// Notes on what the level leaves out.
pub(super) fn tell(arguments: &RunArguments, scenarios: &[LoadedScenario]) {
    match arguments.level.level {
        _ if !arguments.format.has_notes() => (),
        Level::Engine => tell_what_is_left_out(scenarios),
        Level::Network | Level::Live => tell_what_is_not_compared(scenarios),
    }
}

/// The same at a level at which runs can be made again.
pub(super) fn run_quietly<E: Engine + Send + 'static>(
    arguments: &RunArguments,
    scenarios: &[LoadedScenario],
    threads: NonZeroUsize,
    new_engine: &(impl Fn() -> E + Sync),
) -> Vec<RunOutcome<E>> {
    if arguments.level.level != Level::Network {
        return run_each(scenarios, threads, |scenario| new_run(arguments, scenario, new_engine()));
    }
    let scale = arguments.level.scale.unwrap_or_default();
    in_parallel(scenarios, threads, |scenario| on_network(scenario, new_engine(), scale))
}

/// A run as the options have it.
pub(super) fn new_run<E: Engine>(arguments: &RunArguments, scenario: &LoadedScenario, engine: E) -> Run<E> {
    let run = Run::new(scenario.setup.clone(), engine);
    let run = if arguments.log.is_some() { run.with_log() } else { run };
    if arguments.no_oracles { run.without_oracles() } else { run }
}

/// An engine that is answered by the world itself has no network.
fn tell_what_is_left_out(scenarios: &[LoadedScenario]) {
    let names: Vec<&str> = scenarios.iter().filter(|one| has_network(one)).map(|one| &*one.name).collect();
    if !names.is_empty() {
        complain(&format!("note: [network] is ignored at this level, --level network uses it: {}", names.join(", ")));
    }
}

/// Times on a network are not those of a run without one, so lines are compared without them.
fn tell_what_is_not_compared(scenarios: &[LoadedScenario]) {
    let has_times = |one: &&LoadedScenario| one.setup.scenario.expect.order.iter().any(|part| untimed(part) != *part);
    let names: BTreeSet<&str> = scenarios.iter().filter(has_times).map(|one| &*one.name).collect();
    if !names.is_empty() {
        let names: Vec<&str> = names.into_iter().collect();
        complain(&format!("note: times inside `order` are not compared at this level: {}", named(&names)));
    }
}

fn has_network(scenario: &LoadedScenario) -> bool {
    scenario.setup.scenario.network.as_ref().is_some_and(|network| network.skip.is_none())
}

/// The first of these files, and how many there are beside them.
pub(super) fn named(files: &[impl AsRef<str>]) -> String {
    let first: Vec<&str> = files.iter().take(NAMED_MAX).map(AsRef::as_ref).collect();
    let more = if files.len() > NAMED_MAX { format!(" and {} more", files.len() - NAMED_MAX) } else { String::new() };
    first.join(", ") + &more
}

/// The options of a level, as they are typed, for a process that does the same again.
pub(super) fn options(arguments: &RunArguments) -> Vec<String> {
    let LevelArguments { level, scale, .. } = &arguments.level;
    let level = (*level == Level::Network).then(|| vec![String::from("--level"), "network".into()]);
    let scale = scale.map(|scale| vec![String::from("--scale"), format!("{}%", scale.percent())]);
    level.into_iter().chain(scale).flatten().collect()
}

fn on_network<E: Engine + 'static>(scenario: &LoadedScenario, engine: E, scale: TimeScale) -> RunOutcome<E> {
    match run_in_network(&scenario.setup, engine, scale) {
        Ok(finished) => Ok(finished.report),
        Err(SimulationError::Panic(text)) => Err(EnginePanic::new(text)),
        Err(error) => Err(EnginePanic::new(error.to_string())),
    }
}

fn live<E: Engine>(arguments: &RunArguments, scenario: &LoadedScenario, engine: E) -> Result<RunOutcome<E>, String> {
    let LevelArguments { upstream, ca, api_key_var, tools, private_host, .. } = &arguments.level;
    let url = upstream.as_deref().unwrap_or_default();
    let key = match api_key_var {
        Some(name) => key(name)?,
        None => MADE_UP_KEY.into(),
    };
    let upstream = ApiAddress::read(url, &key, ca.as_deref()).map_err(|error| format!("--upstream: {error}"))?;
    let with_tools = tools.as_ref().map(|folder| real_tools::with_real_tools(scenario, folder)).transpose()?;
    let scenario = with_tools.as_ref().unwrap_or(scenario);
    let run = new_run(arguments, scenario, engine).with_log();
    let no_runtime = |_: CommandExit| String::from("without a runtime there are no connections");
    let runtime = runtime().map_err(no_runtime)?;
    let driven = runtime.block_on(async {
        let mut signals = listen().map_err(no_runtime)?;
        let stop = async {
            signals.next().await;
            complain("stopped: the run so far follows");
        };
        let mut people = JoinSet::new();
        let tools =
            with_tools.as_ref().map(|scenario| real_tools::tools(&scenario.setup.scenario, private_host, &mut people)).transpose()?;
        let options = EngineDriverOptions { tools, ..EngineDriverOptions::default() };
        Ok::<_, String>(drive(run, MachineNetwork, upstream, options, stop).await)
    });
    // Somebody may still be expected to press Enter.
    runtime.shutdown_background();
    let driven = driven?;
    Ok(driven.map_err(|error| EnginePanic::new(error.to_string())))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the key must not stand on a command line, where every process can read it; the option names the variable"
)]
fn key(name: &str) -> Result<String, String> {
    match env::var(name) {
        Ok(key) if !key.trim().is_empty() => Ok(key),
        _ => Err(format!("--api-key-var: the environment has no key in {}: set it, or name another variable", quoted(name))),
    }
}

fn scale(text: &str) -> Result<TimeScale, String> {
    let percent = text.trim().trim_end_matches('%').trim().parse().ok();
    percent.and_then(TimeScale::from_percent).ok_or_else(|| String::from("write a whole number of percent above 0, e.g. `10%`"))
}
