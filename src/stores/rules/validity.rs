//! O-10: the API takes the history, as far as its messages alone can tell.

use super::super::conversation::StoredMessage;
use super::HistoryViolation;
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::validate::{ValidationContext, refusal};

/// Refusals that are another rule's matter, or cannot be seen in a stored history.
const OTHERS: [&str; 2] = ["duplicate_tool_use", "request_too_large"];

/// The refusal of the API, by the first thing that it would name. Results are [`super::results`]' matter.
pub fn validity(messages: &[StoredMessage]) -> Vec<HistoryViolation> {
    let said: Vec<(&StoredMessage, Message)> = messages.iter().filter_map(|message| Some((message, sent(message)?))).collect();
    let mut request = Request::new("", 1);
    request.messages = said.iter().map(|(_, message)| Arc::new(message.clone())).collect();
    // The prompt that goes on with it: how a history ends is nobody's mistake.
    request.messages.push(Arc::new(Message::user(vec![Block::text("Go on.")])));
    let rules = ValidationContext { pairs: false, thinking: false, ..ValidationContext::default() };
    let refused = refusal(&request, &rules).filter(|refusal| !OTHERS.contains(&refusal.name));
    let violation = refused.map(|refusal| {
        let place = place(&refusal.message, &said);
        HistoryViolation::new("O-10", None, format!("the API refuses the history{place}: {}", refusal.message))
    });
    violation.into_iter().collect()
}

/// The message without what clients leave out as they send it: blank texts. `None` where nothing is left.
fn sent(message: &StoredMessage) -> Option<Message> {
    let is_blank = |block: &Block| matches!(block.kind(), BlockKind::Text(text) if text.trim().is_empty());
    let mut message = message.to_message();
    message.content.retain(|block| !is_blank(block));
    (!message.content.is_empty()).then_some(message)
}

/// Where the message stands that a refusal names as `messages.N`.
fn place(refusal: &str, said: &[(&StoredMessage, Message)]) -> String {
    let digits =
        refusal.strip_prefix("messages.").map(|rest| rest.split(|character: char| !character.is_ascii_digit()).next().unwrap_or_default());
    let message = digits.and_then(|digits| said.get(digits.parse::<usize>().ok()?));
    message.map(|(message, _)| format!(" for {}", message.place)).unwrap_or_default()
}
