//! Runs many scenarios in parallel, and returns the outcome of each.
//!
//! How many threads there are changes how long this takes and nothing else: each run is a value of its own, and outcomes come
//! back in the order of the scenarios.
//!
//! Its rules are in `docs/rules/review.md` (V-1, V-6).

extern crate alloc;

#[cfg(test)]
mod attribution;
#[cfg(test)]
mod certifying;
#[cfg(test)]
mod diagrams;
#[cfg(test)]
mod explorations;
#[doc(hidden)]
pub mod explore;
#[cfg(test)]
mod findings;
pub mod pairs;
#[cfg(test)]
mod plan_replay;
#[doc(hidden)]
pub mod reference_loop;
#[cfg(test)]
mod shipped_scenarios;
pub mod snapshot;
#[cfg(test)]
mod stale_input;
pub mod statements;
pub mod sweep;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use reenact_engine::contract::{Engine, Time};
use reenact_explore::{PanicGuard, panic_text};
use reenact_files::scenario::{LoadError, LoadOptions, LoadedScenario, load_with};
use reenact_scenario::types::Scenario;
use reenact_sim::Run;
use reenact_sim::report::RunReport;
use reenact_sim::statements::RunView;
use reenact_transcript::event::Transcript;
use reenact_transcript::text::{self, DetailLevel};
use reenact_wire::prelude::*;

/// The outcome of one run: a report, or the panic that ended it.
pub type RunOutcome<E> = Result<RunReport<E>, EnginePanic>;

/// An engine that panicked (O-19).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}the engine panicked: {words}", run.as_ref().map(|run| format!("O-19 at {}: ", run.at)).unwrap_or_default())]
pub struct EnginePanic {
    /// The words of the panic.
    pub words: String,
    /// The run up to it; `None` where it was not simulated on one thread.
    pub run: Option<BrokenRun>,
}

/// A run up to the panic of its engine.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokenRun {
    /// When the engine got the input at which it panicked.
    pub at: Time,
    /// The events until then.
    pub transcript: Transcript,
}

impl EnginePanic {
    /// A panic of which only its words are known.
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), run: None }
    }
}

/// Runs one scenario file against an engine, and asks all oracles about it: the shortest way to test an engine of your own.
///
/// The report's `failures` hold all problems, also statements of the scenario that the run does not show (F-10);
/// [`RunReport::assert`] panics with them.
///
/// The scenario may name files of its project alone ([`Project`](reenact_files::scenario::FileReach::Project)).
///
/// # Errors
/// When the scenario cannot be read; what it says names file, line and column.
///
/// # Panics
/// When the engine does, with the transcript up to there.
#[track_caller]
pub fn run_file<E: Engine>(path: impl AsRef<Path>, engine: E) -> Result<RunReport<E>, LoadError> {
    run_file_with(path, engine, &LoadOptions::default())
}

/// The same with keys that are set, or for a scenario that may name any file.
///
/// # Errors
/// As [`run_file`].
///
/// # Panics
/// As [`run_file`].
#[track_caller]
pub fn run_file_with<E: Engine>(path: impl AsRef<Path>, engine: E, options: &LoadOptions) -> Result<RunReport<E>, LoadError> {
    let loaded = load_with(path.as_ref(), options)?;
    let mut report = match run_to_end(&loaded, Run::new(loaded.setup.clone(), engine)) {
        Ok(report) => report,
        Err(panic) => {
            let transcript = panic.run.as_ref().map(|run| text::render(&run.transcript, DetailLevel::Normal)).unwrap_or_default();
            panic!("{panic}\n\n{transcript}");
        }
    };
    let verdict = statements::judge(&[(&loaded, Some((&report).into()))], RunView::Simulated);
    report.failures.extend(verdict.failures.into_iter().flat_map(|(_, failures)| failures));
    Ok(report)
}

/// Runs scenarios on `threads` threads, each on an engine that `new_engine` makes; a panic ends its own run only.
pub fn run_all<E, F>(scenarios: &[LoadedScenario], threads: NonZeroUsize, new_engine: F) -> Vec<RunOutcome<E>>
where
    E: Engine + Send,
    F: Fn() -> E + Sync,
{
    run_each(scenarios, threads, |scenario| Run::new(scenario.setup.clone(), new_engine()))
}

/// The same with runs that `new_run` makes, so that they may be others than the usual ones.
pub fn run_each<E, F>(scenarios: &[LoadedScenario], threads: NonZeroUsize, new_run: F) -> Vec<RunOutcome<E>>
where
    E: Engine + Send,
    F: Fn(&LoadedScenario) -> Run<E> + Sync,
{
    in_parallel(scenarios, threads, |scenario| run_to_end(scenario, new_run(scenario)))
}

/// Runs to the end, or to a panic.
pub fn run_to_end<E: Engine>(scenario: &LoadedScenario, mut run: Run<E>) -> RunOutcome<E> {
    let ended = PanicCatcher.run(|| {
        loop {
            if let Some(end) = run.advance() {
                break end;
            }
        }
    });
    match ended {
        Ok(end) => PanicCatcher.run(|| run.into_report(end)).map_err(EnginePanic::new),
        Err(words) => {
            let Scenario { title, .. } = &scenario.setup.scenario;
            let transcript = run.watcher().clone().into_transcript(title, scenario.setup.scenario.shown_seed());
            Err(EnginePanic { words, run: Some(BrokenRun { at: run.now(), transcript }) })
        }
    }
}

/// Does the same work on each item; results come back in the order of the items.
#[doc(hidden)]
pub fn in_parallel<T, R, F>(items: &[T], threads: NonZeroUsize, work: F) -> Vec<R>
where
    T: Sync,
    R: Send,
    F: Fn(&T) -> R + Sync,
{
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.get().min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    // The receiver outlives this scope, so the result always arrives.
                    let _ = sender.send((index, work(item)));
                }
            });
        }
    });
    drop(sender);
    let mut results: Vec<(usize, R)> = receiver.into_iter().collect();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// How many threads there are cores for.
#[expect(clippy::disallowed_methods, reason = "only the runner may ask: it changes how long a run takes, never what it says")]
pub fn threads_available() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Makes a panic of an engine a value, so that it ends its own run only.
#[derive(Clone, Copy, Debug)]
pub struct PanicCatcher;

impl PanicGuard for PanicCatcher {
    fn run<R>(&self, work: impl FnOnce() -> R) -> Result<R, String> {
        // A run that panicked is thrown away, or only read for what it had recorded.
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| panic_text(&*payload))
    }
}
