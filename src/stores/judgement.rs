//! One stored conversation judged: what is broken, by what mechanism, and what the API would answer to the next request (V-9).
//!
//! The file is judged, not its client: many clients repair a history as they send it. What clients are known to leave out of every request breaks nothing.

use reenact_wire::block::{Block, BlockKind, Message, Role};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::validate::{Refusal, ValidationContext, refusal};

use super::conversation::{HistoryDialect, HistoryPlace, StoredConversation, StoredMessage};
use super::mechanism::mechanism;
use super::rules::{HistoryEnd, HistoryViolation, ViolationKind, call_ids, refused_place, results};
use super::{StoreFormat, content};

/// When a session was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionAge {
    /// So lately that its agent may still run its last tools.
    Recent,
    /// Before that.
    Settled,
}

/// All that is to be said of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConversationJudgement {
    /// The findings, in the order of the messages.
    pub findings: Vec<SessionFinding>,
    /// Calls at the end of a session whose agent may still run them.
    pub open_calls: Vec<String>,
    /// Observations that break nothing.
    pub remarks: Vec<String>,
    /// The answer of the Messages API to the next request, where it refuses it.
    pub refusal: Option<NextRefusal>,
}

/// Something that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFinding {
    /// The broken rule.
    pub violation: HistoryViolation,
    /// How it probably came about.
    pub mechanism: &'static str,
    /// The tools of the answer that it is about, in the order of their calls, each with whether its result is there.
    pub tools: Vec<(Arc<str>, bool)>,
    /// Whether it is about an empty text of an answer that says more.
    pub is_empty_text: bool,
}

/// The API's refusal of the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextRefusal {
    /// The status and the words.
    pub refusal: Refusal,
    /// The message that it names.
    pub place: Option<HistoryPlace>,
}

/// Judges a conversation as the model would be shown it.
pub fn judge(conversation: &StoredConversation, format: StoreFormat, age: SessionAge) -> ConversationJudgement {
    let context = &*without_left_out(conversation.context(), format);
    let mut judgement = ConversationJudgement { remarks: blank_remarks(conversation, format), ..ConversationJudgement::default() };
    let mut violations = Vec::new();
    let open_end = results(context, format.dialect(), HistoryEnd::Open);
    for violation in results(context, format.dialect(), HistoryEnd::Closed) {
        if age == SessionAge::Recent && !open_end.contains(&violation) {
            judgement.open_calls.push(format!("{}, and its agent may still be running", violation.text));
        } else {
            violations.push(violation);
        }
    }
    name_cut_pairs(conversation, &mut violations);
    if format.dialect() == HistoryDialect::Messages {
        let misplaced = misplaced(context);
        // A result in an answer is not one without a call, too.
        violations.retain(|violation| !misplaced.iter().any(|block| block.places == violation.places && block.call == violation.call));
        violations.extend(misplaced);
        let empty_texts_sent = conversation.empty_texts_sent.as_deref();
        violations.extend(blank(context, format, empty_texts_sent));
        judgement.refusal = next_refusal(context, format, empty_texts_sent.is_some(), &violations);
        violations.extend(judgement.refusal.as_ref().filter(|_| violations.is_empty()).map(|refused| refused.violation()));
    }
    for damage in conversation.remarks.damages() {
        let places = vec![damage.place.clone()];
        violations.push(HistoryViolation::new("V-9", ViolationKind::UnreadPart, None, places, format!("{damage}; readers may stop there")));
    }
    violations.sort_by(|one, other| one.places.first().cmp(&other.places.first()));
    let finding = |violation| {
        let tools = tools_beside(context, &violation);
        SessionFinding {
            mechanism: mechanism(conversation, &violation),
            tools,
            is_empty_text: is_empty_text(context, &violation),
            violation,
        }
    };
    judgement.findings = violations.into_iter().map(finding).collect();
    judgement
}

/// A result whose call was compacted is another matter than one that never had a call.
fn name_cut_pairs(conversation: &StoredConversation, violations: &mut [HistoryViolation]) {
    if !violations.iter().any(|violation| violation.kind == ViolationKind::ResultWithoutCall) {
        return;
    }
    let compacted = conversation.messages.get(..conversation.context_from).unwrap_or_default();
    let compacted: alloc::collections::BTreeSet<&Arc<str>> = call_ids(compacted).collect();
    for violation in violations.iter_mut().filter(|violation| violation.kind == ViolationKind::ResultWithoutCall) {
        if let (Some(call), Some(place)) = (violation.call.as_ref().filter(|call| compacted.contains(call)), violation.places.first()) {
            violation.text = format!("{place} has a result of {call}, whose call stands before the compaction and is no longer shown");
            violation.kind = ViolationKind::CutPair;
        }
    }
}

