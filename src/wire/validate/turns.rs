//! The API's rules for a conversation: roles, content, tool uses and their results (N-6).

use super::super::block::{Block, BlockKind, Message, Role, ToolUse};
use super::super::models::{ModelFacts, ModelGeneration};
use super::Refusal;
use crate::prelude::*;
use crate::raw_json::RawObject;

/// Every message from `start` on says something, and says it as its role may.
pub(super) fn content(messages: &[Arc<Message>], start: usize) -> Option<Refusal> {
    if messages.is_empty() {
        return Some(Refusal::invalid("no_messages", "messages: at least one message is required")); // plausible
    }
    let last = messages.len() - 1;
    (start..).zip(&messages[start..]).find_map(|(index, message)| {
        let is_final_answer = index == last && message.role == Role::Assistant;
        if message.content.is_empty() && !is_final_answer {
            return Some(empty(index));
        }
        (0..).zip(&message.content).find_map(|(position, block)| block_refusal(index, position, message, block))
    })
}

/// A message that says nothing.
pub(super) fn empty(index: usize) -> Refusal {
    let text = format!("messages.{index}: all messages must have non-empty content except for the optional final assistant message");
    Refusal::invalid("empty_content", text)
}

fn block_refusal(index: usize, position: usize, message: &Message, block: &Block) -> Option<Refusal> {
    match (block.kind(), message.role) {
        (BlockKind::Text(text), _) if text.is_empty() => {
            Some(Refusal::invalid("empty_text", "messages: text content blocks must be non-empty")) // plausible
        }
        // The API itself puts a blank between the citations of a search, and takes it back.
        (BlockKind::Text(text), _) if text.trim().is_empty() && !message.content.iter().any(is_of_server_tool) => {
            Some(Refusal::invalid("blank_text", "messages: text content blocks must contain non-whitespace text")) // plausible
        }
        (BlockKind::ToolUse(_), Role::User | Role::System) => Some(misplaced(index, position, "tool_use", "assistant")),
        (BlockKind::Thinking { .. } | BlockKind::RedactedThinking, Role::User | Role::System) => {
            Some(misplaced(index, position, "thinking", "assistant"))
        }
        (BlockKind::ToolResult { .. }, Role::Assistant | Role::System) => Some(misplaced(index, position, "tool_result", "user")),
        (BlockKind::ToolUse(tool_use), Role::Assistant) if !is_id(&tool_use.id) => {
            let text = format!("messages.{index}.content.{position}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'");
            Some(Refusal::invalid("tool_use_id", text)) // plausible
        }
        (BlockKind::ToolUse(tool_use), Role::Assistant) => tool_use_problem(tool_use, block)
            .map(|problem| Refusal::invalid("tool_use_member", format!("messages.{index}.content.{position}.tool_use.{problem}"))),
        _ => None,
    }
}

/// A member of a tool use that is missing or empty, with what is wrong.
fn tool_use_problem(tool_use: &ToolUse, block: &Block) -> Option<&'static str> {
    let lacks = |member: &str| RawObject::parse(block.json().as_str()).is_ok_and(|members| members.get(member).is_none());
    match () {
        () if tool_use.name.is_empty() && lacks("name") => Some("name: Field required"), // plausible
        () if tool_use.name.is_empty() => Some("name: String should have at least 1 character"),
        () if tool_use.input.as_str() == "{}" && lacks("input") => Some("input: Field required"), // plausible
        () => None,
    }
}

/// A tool use that the API itself answers, or its answer.
fn is_of_server_tool(block: &Block) -> bool {
    matches!(block.kind(), BlockKind::Other(kind) if matches!(&**kind, "server_tool_use" | "mcp_tool_use") || kind.ends_with("_tool_result"))
}

