//! The finding of a sweep: a run, and what did not hold in it.

use super::interrupt::{BoundaryPlace, InjectionKind};
use reenact_oracle::Violation;
use reenact_wire::prelude::*;

/// A run in which something did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFinding {
    /// Where and how it was interrupted; `None` for the run as it is.
    pub interrupt: Option<(BoundaryPlace, InjectionKind)>,
    /// The failures.
    pub violations: Vec<Violation>,
}
