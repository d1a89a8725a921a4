//! Texts for the model and inputs for the hooks of a tool use: pure functions.

use super::super::result;
use crate::contract::{FailureCause, ToolOutcome};
use crate::permission::PermissionWord;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The answer to a use that a hook does not permit (T-23).
pub(super) fn denied_by_hook(texts: &ModelTexts, tool: &str, reason: &str) -> String {
    with_or_without(texts, (TextName::HookDenied, TextName::HookDeniedBecause), tool, reason)
}

/// The answer to a use that a rule, the mode or the tool does not permit (T-24).
pub(super) fn not_permitted(texts: &ModelTexts, tool: &str, reason: &str) -> String {
    texts.say(TextName::NotPermitted, &[("tool", tool), ("reason", reason)])
}

/// The answer to a use that the person refused (T-24).
pub(super) fn refused(texts: &ModelTexts, tool: &str, reason: &str) -> String {
    with_or_without(texts, (TextName::UserRefused, TextName::UserRefusedBecause), tool, reason)
}

fn with_or_without(texts: &ModelTexts, (without, with): (TextName, TextName), tool: &str, reason: &str) -> String {
    texts.say(if reason.is_empty() { without } else { with }, &[("tool", tool), ("reason", reason)])
}

/// A call that ended without a result (T-25).
pub(super) fn nothing(texts: &ModelTexts, tool: &str, ended: &ToolOutcome) -> ToolOutcome {
    ToolOutcome {
        content: Json::from_value(&texts.say(TextName::NoResult, &[("tool", tool)])),
        is_error: true,
        cause: Some(FailureCause::NoResult),
        ..ended.clone()
    }
}

/// The result of a tool that aborts itself, with its reason (T-32).
pub(super) fn with_reason(texts: &ModelTexts, outcome: &ToolOutcome, reason: &str) -> ToolOutcome {
    if reason.is_empty() {
        return outcome.clone();
    }
    let note = texts.say(TextName::AbortedItself, &[("reason", reason)]);
    ToolOutcome { content: result::with_note(&outcome.content, &note), ..outcome.clone() }
}

/// The input of hooks after a call (T-26).
pub(super) fn post_hook_input(input: &Json, outcome: &ToolOutcome) -> Json {
    Json::trusted(format!(r#"{{"input":{input},"result":{},"is_error":{}}}"#, outcome.content, outcome.is_error))
}

/// Why hooks decided as they did; a question says at least that a hook asks for it.
pub(super) fn reasons(word: Option<PermissionWord>, reasons: &[Arc<str>]) -> String {
    if reasons.is_empty() && word == Some(PermissionWord::Ask) { String::from("a hook asks for it") } else { reasons.join("; ") }
}
