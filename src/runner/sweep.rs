//! Sweeps over many scenarios, each on a thread of its own (E-1).

use std::num::NonZeroUsize;

use super::{Catching, in_parallel};
use crate::engine::contract::Engine;
use crate::explore::interrupt::Kind;
use crate::explore::sweep::{SweepReport, sweep};
use crate::files::scenario::Loaded;
use crate::prelude::*;

/// Sweeps over scenarios on `threads` threads, each with an engine that `new_engine` makes. A panic is a finding. How many threads
/// there are changes no report.
pub fn sweep_all<E, F>(scenarios: &[Loaded], threads: NonZeroUsize, kinds: &[Kind], new_engine: F) -> Vec<SweepReport>
where
    E: Engine,
    F: Fn() -> E + Sync,
{
    in_parallel(scenarios, threads, |scenario| sweep(&scenario.setup, &new_engine(), kinds, &Catching))
}
