//! Rules of histories, stored or sent: pure functions. Each returns the violations of its rule.

mod claims;
mod losses;
mod results;
mod validity;

use core::fmt;

pub use claims::{StartedCall, claims, tells_of_stop};
pub use losses::{ReceivedContent, ReceivedKind, losses};
pub use results::{HistoryEnd, results};
pub(crate) use validity::refused_place;
pub use validity::validity;

use super::conversation::{HistoryPlace, StoredMessage};
use reenact_wire::block::{BlockKind, Role};
use reenact_wire::prelude::*;

words! {
    /// The ways in which a history can be wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ViolationKind {
        /// A tool call has no result.
        DanglingCall = "dangling-call",
        /// The result of a call comes behind later messages.
        LateResult = "late-result",
        /// Something is said between a call and its result.
        TextBeforeResult = "text-before-result",
        /// A call has two results or more.
        DoubledResult = "doubled-result",
        /// An answer has two calls with one id.
        DoubledCall = "doubled-call",
        /// A result has no call.
        ResultWithoutCall = "result-without-call",
        /// A compaction took the call and kept its result.
        CutPair = "cut-pair",
        /// A block stands in a message of the wrong role.
        MisplacedBlock = "misplaced-block",
        /// A text is blank, or a message says nothing.
        BlankText = "blank-text",
        /// A part of the file cannot be read, although others stand behind it.
        UnreadPart = "unread-part",
        /// The API refuses it for another reason.
        Refused = "refused",
        /// A result says that a tool never ran which was started.
        DeniedStart = "denied-start",
        /// Something that had come is nowhere later.
        Lost = "lost",
    }
}

/// A history that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryViolation {
    /// The rule's id.
    pub rule: &'static str,
    /// The way in which it is wrong.
    pub kind: ViolationKind,
    /// The tool call that it is about.
    pub call: Option<Arc<str>>,
    /// The places that it is about: that of the call or of the block first.
    pub places: Vec<HistoryPlace>,
    /// A sentence with all places.
    pub text: String,
}

impl HistoryViolation {
    pub(super) fn new(rule: &'static str, kind: ViolationKind, call: Option<&str>, places: Vec<HistoryPlace>, text: String) -> Self {
        Self { rule, kind, call: call.map(Arc::from), places, text }
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
