//! Sweeps over many scenarios, each on a thread of its own (E-1).

use std::num::NonZeroUsize;

use super::{PanicCatcher, in_parallel};
use reenact_engine::contract::Engine;
use reenact_explore::interrupt::InjectionKind;
use reenact_explore::sweep::{InterruptSweepReport, sweep, sweep_with_coverage};
use reenact_files::scenario::LoadedScenario;
use reenact_wire::prelude::*;

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
    in_parallel(scenarios, threads, |scenario| sweep(&scenario.setup, &new_engine(), kinds, &PanicCatcher))
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
    in_parallel(scenarios, threads, |scenario| sweep_with_coverage(&scenario.setup, &new_engine(), kinds, &PanicCatcher))
}
