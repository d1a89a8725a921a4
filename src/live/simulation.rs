//! Live driver and replay server inside one simulated network (M-11): real HTTP, simulated packets, virtual time, all of it from a seed.
//!
//! ```text
//!   host `engine`: driver ══ TCP inside turmoil ══ host `api`: replay server
//!                     ^──────── notes: what the world has to say ─────┘
//! ```
//!
//! Time goes in ticks: what is shorter takes no time. One thread does it all, and every wait is polled in a written order, so that the same
//! scenario gives the same bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinError;
use tokio::time::Instant;

use super::access::{AccessRules, HostName};
use super::clock::TimeScale;
use super::driver::{self, ApiAddress, EngineDriverError, drive};
use super::network::Network as _;
use super::network::simulated_network::SimulatedNetwork;
use super::serve::{self, PacketGrouping, ServedScenario, ServerMemory, TransportAssumptions};
use reenact_engine::contract::{Agent, Engine};
use reenact_engine::time::{Micros, Time};
use reenact_foreign::verdict::SessionVerdict;
use reenact_scenario::network::{NetworkChange, NetworkFault, NetworkPhase, NetworkScript};
use reenact_scenario::statement::Statement;
use reenact_sim::expect;
use reenact_sim::expect::delays::DelayTolerance;
use reenact_sim::report::RunReport;
use reenact_sim::{Run, limits};
use reenact_transcript::event::{Event, EventKind, RunEnd};
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// The longest time on the network's clock; a tick takes some microseconds.
pub const NETWORK_TIME_MAX: Micros = Micros::from_secs(3_600);

/// How many ticks are left to the server to hear of the end.
const LAST_TICKS: usize = 8;

/// The port of the server.
const PORT: u16 = 80;

/// How many packets a connection takes before its reader reads: none waits for room here.
const PACKETS_MAX: usize = 4_096;

/// The outcome of a run on a network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkRun<E> {
    /// The engine's side, with what the server has to say in the transcript. Its failures hold the server's too.
    pub report: RunReport<E>,
    /// The server's side.
    pub verdict: SessionVerdict,
}

/// A run on a network that came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A task panicked: the engine under test, or one of ours.
    #[error("a task panicked on the simulated network: {0}")]
    Panic(String),
    /// Nothing came back from a host.
    #[error("the simulated network stopped: {0}")]
    Stopped(String),
}

