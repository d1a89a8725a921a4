//! The states that a pipeline goes through, as seen from step to step: what is passed through in the same instant is not drawn.

use super::{Pipeline, PipelineHalt, PipelineState, PipelineVerdict};
use crate::contract::Input;
use crate::diagram::Diagram;

/// The states of one tool use.
pub(crate) const DIAGRAM: Diagram = Diagram {
    machine: "pipeline",
    edges: &[
        ("", "starts", "Asking"),
        ("", "starts", "Calling"),
        ("", "starts", "Checking"),
        ("", "starts", "Done"),
        ("", "starts", "PreHooks"),
        ("Asking", "abort", "Halted"),
        ("Asking", "answered", "Calling"),
        ("Asking", "answered", "Done"),
        ("Calling", "abort", "Halted"),
        ("Calling", "ended", "Done"),
        ("Calling", "ended", "PostHooks"),
        ("Calling", "ended", "Storing"),
        ("Checking", "abort", "Halted"),
        ("Checking", "checked", "Asking"),
        ("Checking", "checked", "Calling"),
        ("Checking", "checked", "Done"),
        ("Checking", "checked", "PreHooks"),
        ("PostHooks", "abort", "Done"),
        ("PostHooks", "hooks answered", "Done"),
        ("PostHooks", "hooks answered", "Storing"),
        ("PostHooks", "too late", "Done"),
        ("PostHooks", "too late", "Storing"),
        ("PreHooks", "abort", "Halted"),
        ("PreHooks", "hooks answered", "Asking"),
        ("PreHooks", "hooks answered", "Calling"),
        ("PreHooks", "hooks answered", "Done"),
        ("PreHooks", "too late", "Asking"),
        ("PreHooks", "too late", "Calling"),
        ("PreHooks", "too late", "Done"),
        ("Storing", "abort", "Done"),
        ("Storing", "stored", "Done"),
    ],
};

impl PipelineState {
    fn name(&self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Deciding => "Deciding",
            Self::Checking => "Checking",
            Self::PreHooks { .. } => "PreHooks",
            Self::Asking => "Asking",
            Self::Calling { .. } => "Calling",
            Self::PostHooks { .. } => "PostHooks",
            Self::Storing { .. } => "Storing",
        }
    }
}

impl Pipeline {
    pub(super) fn state(&self) -> &'static str {
        self.step.name()
    }

    /// It has begun.
    pub(super) fn begun(&self, verdict: &PipelineVerdict) {
        DIAGRAM.pass("", "starts", self.after(verdict));
    }

    /// A step is over, which began in the state `before`.
    pub(super) fn passed(&self, before: &'static str, input: &Input, verdict: &PipelineVerdict) {
        let cause = match input {
            Input::ToolChecked { .. } => "checked",
            Input::HookEnded { .. } => "hooks answered",
            Input::PermissionAnswered { .. } => "answered",
            Input::ToolEnded { .. } => "ended",
            Input::ResultStored { .. } => "stored",
            _ => "too late",
        };
        let after = self.after(verdict);
        if before != after {
            DIAGRAM.pass(before, cause, after);
        }
    }

    /// It was ended from outside.
    pub(super) fn halted(&self, halt: &PipelineHalt) {
        let to = match halt {
            PipelineHalt::AtOnce | PipelineHalt::Stopping => "Halted",
            PipelineHalt::Ended(_) => "Done",
        };
        DIAGRAM.pass(self.state(), "abort", to);
    }

    fn after(&self, verdict: &PipelineVerdict) -> &'static str {
        match verdict {
            PipelineVerdict::Running => self.state(),
            PipelineVerdict::Done(_) => "Done",
        }
    }
}
