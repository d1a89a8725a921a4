//! Sweeps over many scenarios, each on a thread of its own (E-1).

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{PanicCatcher, in_parallel};
use reenact_engine::contract::Engine;
use reenact_explore::PanicGuard;
use reenact_explore::interrupt::InjectionKind;
use reenact_explore::sweep::{InterruptSweepReport, sweep, sweep_with_coverage};
use reenact_files::scenario::LoadedScenario;
use reenact_wire::prelude::*;

/// News of sweeps at work. A scenario is named by its position.
#[derive(Debug)]
pub enum SweepNews {
    /// A sweep has begun; `runs` counts its runs from here on.
    Began {
        /// Of which scenario.
        scenario: usize,
        /// How many runs have begun.
        runs: Arc<AtomicUsize>,
    },
    /// A sweep is over.
    Ended {
        /// Of which scenario.
        scenario: usize,
        /// Its findings.
        report: Box<InterruptSweepReport>,
    },
}

/// The extent of the counting in a sweep (E-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepCounts {
    /// Findings alone.
    Findings,
    /// Findings, and the coverage of the runs.
    FindingsAndCoverage,
}

/// Catches panics, and counts the runs.
#[derive(Debug, Default)]
pub(super) struct CountingCatcher(Arc<AtomicUsize>);

impl PanicGuard for CountingCatcher {
    fn run<R>(&self, work: impl FnOnce() -> R) -> Result<R, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        PanicCatcher.run(work)
    }
}

/// Sweeps over scenarios on `threads` threads, each with an engine that `new_engine` makes. A panic is a finding. How many threads
/// there are changes no report.
pub fn sweep_all<E, F>(
    scenarios: &[LoadedScenario],
    threads: NonZeroUsize,
    kinds: &[InjectionKind],
    new_engine: F,
) -> Vec<InterruptSweepReport>
where
    E: Engine,
    F: Fn() -> E + Sync,
{
    sweep_all_telling(scenarios, threads, kinds, SweepCounts::Findings, new_engine, |_| ())
}

/// The same, counting what the runs reach (E-7).
pub fn sweep_all_with_coverage<E, F>(
    scenarios: &[LoadedScenario],
    threads: NonZeroUsize,
    kinds: &[InjectionKind],
    new_engine: F,
) -> Vec<InterruptSweepReport>
where
    E: Engine,
    F: Fn() -> E + Sync,
{
    sweep_all_telling(scenarios, threads, kinds, SweepCounts::FindingsAndCoverage, new_engine, |_| ())
}

/// The same, telling what begins and what is over: a sweep over an engine that never ends takes long.
pub fn sweep_all_telling<E, F>(
    scenarios: &[LoadedScenario],
    threads: NonZeroUsize,
    kinds: &[InjectionKind],
    counts: SweepCounts,
    new_engine: F,
    tell: impl Fn(SweepNews) + Sync,
) -> Vec<InterruptSweepReport>
where
    E: Engine,
    F: Fn() -> E + Sync,
{
    let numbered: Vec<(usize, &LoadedScenario)> = scenarios.iter().enumerate().collect();
    in_parallel(&numbered, threads, |(number, scenario)| {
        let guard = CountingCatcher::default();
        tell(SweepNews::Began { scenario: *number, runs: guard.0.clone() });
        let sweep = match counts {
            SweepCounts::Findings => sweep,
            SweepCounts::FindingsAndCoverage => sweep_with_coverage,
        };
        let report = sweep(&scenario.setup, &new_engine(), kinds, &guard);
        tell(SweepNews::Ended { scenario: *number, report: Box::new(report.clone()) });
        report
    })
}