/// Blocks in messages of the wrong role.
fn misplaced(messages: &[StoredMessage]) -> Vec<HistoryViolation> {
    let mut found = Vec::new();
    for (role, block) in messages.iter().flat_map(|message| message.blocks.iter().map(|block| (message.role, block))) {
        let (what, call) = match (block.block.kind(), role) {
            (BlockKind::ToolUse(call), Role::User | Role::System) => ("tool_use", Some(&call.id)),
            (BlockKind::ToolResult { tool_use_id, .. }, Role::Assistant | Role::System) => ("tool_result", Some(tool_use_id)),
            (BlockKind::Thinking { .. } | BlockKind::RedactedThinking, Role::User | Role::System) => ("thinking", None),
            _ => continue,
        };
        let text = format!("{} has a block `{what}` in a message of the role {}", block.place, role.as_str());
        let places = vec![block.place.clone()];
        found.push(HistoryViolation::new("O-10", ViolationKind::MisplacedBlock, call.map(|id| &**id), places, text));
    }
    found
}

/// The messages that are sent: without those that the agent leaves out because all their texts are blank.
fn without_left_out(context: &[StoredMessage], format: StoreFormat) -> Cow<'_, [StoredMessage]> {
    let is_left_out = |message: &StoredMessage| {
        let is_all_blank = !message.blocks.is_empty() && message.blocks.iter().all(|block| is_blank(&block.block));
        is_all_blank && leaves_out_blanks(format, message.role)
    };
    if context.iter().any(is_left_out) {
        Cow::Owned(context.iter().filter(|message| !is_left_out(message)).cloned().collect())
    } else {
        Cow::Borrowed(context)
    }
}

/// Texts without words, and messages that say nothing.
fn blank(messages: &[StoredMessage], format: StoreFormat, empty_texts_sent: Option<&str>) -> Vec<HistoryViolation> {
    let mut found = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut blank = message.blocks.iter().filter(|block| is_blank(&block.block));
        let is_last = index + 1 == messages.len();
        let (first, text) = match (message.blocks.len(), blank.clone().next()) {
            (0, _) if !is_last && sends_empty_messages(format, message.role) => {
                (&message.place, format!("{} is a message of the {} that says nothing", message.place, message.role.as_str()))
            }
            (_, None) => continue,
            (_, Some(_)) if leaves_out_blanks(format, message.role) => {
                let evidence = empty_texts_sent.filter(|_| message.role == Role::Assistant && message.says_something());
                let empty = blank.find(|block| is_empty(&block.block));
                let (Some(evidence), Some(first)) = (evidence, empty) else { continue };
                (&first.place, format!("{} has an empty text in an answer; {evidence}", first.place))
            }
            (all, Some(first)) if all == blank.count() => {
                (&first.place, format!("{} is a message of the {} with a blank text and nothing else", first.place, message.role.as_str()))
            }
            (_, Some(first)) => (&first.place, format!("{} has a blank text in a message of the {}", first.place, message.role.as_str())),
        };
        found.push(HistoryViolation::new("O-10", ViolationKind::BlankText, None, vec![first.clone()], text));
    }
    found
}

/// Remarks on blank texts that break nothing.
fn blank_remarks(conversation: &StoredConversation, format: StoreFormat) -> Vec<String> {
    let mut remarks = Vec::new();
    let (mut left_out, mut empty) = (0, None);
    for message in conversation.context().iter().filter(|message| leaves_out_blanks(format, message.role)) {
        let is_kept = |block: &Block| format == StoreFormat::ClaudeCode && is_empty(block) && message.says_something();
        let kept = message.blocks.iter().find(|block| is_kept(&block.block));
        empty = empty.or_else(|| kept.map(|block| &block.place).filter(|_| conversation.empty_texts_sent.is_none()));
        let is_left_out = |block: &Block| is_blank(block) && !(conversation.empty_texts_sent.is_some() && is_kept(block));
        left_out += message.blocks.iter().filter(|block| is_left_out(&block.block)).count();
    }
    if left_out > 0 {
        remarks.push(format!("{}, which the agent leaves out when it asks", plural(left_out as u64, "blank text")));
    }
    if let Some(place) = empty {
        remarks.push(format!(
            "{place} has an empty text: Claude Code before 2.1.329 sends it back, as far as is known, and the API refuses it"
        ));
    }
    remarks
}

fn is_blank(block: &Block) -> bool {
    matches!(block.kind(), BlockKind::Text(text) if text.trim().is_empty())
}

fn is_empty(block: &Block) -> bool {
    matches!(block.kind(), BlockKind::Text(text) if text.is_empty())
}

/// Whether the agent would send a message that has no blocks. Claude Code puts words into an answer that has none.
fn sends_empty_messages(format: StoreFormat, role: Role) -> bool {
    match format {
        StoreFormat::Continue | StoreFormat::Cline => true,
        StoreFormat::ClaudeCode => role != Role::Assistant,
        _ => false,
    }
}

/// Whether the agent is known to leave out the blank texts of such messages, and messages without anything else. Models begin answers with some.
fn leaves_out_blanks(format: StoreFormat, role: Role) -> bool {
    match format {
        StoreFormat::ClaudeCode => role == Role::Assistant,
        StoreFormat::Pi => true,
        _ => false,
    }
}

