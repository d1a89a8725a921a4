//! The live driver: an engine on the real clock, its requests over real HTTP, everything else as the scenario says (B-1).
//!
//! ```text
//!   clock ──> sim::Run (engine, tools, hooks, user) ── calls ──> one task a request ──HTTP──> any Messages API
//!                 ^──────────────── what came ─────────────────────────┘
//! ```
//!
//! One loop owns the run; tasks only carry bytes and tell it what came. The run writes the log at the boundary as it does in a simulation, so what
//! happened here replays in microseconds.

mod exchange;
mod real_tools;
mod upstream;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use exchange::{ExchangeEvent, ExchangeEventKind as CameWhat};
pub use real_tools::{PermissionRequest, RealTools};
use real_tools::{ToolArrival, ToolsAtWork};
pub use upstream::{ApiAddress, UpstreamError};

use super::clock::{SessionClock, TimeScale};
use super::network::Network;
use crate::serve::AnswerNote;
use reenact_engine::contract::{Agent, Engine, Input, RequestId};
use reenact_engine::time::{Micros, Time};
use reenact_explore::panic_text;
use reenact_sim::Run;
use reenact_sim::in_flight::{OutsideCall, RunProgress};
use reenact_sim::report::RunReport;
use reenact_transcript::event::RunEnd;
use reenact_wire::prelude::*;

/// How many parts of answers may wait for the run: more would be memory that grows with a slow engine.
const WAITING_MAX: usize = 1_024;

/// How a session is driven.
#[derive(Debug, Default)]
pub struct EngineDriverOptions {
    /// How fast its time goes. Anything but 100 percent is for servers that live by the same clock.
    pub scale: TimeScale,
    /// How far that time goes in one step, where it does; what is shorter cannot be told.
    pub tick: Micros,
    /// The report of our own server; `None` for other servers.
    pub notes: Option<mpsc::UnboundedReceiver<AnswerNote>>,
    /// Real tools; `None` where the scenario has all of them.
    pub tools: Option<RealTools>,
}

/// A run that did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineDriverError {
    /// One of our own tasks panicked.
    #[error("a task of the live driver panicked: {0}")]
    Panic(String),
}

/// Runs a scenario's session against a server, until it is over or `stop` comes. `run` is one that has not begun, with or without a log.
///
/// # Errors
/// When a task of the driver panics. What a server does wrong is in the report.
pub async fn drive<E: Engine, N: Network>(
    run: Run<E>,
    network: N,
    upstream: ApiAddress,
    options: EngineDriverOptions,
    stop: impl Future<Output = ()>,
) -> Result<RunReport<E>, EngineDriverError> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let EngineDriverOptions { scale, tick, notes, tools } = options;
    let clock = SessionClock { began: Instant::now(), scale };
    let (mut run, upstream) = (run.with_server_outside(tick), Arc::new(upstream));
    let (tools, of_tools) = tools.map(ToolsAtWork::new).unzip();
    if let Some(tools) = &tools {
        run = run.with_tools_outside(tools.asks());
    }
    let driver = EngineDriver { run, network, upstream, clock, tasks: JoinSet::new(), open: Vec::new(), sender, tools };
    driver.carry_on(DriverReceivers { answers: receiver, notes, tools: of_tools }, stop).await
}

struct EngineDriver<E, N> {
    run: Run<E>,
    network: N,
    upstream: Arc<ApiAddress>,
    clock: SessionClock,
    tasks: JoinSet<()>,
    open: Vec<(Agent, RequestId, AbortHandle)>,
    sender: mpsc::Sender<ExchangeEvent>,
    tools: Option<ToolsAtWork>,
}

/// Where a driver hears what came.
struct DriverReceivers {
    answers: mpsc::Receiver<ExchangeEvent>,
    notes: Option<mpsc::UnboundedReceiver<AnswerNote>>,
    tools: Option<mpsc::UnboundedReceiver<ToolArrival>>,
}

impl<E: Engine, N: Network> EngineDriver<E, N> {
    async fn carry_on(
        mut self,
        DriverReceivers { answers: mut receiver, mut notes, tools: mut of_tools }: DriverReceivers,
        stop: impl Future<Output = ()>,
    ) -> Result<RunReport<E>, EngineDriverError> {
        let mut stop = core::pin::pin!(stop);
        loop {
            let progress = self.run.advance_until(self.clock.time(Instant::now()));
            for call in self.run.take_calls() {
                self.carry_out(call);
            }
            if let Some(tools) = &mut self.tools {
                self.run.take_tool_calls().into_iter().for_each(|call| tools.carry_out(call, &mut self.tasks));
            }
            let until = match progress {
                RunProgress::Ended(end) => return Ok(self.run.into_report(end)),
                RunProgress::Waits(until) => until,
            };
            tokio::select! {
                biased;
                () = &mut stop => {
                    let end = self.run.stop(self.clock.time(Instant::now()));
                    return Ok(self.run.into_report(end));
                },
                // What is said of an answer comes before the answer.
                Some((agent, what)) = next(&mut notes) => self.run.note(&agent, &what),
                Some(came) = receiver.recv() => if let Some(end) = self.take(came) {
                    return Ok(self.run.into_report(end));
                },
                Some(arrival) = next(&mut of_tools) => {
                    self.tools.iter_mut().for_each(|tools| tools.note(&arrival));
                    self.run.offer_tool(&arrival.agent, arrival.input);
                },
                Some(joined) = self.tasks.join_next() => check(joined)?,
                () = wait(self.clock, until) => (),
            }
        }
    }

    fn carry_out(&mut self, call: OutsideCall) {
        match call {
            OutsideCall::Make { agent, id, request } => {
                let wanted = exchange::RequestToSend {
                    network: self.network.clone(),
                    upstream: self.upstream.clone(),
                    scale: self.clock.scale,
                    agent: agent.clone(),
                    id,
                    request,
                };
                let task = exchange::exchange(wanted, self.sender.clone());
                self.open.push((agent, id, self.tasks.spawn(task)));
            }
            // The connection goes with its task.
            OutsideCall::Close { agent, id } => self.forget(&agent, id),
        }
    }

    fn take(&mut self, came: ExchangeEvent) -> Option<RunEnd> {
        let ExchangeEvent { agent, id, what } = came;
        match what {
            CameWhat::Input(input) => {
                if let Input::End { .. } = input {
                    self.forget(&agent, id);
                }
                self.run.offer(&agent, id, input);
                None
            }
            CameWhat::Exhausted => Some(RunEnd::TapeExhausted { agent, id }),
        }
    }

    fn forget(&mut self, agent: &Agent, id: RequestId) {
        self.open.retain(|(of, open, task)| {
            let is_it = (of, *open) == (agent, id);
            if is_it {
                task.abort();
            }
            !is_it
        });
    }
}

/// A task is over: a panic in it is ours to tell, that it was told to stop is not.
fn check(joined: Result<(), tokio::task::JoinError>) -> Result<(), EngineDriverError> {
    match joined {
        Err(error) if error.is_panic() => Err(EngineDriverError::Panic(panic_text(&*error.into_panic()))),
        Ok(()) | Err(_) => Ok(()),
    }
}

async fn next<T>(receiver: &mut Option<mpsc::UnboundedReceiver<T>>) -> Option<T> {
    match receiver {
        Some(receiver) => receiver.recv().await,
        None => None,
    }
}

/// Until a time of the run.
async fn wait(clock: SessionClock, until: Time) {
    match clock.instant(until) {
        Some(instant) => sleep_until(instant).await,
        None => core::future::pending().await,
    }
}
