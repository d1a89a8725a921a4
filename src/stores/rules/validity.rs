//! O-10: the API takes the history, as far as its messages alone can tell.

use super::super::conversation::{HistoryPlace, StoredMessage};
use super::{HistoryViolation, ViolationKind};
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
        let place = refused_place(&refusal.message, said.iter().map(|(message, _)| *message));
        let of_place = place.iter().map(|place| format!(" for {place}")).collect::<String>();
        let text = format!("the API refuses the history{of_place}: {}", refusal.message);
        HistoryViolation::new("O-10", ViolationKind::Refused, None, place.into_iter().collect(), text)
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

/// Where the message stands that a refusal names as `messages.N`. `sent` are the messages of the request.
pub(crate) fn refused_place<'a>(refusal: &str, mut sent: impl Iterator<Item = &'a StoredMessage>) -> Option<HistoryPlace> {
    let digits = refusal.strip_prefix("messages.")?.split(|character: char| !character.is_ascii_digit()).next()?;
    sent.nth(digits.parse().ok()?).map(|message| message.place.clone())
}
