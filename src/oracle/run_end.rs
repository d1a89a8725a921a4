//! O-18: once faults stop, each run comes to its terminals.
//!
//! It is asked wherever a run ends. The judge is the driver of the run: a run may get stuck or reach a limit because its scenario says so, and then the
//! same run is made again without faults from one of its boundaries on, where neither is a good end.

use super::OracleFindings;
use reenact_transcript::event::RunEnd;

#[doc(hidden)]
pub const ORACLE: &str = "O-18";

/// Notes that the question came up, unless the run was stopped from outside.
pub(super) fn on_end(end: &RunEnd, found: &mut OracleFindings<'_>) {
    if *end != RunEnd::Stopped {
        found.ask(ORACLE);
    }
}
