//! Rules of histories, stored or sent: pure functions. Each returns the violations of its rule.

mod claims;
mod losses;
mod results;
mod validity;

use core::fmt;

pub use claims::{StartedCall, claims, tells_of_stop};
pub use losses::{ReceivedContent, ReceivedKind, losses};
pub use results::{HistoryEnd, results};
pub use validity::validity;

use super::conversation::StoredMessage;
use reenact_wire::block::{BlockKind, Role};
use reenact_wire::prelude::*;

/// A history that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryViolation {
    /// The rule's id.
    pub rule: &'static str,
    /// The tool call that it is about.
    pub call: Option<Arc<str>>,
    /// A sentence with all places.
    pub text: String,
}

impl HistoryViolation {
    fn new(rule: &'static str, call: Option<&str>, text: String) -> Self {
        Self { rule, call: call.map(Arc::from), text }
    }
}

/// `O-1: tool call toolu_1 of line 7 has no result; the next user message stands at line 8`.
impl fmt::Display for HistoryViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.text)
    }
}

/// The ids of the calls in messages, in their order.
pub fn call_ids(messages: &[StoredMessage]) -> impl Iterator<Item = &Arc<str>> {
    let answers = messages.iter().filter(|message| message.role == Role::Assistant);
    answers.flat_map(|message| &message.blocks).filter_map(|block| block.block.as_tool_use()).map(|call| &call.id)
}

/// The ids that results in messages name, in their order.
pub fn result_ids(messages: &[StoredMessage]) -> impl Iterator<Item = &Arc<str>> {
    messages.iter().flat_map(|message| &message.blocks).filter_map(|block| match block.block.kind() {
        BlockKind::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    })
}

/// The results in messages: the call of each, its text, and whether it is an error.
pub fn result_texts(messages: &[StoredMessage]) -> impl Iterator<Item = (&Arc<str>, String, bool)> {
    messages.iter().flat_map(|message| &message.blocks).filter_map(|block| match block.block.kind() {
        BlockKind::ToolResult { tool_use_id, is_error } => Some((tool_use_id, block.block.result_text().unwrap_or_default(), *is_error)),
        _ => None,
    })
}

/// A text for a sentence, cut.
#[doc(hidden)]
pub fn quoted(text: &str) -> String {
    /// Enough to find it by.
    const SHOWN_MAX: usize = 60;
    let text = joined_words(text);
    match text.char_indices().nth(SHOWN_MAX) {
        None => format!("“{text}”"),
        Some((end, _)) => format!("“{}…”", &text[..end]),
    }
}

#[cfg(test)]
mod tests;
