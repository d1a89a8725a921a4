//! The states that a compaction goes through, as seen from step to step.

use super::machine::{Compaction, CompactionState, CompactionVerdict};
use crate::diagram::Diagram;
use CompactionEdgeCause::*;
use CompactionPhase::*;

/// The states without their data, and the ends.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum CompactionPhase {
    PreHooks,
    Asking,
    PostHooks,
    Done,
    Failed,
    Aborted,
    /// It ended before.
    Over,
}

/// The causes of a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum CompactionEdgeCause {
    Start,
    HookAnswers,
    /// The model is asked once more.
    NextRequest,
    CallEnd,
    PostHookEnd,
    Abort,
}

/// How a conversation becomes shorter by a summary.
pub(crate) const DIAGRAM: Diagram<CompactionPhase, CompactionEdgeCause> = Diagram {
    machine: "compaction",
    edges: &[
        (None, Start, Asking),
        (None, Start, PreHooks),
        (Some(Asking), Abort, Aborted),
        (Some(Asking), NextRequest, Asking),
        (Some(Asking), CallEnd, Done),
        (Some(Asking), CallEnd, Failed),
        (Some(Asking), CallEnd, PostHooks),
        (Some(PostHooks), Abort, Aborted),
        (Some(PostHooks), PostHookEnd, Done),
        (Some(PostHooks), PostHookEnd, Failed),
        (Some(PreHooks), Abort, Aborted),
        (Some(PreHooks), HookAnswers, Asking),
        (Some(PreHooks), HookAnswers, Failed),
    ],
};

/// Where a step began.
pub(super) struct CompactionOrigin {
    phase: CompactionPhase,
    /// Which request the model was asked by.
    turn: Option<u32>,
}

impl CompactionState {
    fn phase(&self) -> CompactionPhase {
        match self {
            Self::PreHooks { .. } => PreHooks,
            Self::Asking { .. } => Asking,
            Self::PostHooks { .. } => PostHooks,
            Self::Finished => Over,
        }
    }
}

impl Compaction {
    pub(super) fn before(&self) -> CompactionOrigin {
        CompactionOrigin { phase: self.state.phase(), turn: self.turn() }
    }

    /// It has begun.
    pub(super) fn begun(&self) {
        DIAGRAM.pass(None, Start, self.state.phase());
    }

    /// A step is over.
    pub(super) fn passed(&self, before: &CompactionOrigin, verdict: &CompactionVerdict) {
        let after = match verdict {
            CompactionVerdict::Running => self.state.phase(),
            CompactionVerdict::Done(_) => Done,
            CompactionVerdict::Failed(_) => Failed,
        };
        let cause = match before.phase {
            PreHooks => HookAnswers,
            Asking if after == Asking => NextRequest,
            Asking => CallEnd,
            _ => PostHookEnd,
        };
        if before.phase != after || before.turn != self.turn() {
            DIAGRAM.pass(Some(before.phase), cause, after);
        }
    }

    /// It is ended from outside.
    pub(super) fn aborted(&self) {
        DIAGRAM.pass(Some(self.state.phase()), Abort, Aborted);
    }

    fn turn(&self) -> Option<u32> {
        match &self.state {
            CompactionState::Asking { call, .. } => Some(call.id().turn),
            _ => None,
        }
    }
}
