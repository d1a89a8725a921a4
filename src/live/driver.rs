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
mod upstream;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use exchange::{ExchangeEvent, ExchangeEventKind as CameWhat};
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
    let EngineDriverOptions { scale, tick, notes } = options;
    let clock = SessionClock { began: Instant::now(), scale };
    let (run, upstream) = (run.with_server_outside(tick), Arc::new(upstream));
    let driver = EngineDriver { run, network, upstream, clock, tasks: JoinSet::new(), open: Vec::new(), sender };
    driver.carry_on(receiver, notes, stop).await
}

struct EngineDriver<E, N> {
    run: Run<E>,
    network: N,
    upstream: Arc<ApiAddress>,
    clock: SessionClock,
    tasks: JoinSet<()>,
    open: Vec<(Agent, RequestId, AbortHandle)>,
    sender: mpsc::Sender<ExchangeEvent>,
}

impl<E: Engine, N: Network> EngineDriver<E, N> {
    async fn carry_on(
        mut self,
        mut receiver: mpsc::Receiver<ExchangeEvent>,
        mut notes: Option<mpsc::UnboundedReceiver<AnswerNote>>,
        stop: impl Future<Output = ()>,
    ) -> Result<RunReport<E>, EngineDriverError> {
        let mut stop = core::pin::pin!(stop);
        loop {
            let progress = self.run.advance_until(self.clock.time(Instant::now()));
            for call in self.run.take_calls() {
                self.carry_out(call);
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

async fn next(notes: &mut Option<mpsc::UnboundedReceiver<AnswerNote>>) -> Option<AnswerNote> {
    match notes {
        Some(notes) => notes.recv().await,
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