/// Whether the agent is known to turn the ids of calls into ids that the API takes. Other APIs give ids with dots and bars.
fn rewrites_ids(format: StoreFormat) -> bool {
    matches!(format, StoreFormat::Pi | StoreFormat::Opencode)
}

fn rewrite_id(block: &mut Block) {
    let is_letter = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let rewritten = |id: &str| id.contains(|character| !is_letter(character)).then(|| id.replace(|character| !is_letter(character), "_"));
    let of_call = block.as_tool_use().and_then(|call| Some(content::tool_use(&rewritten(&call.id)?, &call.name, "{}")));
    let of_result = match block.kind() {
        BlockKind::ToolResult { tool_use_id, is_error } => rewritten(tool_use_id).map(|id| content::tool_result(&id, "", *is_error)),
        _ => None,
    };
    if let Some(changed) = of_call.or(of_result) {
        *block = changed;
    }
}

/// The API's refusal of the history and one more prompt.
fn next_refusal(
    context: &[StoredMessage],
    format: StoreFormat,
    are_empty_texts_sent: bool,
    violations: &[HistoryViolation],
) -> Option<NextRefusal> {
    let mut sent: Vec<(&StoredMessage, Message)> = Vec::new();
    for (index, message) in context.iter().enumerate() {
        let is_answer = message.role == Role::Assistant;
        let mut whole = message.to_message();
        if leaves_out_blanks(format, message.role) {
            let is_sent = |block: &Block| !is_blank(block) || are_empty_texts_sent && is_empty(block) && message.says_something();
            whole.content.retain(is_sent);
            // An answer that was interrupted while the model thought: it is not sent.
            if is_answer && context.get(index + 1).is_none_or(|next| next.role != Role::Assistant) {
                while whole.content.last().is_some_and(Block::is_thinking) {
                    whole.content.pop();
                }
            }
        }
        if rewrites_ids(format) {
            whole.content.iter_mut().for_each(rewrite_id);
        }
        let is_told =
            violations.iter().any(|violation| violation.kind == ViolationKind::BlankText && violation.places.contains(&message.place));
        if !whole.content.is_empty() || is_told {
            sent.push((message, whole));
        }
    }
    let mut request = Request::new("", 1);
    request.messages = sent.iter().map(|(_, message)| Arc::new(message.clone())).collect();
    request.messages.push(Arc::new(Message::user(vec![Block::text("Go on.")])));
    // Without a broken pair the API has nothing to say of them: an open call at the end of a session that still runs is none.
    let rules = ValidationContext {
        pairs: violations.iter().any(|violation| violation.rule != "O-10"),
        thinking: false,
        ..ValidationContext::default()
    };
    let refusal = refusal(&request, &rules).filter(|refusal| refusal.status == 400)?;
    let place = refused_place(&refusal.message, sent.iter().map(|(message, _)| *message));
    Some(NextRefusal { refusal, place })
}

impl NextRefusal {
    /// As a finding of its own, where no rule says more.
    fn violation(&self) -> HistoryViolation {
        let of_place = self.place.iter().map(|place| format!(" for {place}")).collect::<String>();
        let text = format!("the API refuses the history{of_place}: {}", self.refusal.message);
        HistoryViolation::new("O-10", ViolationKind::Refused, None, self.place.clone().into_iter().collect(), text)
    }
}

fn is_empty_text(context: &[StoredMessage], violation: &HistoryViolation) -> bool {
    let blank = violation.places.first().filter(|_| violation.kind == ViolationKind::BlankText);
    let of_answer = |message: &&StoredMessage| message.role == Role::Assistant && message.says_something();
    let mut blocks = context.iter().filter(of_answer).flat_map(|message| &message.blocks);
    blank.is_some_and(|place| blocks.any(|block| block.place == *place && is_empty(&block.block)))
}

/// The tools of the answer whose call is broken.
fn tools_beside(context: &[StoredMessage], violation: &HistoryViolation) -> Vec<(Arc<str>, bool)> {
    let Some(call) = &violation.call else { return Vec::new() };
    let has_call = |message: &&StoredMessage| {
        message.role == Role::Assistant && message.blocks.iter().any(|block| block.block.as_tool_use().is_some_and(|use_| use_.id == *call))
    };
    let Some(at) = context.iter().position(|message| has_call(&message)) else { return Vec::new() };
    // Formats with a call a line have the calls of one answer in several messages.
    let behind = context[at..].iter().take_while(|message| message.role == Role::Assistant).count();
    let before = context[..at].iter().rev().take_while(|message| message.role == Role::Assistant).count();
    let results: Vec<&Arc<str>> = super::rules::result_ids(context.get(at + behind..).unwrap_or_default()).collect();
    let uses = context[at - before..at + behind].iter().flat_map(|message| &message.blocks).filter_map(|block| block.block.as_tool_use());
    uses.map(|tool| (tool.name.clone(), results.contains(&&tool.id))).collect()
}

#[cfg(test)]
mod tests;