/// Runs a scenario on the network that it describes, or on one that is just there. The engine's `Clone` is not used.
///
/// # Errors
/// When anything panics.
pub fn run_in_network<E: Engine + 'static>(setup: &Arc<RunSetup>, engine: E, scale: TimeScale) -> Result<NetworkRun<E>, SimulationError> {
    let limit = setup.scenario.limits.time;
    let (setup, network) = as_on_network(setup, scale);
    let wires = SimulatedNetwork::default();
    let (notes, noted) = mpsc::unbounded_channel();
    let ways = if network.is_rough() { TransportAssumptions::Rough } else { TransportAssumptions::Sure };
    let options = serve::ServeOptions {
        packets: PacketGrouping::Together,
        scale,
        ways,
        client: reenact_foreign::ServedClient::OwnEngine,
        notes: Some(notes),
        access: AccessRules { hosts: HostName::read("api").into_iter().collect(), ..AccessRules::default() },
        ..serve::ServeOptions::default()
    };
    // Who serves borrows it, and gives it back when it goes down.
    let kept = Arc::new(tokio::sync::Mutex::new(ServedScenario::new(&setup, options).into_memory()));
    let (stop, stopped) = watch::channel(());
    let mut sim = simulation(&setup, &network, scale);
    sim.host("api", api(kept.clone(), wires.clone(), stopped));
    let (done, mut result) = oneshot::channel();
    let client = wires.clone();
    let run = Run::new(as_driven(&setup), engine);
    let tick = scale.span(Duration::from_micros(network.tick.0));
    sim.client("engine", async move {
        let options = driver::EngineDriverOptions { scale, tick, notes: Some(noted), ..driver::EngineDriverOptions::default() };
        let driven = drive(run.with_log(), client, ApiAddress::plain("api", PORT), options, core::future::pending()).await;
        let _ = done.send(driven);
        Ok(())
    });
    let changes = network.changes(setup.scenario.seed);
    step_to_end(&mut sim, &wires, &changes, scale).map_err(|error| problem(&*error))?;
    drop(stop);
    for _ in 0..LAST_TICKS {
        sim.step().map_err(|error| problem(&*error))?;
    }
    drop(sim);
    let driven = result.try_recv().map_err(|_| SimulationError::Stopped("the driver left nothing behind".into()))?;
    let report = driven.map_err(|EngineDriverError::Panic(text)| SimulationError::Panic(text))?;
    let kept = Arc::into_inner(kept).ok_or_else(|| SimulationError::Stopped("the server goes on".into()))?;
    let shortened = setup.scenario.limits.time < limit;
    let mut finished = finished(report, kept.into_inner(), shortened);
    let tolerance = DelayTolerance::from_clock(tick);
    finished.report.failures.extend(expect::order_failure(&finished.report.transcript, &setup.scenario.expect, tolerance));
    let end = finished.report.transcript.events.last().map_or(Micros::ZERO, |event| event.at.since(Time::ZERO));
    let began = (0..).zip(network.begins(setup.scenario.seed)).filter(|(_, at)| *at <= end);
    finished.report.passed.extend(began.map(|(index, _)| Statement::NetworkEvent(index)));
    let could_begin = (0..).zip(&network.events).filter(|(_, event)| event.at.least() <= end);
    finished.report.passed.extend(could_begin.map(|(index, _)| Statement::NetworkEventChance(index)));
    Ok(finished)
}

/// The scenario as it is on the network: with the network's expectations, and no longer than a network can run.
fn as_on_network(setup: &Arc<RunSetup>, scale: TimeScale) -> (Arc<RunSetup>, NetworkScript) {
    let mut scenario = setup.scenario.clone();
    let network = scenario.network.clone().unwrap_or_default();
    if let Some(expect) = &network.expect {
        scenario.expect = expect.clone();
    }
    let longest = scale.span(Duration::from_micros(NETWORK_TIME_MAX.0));
    scenario.limits.time = scenario.limits.time.min(longest);
    (Arc::new(setup.with_scenario(scenario)), network)
}

/// The same for the driver: the order of all lines is judged when those of the server are there.
fn as_driven(setup: &Arc<RunSetup>) -> Arc<RunSetup> {
    if setup.scenario.expect.order.is_empty() {
        return setup.clone();
    }
    let mut setup = RunSetup::clone(setup);
    setup.scenario.expect.order.clear();
    Arc::new(setup)
}

fn simulation(setup: &RunSetup, network: &NetworkScript, scale: TimeScale) -> turmoil::Sim<'static> {
    let (least, most) = network.latency;
    let mut builder = turmoil::Builder::new();
    builder
        .rng_seed(setup.scenario.seed.draws("network", "").bits())
        .epoch(UNIX_EPOCH)
        // Scaled times must not fall under the tick, which stays as it is.
        .tick_duration(Duration::from_micros(network.tick.0))
        .simulation_duration(Duration::MAX)
        .min_message_latency(scale.duration(least))
        .max_message_latency(scale.duration(most))
        .tcp_capacity(PACKETS_MAX);
    if network.loss > 0.0 {
        builder.fail_rate(network.loss).repair_rate(1.0);
    }
    builder.build()
}

/// The software of the server's host; run again after a crash.
fn api(
    kept: Arc<tokio::sync::Mutex<ServerMemory>>,
    wires: SimulatedNetwork,
    stopped: watch::Receiver<()>,
) -> impl Fn() -> core::pin::Pin<Box<dyn Future<Output = turmoil::Result>>> {
    move || {
        let (kept, wires, mut stopped) = (kept.clone(), wires.clone(), stopped.clone());
        Box::pin(async move {
            // A process started later has its own clock; the session's began with the simulation.
            let since = turmoil::sim_elapsed().unwrap_or_default();
            let now = Instant::now();
            let began = now.checked_sub(since).unwrap_or(now);
            let listener = wires.bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT))).await?;
            wires.server_back();
            let stop = async move {
                // The only message that ever comes here is the loss of the sender.
                let _ = stopped.changed().await;
            };
            kept.lock().await.serve::<SimulatedNetwork>(listener, stop, began).await;
            Ok(())
        })
    }
}

