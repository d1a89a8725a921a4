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

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use exchange::Came;
pub use upstream::{Upstream, UpstreamError};

use super::network::Network;
use crate::engine::contract::{Agent, Engine, RequestId};
use crate::engine::time::{Micros, Time};
use crate::prelude::*;
use crate::sim::Run;
use crate::sim::outside::{Call, Progress};
use crate::sim::report::Report;
use crate::transcript::event::RunEnd;

/// How many parts of answers may wait for the run: more would be memory that grows with a slow engine.
const WAITING_MAX: usize = 1_024;

/// A run that did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// One of our own tasks panicked.
    #[error("a task of the live driver panicked: {0}")]
    Panic(String),
}

/// Runs a scenario's session against a server. `run` is one that has not begun, with or without a log.
///
/// # Errors
/// When a task of the driver panics. What a server does wrong is in the report.
pub async fn drive<E: Engine, N: Network>(run: Run<E>, network: N, upstream: Upstream) -> Result<Report<E>, DriveError> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let began = Instant::now();
    let driver =
        Driver { run: run.with_server_outside(), network, upstream: Arc::new(upstream), tasks: JoinSet::new(), open: Vec::new(), sender };
    driver.to_end(receiver, began).await
}

struct Driver<E, N> {
    run: Run<E>,
    network: N,
    upstream: Arc<Upstream>,
    tasks: JoinSet<()>,
    open: Vec<(Agent, RequestId, AbortHandle)>,
    sender: mpsc::Sender<Came>,
}

impl<E: Engine, N: Network> Driver<E, N> {
    async fn to_end(mut self, mut receiver: mpsc::Receiver<Came>, began: Instant) -> Result<Report<E>, DriveError> {
        loop {
            let progress = self.run.advance_until(since(began));
            for call in self.run.take_calls() {
                self.carry_out(call);
            }
            let until = match progress {
                Progress::Ended(end) => return Ok(self.ended(end)),
                Progress::Waits(until) => until,
            };
            tokio::select! {
                biased;
                Some(came) = receiver.recv() => self.take(came),
                Some(joined) = self.tasks.join_next() => check(joined)?,
                () = wait(began, until) => (),
            }
        }
    }

    fn carry_out(&mut self, call: Call) {
        match call {
            Call::Make { agent, id, request } => {
                let (network, upstream, sender) = (self.network.clone(), self.upstream.clone(), self.sender.clone());
                let task = exchange::exchange(network, upstream, (agent.clone(), id), request, sender);
                self.open.push((agent, id, self.tasks.spawn(task)));
            }
            // The connection goes with its task.
            Call::Close { agent, id } => self.forget(&agent, id),
        }
    }

    fn take(&mut self, came: Came) {
        let Came { agent, id, input } = came;
        self.run.offer(&agent, id, input);
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

    fn ended(self, end: RunEnd) -> Report<E> {
        self.run.into_report(end)
    }
}

/// A task is over: a panic in it is ours to tell, that it was told to stop is not.
fn check(joined: Result<(), tokio::task::JoinError>) -> Result<(), DriveError> {
    match joined {
        Err(error) if error.is_panic() => Err(DriveError::Panic(super::panic_text(&*error.into_panic()))),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The time of the run: microseconds since it began, on tokio's clock, which a simulated network moves.
fn since(began: Instant) -> Time {
    let elapsed = Instant::now().saturating_duration_since(began);
    Time::ZERO + Micros(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

/// Until a time of the run; for ever when nothing is awaited but answers.
async fn wait(began: Instant, until: Option<Time>) {
    match until {
        Some(until) => sleep_until(began + Duration::from_micros(until.since(Time::ZERO).0)).await,
        None => core::future::pending().await,
    }
}
