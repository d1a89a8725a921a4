//! Many scenarios, in parallel, and what came of each.
//!
//! How many threads there are changes how long this takes and nothing else: each run is a value of its own, and outcomes come
//! back in the order of the scenarios.

pub mod snapshot;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::engine::contract::Engine;
use crate::files::scenario::{LoadError, Loaded, load};
use crate::prelude::*;
use crate::sim::Run;
use crate::sim::report::Report;

/// What came of one run: a report, or the words of the panic that ended it.
pub type Outcome<E> = Result<Report<E>, Panic>;

/// An engine that panicked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine panicked: {0}")]
pub struct Panic(pub String);

/// Runs one scenario file against an engine: the shortest way to test an engine of your own.
///
/// # Errors
/// When the scenario cannot be read; what it says names file, line and column.
pub fn run_file<E: Engine>(path: impl AsRef<Path>, engine: E) -> Result<Report<E>, LoadError> {
    let loaded = load(path.as_ref(), &[])?;
    Ok(Run::new(loaded.setup, engine).to_end())
}

/// Runs scenarios on `threads` threads, each on an engine that `new_engine` makes; a panic ends its own run only.
pub fn run_all<E, F>(scenarios: &[Loaded], threads: NonZeroUsize, new_engine: F) -> Vec<Outcome<E>>
where
    E: Engine + Send,
    F: Fn() -> E + Sync,
{
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.get().min(scenarios.len()) {
            let (sender, next, new_engine) = (sender.clone(), &next, &new_engine);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(scenario) = scenarios.get(index) else { break };
                    // The receiver outlives this scope, so the outcome always arrives.
                    let _ = sender.send((index, run_one(scenario, new_engine())));
                }
            });
        }
    });
    drop(sender);
    let mut outcomes: Vec<(usize, Outcome<E>)> = receiver.into_iter().collect();
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Runs one scenario and keeps the log at the engine's boundary.
pub fn run_logged<E: Engine>(scenario: &Loaded, engine: E) -> Outcome<E> {
    caught(|| Run::new(scenario.setup.clone(), engine).with_log().to_end())
}

/// How many threads there are cores for.
#[expect(clippy::disallowed_methods, reason = "only the runner may ask: it changes how long a run takes, never what it says")]
pub fn threads_available() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn run_one<E: Engine>(scenario: &Loaded, engine: E) -> Outcome<E> {
    caught(|| Run::new(scenario.setup.clone(), engine).to_end())
}

fn caught<E>(run: impl FnOnce() -> Report<E>) -> Outcome<E> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
        Panic(text.unwrap_or("(without a message)").to_string())
    })
}
