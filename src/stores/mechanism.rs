//! How a broken session probably came about, as far as the file tells.

use reenact_wire::block::{BlockKind, Role};
use reenact_wire::prelude::*;

use super::conversation::{HistoryPlace, StoredConversation, StoredMessage};
use super::rules::{HistoryViolation, ViolationKind, call_ids, result_texts, tells_of_stop};

/// The words that agents store for the user when they were interrupted.
const INTERRUPTION: &str = "[Request interrupted by user";

/// The likely mechanism, as a sentence without its stop.
pub(super) fn mechanism(conversation: &StoredConversation, violation: &HistoryViolation) -> &'static str {
    let context = conversation.context();
    match violation.kind {
        ViolationKind::DanglingCall => dangling(conversation, violation),
        ViolationKind::LateResult => "the tool ran on after an interrupt, and its result was stored when the conversation had gone on",
        ViolationKind::TextBeforeResult => {
            "a message came while the tool ran, and was stored before the result: an interrupt, a queued prompt or a reminder"
        }
        ViolationKind::DoubledResult => doubled(context, violation),
        ViolationKind::DoubledCall => "the answer was stored twice: by a retry, or once as it streamed and once at its end",
        ViolationKind::ResultWithoutCall if is_first(context, violation) => {
            "the beginning of the conversation was cut off between the call and its result"
        }
        ViolationKind::ResultWithoutCall => {
            "the answer with the call was taken out or never stored: after a failed attempt, a rewind or a crash"
        }
        ViolationKind::CutPair => {
            "the compaction cut between the call and its result: it ran while the tool did, or counted messages and not pairs"
        }
        ViolationKind::MisplacedBlock => "the message was stored under the wrong role: by a converter, or an import from another format",
        ViolationKind::BlankText => blank(context, violation),
        ViolationKind::UnreadPart if has_no_beginning(conversation, violation) => {
            "the beginning was never written, or its file was moved or deleted"
        }
        ViolationKind::UnreadPart => "the writer was killed within a line, or two wrote at once",
        ViolationKind::Refused | ViolationKind::DeniedStart | ViolationKind::Lost => "what is stored is not what a client may send",
    }
}

fn dangling(conversation: &StoredConversation, violation: &HistoryViolation) -> &'static str {
    let context = conversation.context();
    let has_call = |message: &&StoredMessage| {
        violation.call.as_ref().is_some_and(|call| call_ids(core::slice::from_ref(*message)).any(|id| id == call))
    };
    let behind = context.iter().rposition(|message| has_call(&message)).map(|answer| &context[answer + 1..]).unwrap_or_default();
    let next = behind.iter().find(|message| message.role != Role::Assistant);
    let says = |text: &str| next.is_some_and(|next| next.texts().any(|said| said.contains(text)));
    let has_results = next.is_some_and(|next| next.blocks.iter().any(|block| matches!(block.block.kind(), BlockKind::ToolResult { .. })));
    let call = violation.places.first();
    // The result of a neighbour may stand before the call.
    let is_between =
        |place: &HistoryPlace| Some(place) > call && violation.places.get(1).is_none_or(|next| place < next || Some(next) < call);
    let is_torn = conversation.remarks.damages().iter().any(|damage| is_between(&damage.place));
    match () {
        () if is_torn => "the result was written and cannot be read: a line behind the call is damaged",
        () if next.is_none() => "the agent was killed or closed while the tool ran: nothing is stored behind the call",
        () if says(INTERRUPTION) => "the user interrupted while the tool ran, and the agent stored the interrupt without a result",
        () if has_results => {
            "the user interrupted, or the agent was killed, while several tools ran: those that had ended have results, and this one has none"
        }
        () => "the user interrupted, or the agent was killed, while the tool ran, and the next prompt followed",
    }
}

fn doubled(context: &[StoredMessage], violation: &HistoryViolation) -> &'static str {
    let texts: Vec<String> =
        result_texts(context).filter(|(id, ..)| Some(*id) == violation.call.as_ref()).map(|(_, text, _)| text).collect();
    match () {
        () if texts.windows(2).all(|pair| pair[0] == pair[1]) => "a retry or a resume stored the same result once more",
        () if texts.iter().any(|text| tells_of_stop(text)) => "an interrupt made up a result, and the tool's own came later",
        () => "the tool was run twice for one call, and both results were stored",
    }
}

fn is_first(context: &[StoredMessage], violation: &HistoryViolation) -> bool {
    let answers = context.iter().take_while(|message| violation.places.first() != Some(&message.place));
    answers.into_iter().all(|message| message.role != Role::Assistant)
}

fn blank(context: &[StoredMessage], violation: &HistoryViolation) -> &'static str {
    let message = violation.places.first().and_then(|place| message_at(context, place));
    match message.filter(|message| message.role == Role::Assistant) {
        Some(answer) if answer.says_something() => {
            "the model began a part of its answer with no words, and the agent stored the empty text"
        }
        Some(_) => "an answer was cut off before its first words, or the model said nothing, and what had come of it was stored",
        None => "an empty prompt, or a reminder without text, was stored as a message",
    }
}

fn has_no_beginning(conversation: &StoredConversation, violation: &HistoryViolation) -> bool {
    let mut damages = conversation.remarks.damages().iter();
    damages.any(|damage| damage.missing_parent.is_some() && violation.places.first() == Some(&damage.place))
}

fn message_at<'a>(context: &'a [StoredMessage], place: &HistoryPlace) -> Option<&'a StoredMessage> {
    context.iter().find(|message| message.place == *place || message.blocks.iter().any(|block| block.place == *place))
}
