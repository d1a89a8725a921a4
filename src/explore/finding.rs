//! The finding of a sweep: a run, and what did not hold in it.

use super::interrupt::{BoundaryPlace, InjectionKind};
use reenact_oracle::Violation;
use reenact_wire::prelude::*;

/// A run in which something did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFinding {
    /// Where and how it was interrupted; `None` for the run as it is.
    pub interrupt: Option<(BoundaryPlace, InjectionKind)>,
    /// The first violation before the interrupt: perhaps the cause of the rest. The run as it is has it as well.
    pub before: Option<Violation>,
    /// The failures. Those from before the interrupt are not among them.
    pub violations: Vec<Violation>,
    /// For how many runs it stands: more than one where an engine takes no notice of an interrupt anywhere.
    pub runs: usize,
}

impl SweepFinding {
    /// The violation that came first in the run; the others mostly follow from it.
    pub fn first(&self) -> Option<&Violation> {
        self.before.as_ref().or_else(|| self.violations.iter().min_by_key(|violation| violation.at))
    }
}
