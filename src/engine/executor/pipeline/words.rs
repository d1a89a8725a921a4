//! Texts for the model and inputs for the hooks of a tool use: pure functions.

use super::super::result;
use crate::engine::contract::{FailureCause, ToolOutcome};
use crate::prelude::*;
use crate::wire::json::Json;

/// The answer to a use that a hook, a rule, the mode or the tool does not permit (T-23, T-24).
pub(super) fn denied(tool: &str, by_hook: bool, reason: &str) -> String {
    match (by_hook, reason.is_empty()) {
        (true, true) => format!("A hook did not allow this call of {tool}."),
        (true, false) => format!("A hook did not allow this call of {tool}: {reason}"),
        (false, _) => format!("This call of {tool} is not permitted: {reason}."),
    }
}

/// The answer to a use that the person refused (T-24).
pub(super) fn refused(tool: &str, reason: &str) -> String {
    if reason.is_empty() {
        format!("The user refused this call of {tool}.")
    } else {
        format!("The user refused this call of {tool}: {reason}")
    }
}

/// A call that ended without a result (T-25).
pub(super) fn nothing(tool: &str, ended: &ToolOutcome) -> ToolOutcome {
    ToolOutcome {
        content: Json::from_value(&format!("{tool} ended without a result.")),
        is_error: true,
        cause: Some(FailureCause::NoResult),
        ..ended.clone()
    }
}

/// The result of a tool that aborts itself, with its reason (T-32).
pub(super) fn with_reason(outcome: &ToolOutcome, reason: &str) -> ToolOutcome {
    if reason.is_empty() {
        return outcome.clone();
    }
    ToolOutcome { content: result::with_note(&outcome.content, &format!("The call ended the turn: {reason}")), ..outcome.clone() }
}

/// The input of hooks after a call (T-26).
pub(super) fn post_hook_input(input: &Json, outcome: &ToolOutcome) -> Json {
    Json::trusted(format!(r#"{{"input":{input},"result":{},"is_error":{}}}"#, outcome.content, outcome.is_error))
}

/// Why hooks decided as they did.
pub(super) fn reasons(reasons: &[Arc<str>]) -> String {
    if reasons.is_empty() { String::from("a hook asks for it") } else { reasons.join("; ") }
}
