//! The states that a call goes through.

use super::CallState;
use crate::diagram::Diagram;

/// How one answer is come by, with all attempts at it.
pub(crate) const DIAGRAM: Diagram = Diagram {
    machine: "call",
    edges: &[
        ("", "asked", "Due"),
        ("Abandoned", "next attempt", "Due"),
        ("Abandoned", "retry later", "Waiting"),
        ("AwaitingBody", "abort", "Ended"),
        ("AwaitingBody", "answer complete", "Ended"),
        ("AwaitingBody", "credentials wanted", "Refreshing"),
        ("AwaitingBody", "fallback", "Ended"),
        ("AwaitingBody", "first event", "Streaming"),
        ("AwaitingBody", "given up", "Ended"),
        ("AwaitingBody", "next attempt", "Due"),
        ("AwaitingBody", "retry later", "Waiting"),
        ("AwaitingHead", "abort", "Ended"),
        ("AwaitingHead", "given up", "Ended"),
        ("AwaitingHead", "head", "AwaitingBody"),
        ("AwaitingHead", "retry later", "Waiting"),
        ("Due", "abort", "Ended"),
        ("Due", "made", "AwaitingHead"),
        ("Refreshing", "abort", "Ended"),
        ("Refreshing", "given up", "Ended"),
        ("Refreshing", "next attempt", "Due"),
        ("Refreshing", "retry later", "Waiting"),
        ("Streaming", "abort", "Ended"),
        ("Streaming", "answer complete", "Ended"),
        ("Streaming", "failed after blocks", "Abandoned"),
        ("Streaming", "fallback", "Ended"),
        ("Streaming", "given up", "Ended"),
        ("Streaming", "next attempt", "Due"),
        ("Streaming", "part kept", "Ended"),
        ("Streaming", "retry later", "Waiting"),
        ("Waiting", "abort", "Ended"),
        ("Waiting", "next attempt", "Due"),
        ("Waiting", "retry later", "Waiting"),
    ],
};

impl CallState {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Due(_) => "Due",
            Self::AwaitingHead => "AwaitingHead",
            Self::Streaming { .. } => "Streaming",
            Self::AwaitingBody { .. } => "AwaitingBody",
            Self::Waiting { .. } => "Waiting",
            Self::Refreshing(_) => "Refreshing",
            Self::Abandoned(..) => "Abandoned",
            Self::Ended => "Ended",
        }
    }
}
