//! How far a tool use is (T-1), without its data: what admission (T-4) and the order of results (T-7) depend on.

/// The phase of a tool use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ToolPhase {
    /// Waits.
    Queued,
    /// Runs.
    Executing,
    /// Was told to stop and still runs (T-15a).
    Stopping,
    /// Its result is in and not emitted.
    Completed,
    /// Its result was emitted.
    Yielded,
}

impl ToolPhase {
    /// Whether it keeps others from running.
    pub(crate) fn is_running(self) -> bool {
        matches!(self, Self::Executing | Self::Stopping)
    }

    /// Whether it neither waits nor runs any more.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Yielded)
    }
}
