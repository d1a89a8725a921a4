//! How far a tool use is, as seen from outside of it: what admission (T-4) and the order of results (T-7) depend on.

/// The stage of a tool use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolStage {
    /// Waits.
    Queued,
    /// Runs, or is stopping (T-15a).
    Executing,
    /// Its result is in and not emitted.
    Completed,
    /// Its result was emitted, as the n-th.
    Yielded(u32),
}

impl ToolStage {
    /// Whether it neither waits nor runs any more.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Yielded(_))
    }
}
