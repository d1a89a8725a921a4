//! The states that a tool use goes through (T-1), as seen from step to step: what is passed through in the same instant is not drawn.
//!
//! The phase is all that admission (T-4) and the order of results (T-7) look at.

use crate::contract::Input;
use crate::diagram::Diagram;
use ToolCause::*;
use ToolPhase::*;

/// The states without their data, those of the pipeline among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ToolPhase {
    /// Waits for its turn.
    Queued,
    Checking,
    PreHooks,
    Asking,
    Calling,
    PostHooks,
    Storing,
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
        !matches!(self, Queued) && !self.is_over()
    }

    /// Whether it neither waits nor runs any more.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Completed | Yielded)
    }
}

/// The causes of a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum ToolCause {
    /// The model asks for the tool.
    Request,
    /// There is no such tool.
    UnknownTool,
    /// Its turn has come.
    Admission,
    Check,
    HookAnswers,
    PersonAnswer,
    ToolEnd,
    Storage,
    /// The time of the hooks is up.
    Timeout,
    Abort,
    /// Its result is emitted.
    Emission,
}

impl ToolCause {
    /// The cause of what a pipeline does at an input.
    pub(super) fn from_input(input: &Input) -> Self {
        match input {
            Input::ToolChecked { .. } => Check,
            Input::HookEnded { .. } => HookAnswers,
            Input::PermissionAnswered { .. } => PersonAnswer,
            Input::ToolEnded { .. } => ToolEnd,
            Input::ResultStored { .. } => Storage,
            _ => Timeout,
        }
    }
}

/// How a tool use comes by its result.
pub(crate) const DIAGRAM: Diagram<ToolPhase, ToolCause> = Diagram {
    machine: "tool use",
    edges: &[
        (None, Request, Queued),
        (Some(Asking), Abort, Completed),
        (Some(Asking), PersonAnswer, Calling),
        (Some(Asking), PersonAnswer, Completed),
        (Some(Calling), Abort, Stopping),
        (Some(Calling), ToolEnd, Completed),
        (Some(Calling), ToolEnd, PostHooks),
        (Some(Calling), ToolEnd, Storing),
        (Some(Checking), Abort, Completed),
        (Some(Checking), Check, Asking),
        (Some(Checking), Check, Calling),
        (Some(Checking), Check, Completed),
        (Some(Checking), Check, PreHooks),
        (Some(Completed), Emission, Yielded),
        (Some(PostHooks), Abort, Completed),
        (Some(PostHooks), HookAnswers, Completed),
        (Some(PostHooks), HookAnswers, Storing),
        (Some(PostHooks), Timeout, Completed),
        (Some(PostHooks), Timeout, Storing),
        (Some(PreHooks), Abort, Completed),
        (Some(PreHooks), HookAnswers, Asking),
        (Some(PreHooks), HookAnswers, Calling),
        (Some(PreHooks), HookAnswers, Completed),
        (Some(PreHooks), Timeout, Asking),
        (Some(PreHooks), Timeout, Calling),
        (Some(PreHooks), Timeout, Completed),
        (Some(Queued), Abort, Completed),
        (Some(Queued), Admission, Asking),
        (Some(Queued), Admission, Calling),
        (Some(Queued), Admission, Checking),
        (Some(Queued), Admission, Completed),
        (Some(Queued), Admission, PreHooks),
        (Some(Queued), UnknownTool, Completed),
        (Some(Stopping), Abort, Completed),
        (Some(Storing), Abort, Completed),
        (Some(Storing), Storage, Completed),
    ],
};
