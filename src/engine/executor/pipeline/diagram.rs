//! The states that a pipeline goes through, as seen from step to step: what is passed through in the same instant is not drawn.

use super::{Pipeline, PipelineHalt, PipelineState, PipelineVerdict};
use crate::contract::Input;
use crate::diagram::Diagram;
use PipelineCause::*;
use PipelinePhase::*;

/// The states without their data, and the ends.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum PipelinePhase {
    Starting,
    Deciding,
    Checking,
    PreHooks,
    Asking,
    Calling,
    PostHooks,
    Storing,
    Done,
    Halted,
}

/// The causes of a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum PipelineCause {
    Start,
    Check,
    HookAnswers,
    PersonAnswer,
    ToolEnd,
    Storage,
    /// The time of the hooks is up.
    Timeout,
    Abort,
}

/// The states of one tool use.
pub(crate) const DIAGRAM: Diagram<PipelinePhase, PipelineCause> = Diagram {
    machine: "pipeline",
    edges: &[
        (None, Start, Asking),
        (None, Start, Calling),
        (None, Start, Checking),
        (None, Start, Done),
        (None, Start, PreHooks),
        (Some(Asking), Abort, Halted),
        (Some(Asking), PersonAnswer, Calling),
        (Some(Asking), PersonAnswer, Done),
        (Some(Calling), Abort, Halted),
        (Some(Calling), ToolEnd, Done),
        (Some(Calling), ToolEnd, PostHooks),
        (Some(Calling), ToolEnd, Storing),
        (Some(Checking), Abort, Halted),
        (Some(Checking), Check, Asking),
        (Some(Checking), Check, Calling),
        (Some(Checking), Check, Done),
        (Some(Checking), Check, PreHooks),
        (Some(PostHooks), Abort, Done),
        (Some(PostHooks), HookAnswers, Done),
        (Some(PostHooks), HookAnswers, Storing),
        (Some(PostHooks), Timeout, Done),
        (Some(PostHooks), Timeout, Storing),
        (Some(PreHooks), Abort, Halted),
        (Some(PreHooks), HookAnswers, Asking),
        (Some(PreHooks), HookAnswers, Calling),
        (Some(PreHooks), HookAnswers, Done),
        (Some(PreHooks), Timeout, Asking),
        (Some(PreHooks), Timeout, Calling),
        (Some(PreHooks), Timeout, Done),
        (Some(Storing), Abort, Done),
        (Some(Storing), Storage, Done),
    ],
};

impl PipelineState {
    fn phase(&self) -> PipelinePhase {
        match self {
            Self::Starting => Starting,
            Self::Deciding => Deciding,
            Self::Checking => Checking,
            Self::PreHooks { .. } => PreHooks,
            Self::Asking => Asking,
            Self::Calling { .. } => Calling,
            Self::PostHooks { .. } => PostHooks,
            Self::Storing { .. } => Storing,
        }
    }
}

impl Pipeline {
    pub(super) fn phase(&self) -> PipelinePhase {
        self.step.phase()
    }

    /// It has begun.
    pub(super) fn begun(&self, verdict: &PipelineVerdict) {
        DIAGRAM.pass(None, Start, self.after(verdict));
    }

    /// A step is over, which began in the state `before`.
    pub(super) fn passed(&self, before: PipelinePhase, input: &Input, verdict: &PipelineVerdict) {
        let cause = match input {
            Input::ToolChecked { .. } => Check,
            Input::HookEnded { .. } => HookAnswers,
            Input::PermissionAnswered { .. } => PersonAnswer,
            Input::ToolEnded { .. } => ToolEnd,
            Input::ResultStored { .. } => Storage,
            _ => Timeout,
        };
        let after = self.after(verdict);
        if before != after {
            DIAGRAM.pass(Some(before), cause, after);
        }
    }

    /// It was ended from outside.
    pub(super) fn halted(&self, halt: &PipelineHalt) {
        let to = match halt {
            PipelineHalt::AtOnce | PipelineHalt::Stopping => Halted,
            PipelineHalt::Ended(_) => Done,
        };
        DIAGRAM.pass(Some(self.phase()), Abort, to);
    }

    fn after(&self, verdict: &PipelineVerdict) -> PipelinePhase {
        match verdict {
            PipelineVerdict::Running => self.phase(),
            PipelineVerdict::Done(_) => Done,
        }
    }
}
