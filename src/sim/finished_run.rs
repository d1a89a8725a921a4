//! A run that is over, without a transcript.

use reenact_engine::time::Time;
use reenact_transcript::event::RunEnd;

/// A run that is over, without a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun<E, W> {
    /// The reason of the end.
    pub end: RunEnd,
    /// The time of the entry.
    pub at: Time,
    /// The engine in its last state.
    pub engine: E,
    /// The watcher, in its last state.
    pub watcher: W,
    /// How many faults came, and answers that fail, with those that did not come because of [`Run::heal`](super::Run::heal).
    pub faults: u32,
    /// Whether a fault of a request came that goes on for ever: then it is no failure that nothing ends.
    pub has_endless_fault: bool,
}