fn misplaced(index: usize, position: usize, block: &str, role: &str) -> Refusal {
    let text = format!("messages.{index}.content.{position}: `{block}` blocks can only be in `{role}` messages"); // plausible
    Refusal::invalid("misplaced_block", text)
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The places of system messages and thinking from `start` on, and the last role.
pub(super) fn order(messages: &[Arc<Message>], start: usize, facts: Option<&ModelFacts>, thinking_is_enabled: bool) -> Option<Refusal> {
    if messages[start..].iter().any(|message| message.role == Role::System) {
        let system = system_messages(messages, start, facts);
        if system.is_some() {
            return system;
        }
    }
    let last = messages.last().filter(|last| last.role == Role::Assistant);
    last.and_then(|last| prefill_refusal(last, facts)).or_else(|| thinking_refusal(messages, start, thinking_is_enabled))
}

/// System messages among the others: newer models take them after a user turn or the answer of a server tool, at the end or before an answer.
fn system_messages(messages: &[Arc<Message>], start: usize, facts: Option<&ModelFacts>) -> Option<Refusal> {
    if facts.is_some_and(|facts| facts.generation < ModelGeneration::Four7) {
        let text = "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input \
                    message role.";
        return Some(Refusal::invalid("system_role", text)); // plausible
    }
    (start..).zip(&messages[start..]).filter(|(_, message)| message.role == Role::System).find_map(|(index, _): (usize, _)| {
        let before = index.checked_sub(1).map(|before| &messages[before]);
        let follows = before.is_some_and(|before| match before.role {
            Role::User | Role::System => true,
            Role::Assistant => before.content.last().is_some_and(is_of_server_tool),
        });
        let fits = follows && messages.get(index + 1).is_none_or(|after| after.role != Role::User);
        let text =
            format!("messages.{index}: a `system` message must follow a `user` message and be last or followed by an `assistant` message");
        (!fits).then(|| Refusal::invalid("system_place", text)) // plausible
    })
}

/// A conversation that ends with words of the model's asks it to continue from them. A paused answer (server tools, compaction) is no prefill.
fn prefill_refusal(last: &Message, facts: Option<&ModelFacts>) -> Option<Refusal> {
    let is_paused = last.content.iter().any(|block| matches!(block.kind(), BlockKind::Other(_)));
    if !is_paused && facts.is_some_and(|facts| facts.generation >= ModelGeneration::Four6) {
        let text = "This model does not support assistant message prefill. The conversation must end with a user message.";
        return Some(Refusal::invalid("prefill", text));
    }
    match last.content.last().map(Block::kind) {
        Some(BlockKind::Text(text)) if text.ends_with(char::is_whitespace) => {
            let text = "messages: final assistant content cannot end with trailing whitespace";
            Some(Refusal::invalid("trailing_whitespace", text)) // plausible
        }
        _ => None,
    }
}

/// An answer does not end in thinking; where thinking is on, the one that asked for the tools that are answered last begins with it.
fn thinking_refusal(messages: &[Arc<Message>], start: usize, is_enabled: bool) -> Option<Refusal> {
    for (index, answer) in (start..).zip(&messages[start..]).filter(|(_, message)| message.role == Role::Assistant) {
        let continues = messages.get(index + 1).is_some_and(|next: &Arc<Message>| next.role == Role::Assistant);
        if !continues && let Some(last) = answer.content.last().filter(|block| block.is_thinking()) {
            let kind = if matches!(last.kind(), BlockKind::RedactedThinking) { "redacted_thinking" } else { "thinking" };
            let text = format!("messages.{index}: The final block in an assistant message cannot be `{kind}`.");
            return Some(Refusal::invalid("ends_in_thinking", text)); // plausible
        }
    }
    if !is_enabled {
        return None;
    }
    let index = messages.iter().rposition(|message| message.role == Role::Assistant)?;
    let is_tool_loop = messages[index + 1..].iter().any(|message| message.content.iter().any(is_result));
    // Neighbours of the same role are one turn: it begins with the first of them.
    let first = messages[..=index].iter().rposition(|message| message.role != Role::Assistant).map_or(0, |before| before + 1);
    let found = messages[first].content.first().filter(|block| !block.is_thinking()).filter(|_| is_tool_loop)?;
    let text = format!(
        "messages.{first}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final \
         `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend \
         you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.",
        kind_of(found)
    );
    Some(Refusal::invalid("thinking_missing", text)) // plausible
}

fn kind_of(block: &Block) -> &str {
    match block.kind() {
        BlockKind::Text(_) => "text",
        BlockKind::Thinking { .. } => "thinking",
        BlockKind::RedactedThinking => "redacted_thinking",
        BlockKind::ToolUse(_) => "tool_use",
        BlockKind::ToolResult { .. } => "tool_result",
        BlockKind::Other(kind) => kind,
    }
}

fn is_result(block: &Block) -> bool {
    matches!(block.kind(), BlockKind::ToolResult { .. })
}

/// The tool uses of the turn that is looked at.
#[derive(Default)]
struct OpenToolUses<'a> {
    /// Where the answer is that asked for them.
    index: usize,
    /// Their ids, each with whether its result is there.
    uses: Vec<(&'a str, bool)>,
}

/// Every tool use has one result, at the beginning of the turn after it, and no result is there without its use.
pub(super) fn pairs(messages: &[Arc<Message>], start: usize) -> Option<Refusal> {
    let mut open = OpenToolUses::default();
    let mut answers = false;
    // Whether only results came in this turn so far: what comes behind anything else is not where the API looks for it.
    let mut leads = true;
    for (index, message) in (start..).zip(&messages[start..]) {
        let is_answer = message.role == Role::Assistant;
        if is_answer != answers {
            if is_answer {
                let missing = open.missing();
                if missing.is_some() {
                    return missing;
                }
                open.uses.clear();
            }
            (answers, leads) = (is_answer, true);
        }
        for (position, block) in (0..).zip(&message.content) {
            match block.kind() {
                BlockKind::ToolUse(tool_use) => {
                    open.index = index;
                    open.uses.push((&tool_use.id, false));
                }
                BlockKind::ToolResult { tool_use_id, .. } => {
                    let refusal = open.answer(tool_use_id, leads, index, position);
                    if refusal.is_some() {
                        return refusal;
                    }
                }
                _ => leads = false,
            }
        }
    }
    open.missing()
}

impl<'a> OpenToolUses<'a> {
    fn answer(&mut self, id: &'a str, leads: bool, index: usize, position: usize) -> Option<Refusal> {
        match self.uses.iter_mut().find(|(known, _)| *known == id) {
            None => {
                let text = format!(
                    "messages.{index}.content.{position}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
                     must have a corresponding `tool_use` block in the previous message."
                );
                Some(Refusal::invalid("unexpected_tool_result", text))
            }
            Some((_, true)) => {
                let text = format!(
                    "messages.{index}.content.{position}: each `tool_use` must have a single result. Found multiple `tool_result` blocks with id: {id}"
                );
                Some(Refusal::invalid("second_tool_result", text)) // plausible
            }
            Some((_, answered)) => {
                *answered = leads;
                None
            }
        }
    }

    fn missing(&self) -> Option<Refusal> {
        let missing: Vec<&str> = self.uses.iter().filter(|(_, answered)| !answered).map(|(id, _)| *id).collect();
        (!missing.is_empty()).then(|| {
            let text = format!(
                "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a \
                 corresponding `tool_result` block in the next message.",
                self.index,
                missing.join(", ")
            );
            Refusal::invalid("missing_tool_result", text)
        })
    }
}

/// No two tool uses of a turn have the same id. A later turn may use it again: its results are there before.
pub(super) fn unique(messages: &[Arc<Message>], start: usize) -> Option<Refusal> {
    let mut seen: Vec<&str> = Vec::new();
    for (index, message) in (start..).zip(&messages[start..]) {
        if message.role != Role::Assistant {
            seen.clear();
        }
        for (position, block) in (0_usize..).zip(&message.content) {
            let Some(tool_use) = block.as_tool_use() else { continue };
            if seen.contains(&&*tool_use.id) {
                let text = format!("messages.{index}.content.{position}: `tool_use` ids must be unique");
                return Some(Refusal::invalid("duplicate_tool_use", text));
            }
            seen.push(&tool_use.id);
        }
    }
    None
}