fn step_to_end(sim: &mut turmoil::Sim<'_>, wires: &SimulatedNetwork, changes: &[NetworkChange], scale: TimeScale) -> turmoil::Result {
    let mut changes = changes.iter().peekable();
    loop {
        while let Some(change) = changes.next_if(|change| scale.duration(change.at) <= sim.elapsed()) {
            make(sim, wires, *change);
        }
        if sim.step()? {
            return Ok(());
        }
    }
}

fn make(sim: &mut turmoil::Sim<'_>, wires: &SimulatedNetwork, change: NetworkChange) {
    match (change.kind, change.side) {
        (NetworkFault::Hold, NetworkPhase::Begins) => sim.hold("engine", "api"),
        (NetworkFault::Hold, NetworkPhase::Ends) => sim.release("engine", "api"),
        (NetworkFault::Partition, NetworkPhase::Begins) => sim.partition("engine", "api"),
        (NetworkFault::Partition, NetworkPhase::Ends) => sim.repair("engine", "api"),
        (NetworkFault::Crash, NetworkPhase::Begins) => {
            wires.server_gone();
            sim.crash("api");
        }
        (NetworkFault::Crash, NetworkPhase::Ends) => sim.bounce("api"),
        (NetworkFault::Reset, _) => wires.reset(),
    }
}

/// The cause of the simulation's end, in words: a panic of the driver's or server's own task, or its error.
fn problem(error: &(dyn core::error::Error + 'static)) -> SimulationError {
    match error.downcast_ref::<JoinError>() {
        Some(error) => SimulationError::Panic(error.to_string()),
        None => SimulationError::Stopped(error.to_string()),
    }
}

/// The server knows the unused answers: they stand where a simulated run has them, before the end.
fn with_unused(events: &[Event], unused: &[Arc<str>]) -> Arc<[Event]> {
    let is_tail = |event: &&Event| matches!(event.what, EventKind::Unused { .. } | EventKind::Ended { .. });
    let (before, tail) = events.split_at(events.len() - events.iter().rev().take_while(is_tail).count());
    let at = events.last().map_or(Time::ZERO, |event| event.at);
    let unused = unused.iter().map(|answer| Event { at, agent: Agent::ROOT, what: EventKind::Unused { answer: answer.clone() } });
    before.iter().cloned().chain(unused).chain(tail.iter().cloned()).collect()
}

fn finished<E>(mut report: RunReport<E>, kept: ServerMemory, shortened: bool) -> NetworkRun<E> {
    let at = report.transcript.events.last().map_or(Time::ZERO, |event| event.at);
    let verdict = kept.into_verdict(at);
    report.passed.extend(verdict.passed.iter().cloned());
    report.transcript.events = with_unused(&report.transcript.events, &verdict.unused);
    if matches!(&report.end, RunEnd::LimitReached { limit } if &**limit == limits::TIME) && shortened {
        report.failures.push("a simulated network runs for an hour at most: scale the times, e.g. --scale 1%".into());
    }
    // The server sees requests only: what it says of a rule, the report has said. Whether an attempt came too early is known where it waited (O-9).
    let early = reenact_foreign::judge::early_attempts(&verdict);
    let is_told = |failure: &String| {
        let mut broken = report.violations.iter().flatten();
        early.contains(failure)
            || report.failures.contains(failure)
            || broken.any(|violation| *failure == reenact_foreign::judge::words(violation))
    };
    let new: Vec<String> = verdict.failures.iter().filter(|failure| !is_told(failure)).cloned().collect();
    report.failures.extend(new);
    NetworkRun { report, verdict }
}
