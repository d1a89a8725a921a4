//! O-24: what had come before an interruption is in what comes after it: in a later request, or in the store.

use super::super::conversation::StoredMessage;
use super::{HistoryViolation, ViolationKind, joined_words, quoted, result_ids};
use reenact_wire::prelude::*;

/// Something that an agent had got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedContent {
    /// The content itself.
    pub kind: ReceivedKind,
    /// Where it was seen, to stand behind it in a sentence: `of request 1`.
    pub origin: String,
}

/// A kind of content that an agent can get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceivedKind {
    /// A message of the user.
    Prompt(Arc<str>),
    /// A text of an answer that came whole.
    AnswerText(Arc<str>),
    /// The result of this tool call.
    Result(Arc<str>),
}

/// The content that is in none of the later histories. Texts are compared without regard to blanks, and may stand inside of longer ones: clients wrap them.
pub fn losses(received: &[ReceivedContent], later: &[&[StoredMessage]]) -> Vec<HistoryViolation> {
    let messages = || later.iter().copied().flatten();
    let texts = messages().flat_map(StoredMessage::texts).map(joined_words).collect::<Vec<_>>().join("\n");
    let ids: alloc::collections::BTreeSet<&str> = later.iter().flat_map(|messages| result_ids(messages)).map(|id| &**id).collect();
    let finder = |text: &str| memchr::memmem::find(texts.as_bytes(), joined_words(text).as_bytes()).is_some();
    let mut found = Vec::new();
    for ReceivedContent { kind, origin } in received {
        let (call, what) = match kind {
            ReceivedKind::Prompt(text) if !finder(text) => (None, format!("the user's message {}", quoted(text))),
            ReceivedKind::AnswerText(text) if !finder(text) => (None, format!("the text {}", quoted(text))),
            ReceivedKind::Result(id) if !ids.contains(&**id) => (Some(&**id), format!("the result of tool call {id}")),
            _ => continue,
        };
        let text = format!("{what} {origin} is lost: neither a later request nor the stored session has it");
        found.push(HistoryViolation::new("O-24", ViolationKind::Lost, call, Vec::new(), text));
    }
    found
}
