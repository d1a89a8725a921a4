//! A content block between its start and its stop (N-3).
//!
//! Kept apart from the [`Assembler`](super::assembler::Assembler) because it knows members and JSON, and nothing of order.

use super::{
    block::{Block, BlockKind, ToolInput, ToolUse},
    event::Delta,
    json::{Json, push_string},
    order::Violation,
    raw::{self, Object},
};
use crate::prelude::*;

/// The block object as it started, and what its deltas have brought.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Partial {
    kind: Arc<str>,
    start: Arc<str>,
    text: String,
    thinking: String,
    input: String,
    signature: Option<Arc<str>>,
    citations: Vec<Arc<str>>,
    compaction: Option<Arc<str>>,
}

/// The delta does not belong here; nothing was changed.
#[derive(Debug)]
pub(super) struct NotAdded;

impl Partial {
    /// A block that begins with the object `start`, whose `type` is `kind`.
    pub(super) fn new(kind: &str, start: &str) -> Self {
        Self {
            kind: kind.into(),
            start: start.into(),
            text: String::new(),
            thinking: String::new(),
            input: String::new(),
            signature: None,
            citations: Vec::new(),
            compaction: None,
        }
    }

    /// Whether its deltas are a tool's input.
    pub(super) fn is_tool_use(&self) -> bool {
        matches!(&*self.kind, "tool_use" | "server_tool_use" | "mcp_tool_use")
    }

    /// Adds a delta. Text, thinking and input append, citations are collected, signature and compaction overwrite.
    pub(super) fn add(&mut self, delta: &Delta<'_>) -> Result<(), NotAdded> {
        if !self.takes(delta) {
            return Err(NotAdded);
        }
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Thinking(thinking) => self.thinking.push_str(thinking),
            Delta::InputJson(json) => self.input.push_str(json),
            Delta::Signature(signature) => self.signature = Some(Arc::from(&**signature)),
            Delta::Citation(citation) => self.citations.push(Arc::from(&**citation)),
            Delta::Compaction(members) => self.compaction = Some(Arc::from(&**members)),
            Delta::Unknown { .. } => return Err(NotAdded),
        }
        Ok(())
    }

    /// What it is called that a delta was not added.
    pub(super) fn refusal(delta: &Delta<'_>) -> Violation {
        match delta {
            Delta::Unknown { .. } => Violation::UnknownDelta,
            _ => Violation::DeltaKindMismatch,
        }
    }

    /// Known kinds take the deltas that the API has for them, or none; a kind that is not known takes every delta that is.
    fn takes(&self, delta: &Delta<'_>) -> bool {
        match &*self.kind {
            "text" => matches!(delta, Delta::Text(_) | Delta::Citation(_)),
            "thinking" => matches!(delta, Delta::Thinking(_) | Delta::Signature(_)),
            "compaction" => matches!(delta, Delta::Compaction(_)),
            "redacted_thinking" => false,
            _ if self.is_tool_use() => matches!(delta, Delta::InputJson(_)),
            kind => !kind.ends_with("_tool_result"), // these arrive whole in their start
        }
    }

    /// The complete block.
    pub(super) fn finish(&self) -> Block {
        // The decoder let in only a text that is an object, so this cannot fail; passing the start on is the least surprise if it did.
        let Ok(start) = Object::parse(&self.start) else { return Block::from(Json::trusted(&*self.start)) };
        let (text, thinking) = (whole(&start, "text", &self.text), whole(&start, "thinking", &self.thinking));
        let input = self.tool_input(&start);
        let mut edits: Vec<(&str, String)> = Vec::new();
        if !self.text.is_empty() {
            edits.push(("text", quoted(&text)));
        }
        if !self.thinking.is_empty() {
            edits.push(("thinking", quoted(&thinking)));
        }
        if let Some(signature) = &self.signature {
            edits.push(("signature", quoted(signature)));
        }
        if let Some(input) = self.outgoing_input(&start, &input) {
            edits.push(("input", input));
        }
        if !self.citations.is_empty() {
            edits.push(("citations", self.all_citations(&start)));
        }
        let compaction = self.compaction.as_deref().and_then(|delta| Object::parse(delta).ok());
        for (key, value) in compaction.iter().flat_map(Object::members).filter(|(key, _)| *key != "type") {
            edits.push((key, value.into()));
        }
        let json = Json::trusted(if edits.is_empty() { (*self.start).to_owned() } else { start.with(&edits) });
        let member = |key| start.string(key).unwrap_or_default();
        let kind = match &*self.kind {
            "text" => BlockKind::Text(text.into()),
            "thinking" => BlockKind::Thinking {
                thinking: thinking.into(),
                signature: self.signature.clone().unwrap_or_else(|| member("signature").into()),
            },
            "tool_use" => BlockKind::ToolUse(ToolUse { id: member("id").into(), name: member("name").into(), input }),
            _ => return Block::from(json),
        };
        Block::assembled(kind, json)
    }

    /// The input as the model wrote it. What came with the start counts when no delta brought anything; `{}` when that is missing too.
    fn tool_input(&self, start: &Object<'_>) -> ToolInput {
        match (&*self.input, Object::parse(&self.input)) {
            ("", _) => ToolInput::Valid(Json::trusted(start.present("input").unwrap_or("{}"))),
            (text, Ok(_)) => ToolInput::Valid(Json::trusted(text)),
            (text, Err(error)) => ToolInput::Invalid { text: text.into(), error: error.to_string().into() },
        }
    }

    /// What replaces the start's `input`. The API takes objects only, so text that is none goes back inside one.
    fn outgoing_input(&self, start: &Object<'_>, input: &ToolInput) -> Option<String> {
        match input {
            ToolInput::Invalid { text, .. } => Some(format!(r#"{{"INVALID_JSON":{}}}"#, quoted(text))),
            ToolInput::Valid(json) if !self.input.is_empty() => Some(json.as_str().into()),
            ToolInput::Valid(_) => (self.is_tool_use() && start.present("input").is_none()).then(|| "{}".into()),
        }
    }

    fn all_citations(&self, start: &Object<'_>) -> String {
        let earlier = start.get("citations").and_then(|list| raw::elements(list).ok()).unwrap_or_default();
        let all: Vec<&str> = earlier.into_iter().chain(self.citations.iter().map(|citation| &**citation)).collect();
        format!("[{}]", all.join(","))
    }
}

/// What the start says with what the deltas added.
fn whole(start: &Object<'_>, key: &str, added: &str) -> String {
    start.string(key).unwrap_or_default().into_owned() + added
}

fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_string(&mut json, text);
    json
}
