//! The states that a compaction goes through, as seen from step to step.

use super::machine::{Compaction, CompactionState, CompactionVerdict};
use crate::diagram::Diagram;

/// How a conversation becomes shorter by a summary.
pub(crate) const DIAGRAM: Diagram = Diagram {
    machine: "compaction",
    edges: &[
        ("", "starts", "Asking"),
        ("", "starts", "PreHooks"),
        ("Asking", "abort", "Aborted"),
        ("Asking", "asked again", "Asking"),
        ("Asking", "call ended", "Done"),
        ("Asking", "call ended", "Failed"),
        ("Asking", "call ended", "PostHooks"),
        ("PostHooks", "abort", "Aborted"),
        ("PostHooks", "hooks told", "Done"),
        ("PostHooks", "hooks told", "Failed"),
        ("PreHooks", "abort", "Aborted"),
        ("PreHooks", "hooks answered", "Asking"),
        ("PreHooks", "hooks answered", "Failed"),
    ],
};

/// Where a step began.
pub(super) struct CompactionOrigin {
    state: &'static str,
    /// Which request the model was asked by.
    turn: Option<u32>,
}

impl CompactionState {
    fn name(&self) -> &'static str {
        match self {
            Self::PreHooks { .. } => "PreHooks",
            Self::Asking { .. } => "Asking",
            Self::PostHooks { .. } => "PostHooks",
            Self::Finished => "Over",
        }
    }
}

impl Compaction {
    pub(super) fn before(&self) -> CompactionOrigin {
        CompactionOrigin { state: self.state.name(), turn: self.turn() }
    }

    /// It has begun.
    pub(super) fn begun(&self) {
        DIAGRAM.pass("", "starts", self.state.name());
    }

    /// A step is over.
    pub(super) fn passed(&self, before: &CompactionOrigin, verdict: &CompactionVerdict) {
        let after = match verdict {
            CompactionVerdict::Running => self.state.name(),
            CompactionVerdict::Done(_) => "Done",
            CompactionVerdict::Failed(_) => "Failed",
        };
        let cause = match before.state {
            "PreHooks" => "hooks answered",
            "Asking" if after == "Asking" => "asked again",
            "Asking" => "call ended",
            _ => "hooks told",
        };
        if before.state != after || before.turn != self.turn() {
            DIAGRAM.pass(before.state, cause, after);
        }
    }

    /// It is ended from outside.
    pub(super) fn aborted(&self) {
        DIAGRAM.pass(self.state.name(), "abort", "Aborted");
    }

    fn turn(&self) -> Option<u32> {
        match &self.state {
            CompactionState::Asking { call, .. } => Some(call.id().turn),
            _ => None,
        }
    }
}
