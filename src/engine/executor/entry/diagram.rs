//! The states that a tool use goes through (T-1).

use super::super::phase::ToolPhase;
use crate::diagram::Diagram;
use ToolCause::*;
use ToolPhase::*;

/// The causes of a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum ToolCause {
    /// The model asks for the tool.
    Request,
    /// Its turn has come.
    Admission,
    Outcome,
    Abort,
    /// Its result is emitted.
    Emission,
}

/// How a tool use comes by its result.
pub(crate) const DIAGRAM: Diagram<ToolPhase, ToolCause> = Diagram {
    machine: "tool use",
    edges: &[
        (None, Request, Queued),
        (Some(Completed), Emission, Yielded),
        (Some(Executing), Abort, Completed),
        (Some(Executing), Abort, Stopping),
        (Some(Executing), Outcome, Completed),
        (Some(Queued), Abort, Completed),
        (Some(Queued), Admission, Executing),
        (Some(Queued), Outcome, Completed),
        (Some(Stopping), Abort, Completed),
    ],
};
