//! A content block between its start and its stop (N-3).
//!
//! Kept apart from the [`Assembler`](super::assembler::Assembler) because it knows members and JSON, and nothing of order.

use super::{
    block::{Block, BlockKind, ToolInput},
    event::BlockDelta,
    json::{Json, push_string},
    raw_json::{self, RawObject},
};
use crate::prelude::*;

/// The block object as it started, and what its deltas have brought.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct PartialBlock {
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
pub(super) struct MisplacedDelta;

impl PartialBlock {
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
    pub(super) fn add(&mut self, delta: &BlockDelta<'_>) -> Result<(), MisplacedDelta> {
        if !self.accepts(delta) {
            return Err(MisplacedDelta);
        }
        match delta {
            BlockDelta::Text(text) => self.text.push_str(text),
            BlockDelta::Thinking(thinking) => self.thinking.push_str(thinking),
            BlockDelta::InputJson(json) => self.input.push_str(json),
            BlockDelta::Signature(signature) => self.signature = Some(Arc::from(&**signature)),
            BlockDelta::Citation(citation) => self.citations.push(Arc::from(&**citation)),
            BlockDelta::Compaction(members) => self.compaction = Some(Arc::from(&**members)),
            BlockDelta::Unknown { .. } => return Err(MisplacedDelta),
        }
        Ok(())
    }

    /// Known kinds take the deltas that the API has for them, or none; a kind that is not known takes every delta that is.
    fn accepts(&self, delta: &BlockDelta<'_>) -> bool {
        match &*self.kind {
            "text" => matches!(delta, BlockDelta::Text(_) | BlockDelta::Citation(_)),
            "thinking" => matches!(delta, BlockDelta::Thinking(_) | BlockDelta::Signature(_)),
            "compaction" => matches!(delta, BlockDelta::Compaction(_)),
            "redacted_thinking" => false,
            _ if self.is_tool_use() => matches!(delta, BlockDelta::InputJson(_)),
            kind => !kind.ends_with("_tool_result"), // these arrive whole in their start
        }
    }

    /// The complete block: the start's object with the accumulated members put in place.
    pub(super) fn finish(&self) -> Block {
        // The decoder let in only a text that is an object, so this cannot fail; passing the start on is the least surprise if it did.
        let Ok(start) = RawObject::parse(&self.start) else { return Block::from(Json::trusted(&*self.start)) };
        let mut edits: Vec<(&str, String)> = Vec::new();
        let mut said = None;
        for (key, added) in [("text", &self.text), ("thinking", &self.thinking)] {
            if !added.is_empty() {
                let whole = start.string(key).unwrap_or_default() + &**added;
                edits.push((key, quoted(&whole)));
                said = said.or(Some(whole).filter(|_| key == "text"));
            }
        }
        if let Some(signature) = &self.signature {
            edits.push(("signature", quoted(signature)));
        }
        if let Some(input) = self.outgoing_input(&start) {
            edits.push(("input", input));
        }
        if !self.citations.is_empty() {
            edits.push(("citations", self.all_citations(&start)));
        }
        let compaction = self.compaction.as_deref().and_then(|delta| RawObject::parse(delta).ok());
        for (key, value) in compaction.iter().flat_map(RawObject::members).filter(|(key, _)| *key != "type") {
            edits.push((key, value.into()));
        }
        let json = Json::trusted(start.with(&edits));
        // Most blocks are text, and need not be read back.
        match said.filter(|_| &*self.kind == "text") {
            Some(text) => Block::assembled(BlockKind::Text(text.into()), json),
            None => Block::from(json),
        }
    }

    /// The replacement of the start's `input`: the text that the model wrote. If it wrote nothing, the start's input stays; without one, it is
    /// `{}`.
    fn outgoing_input(&self, start: &RawObject<'_>) -> Option<String> {
        match &*self.input {
            "" => (self.is_tool_use() && start.present("input").is_none()).then(|| "{}".into()),
            text => Some(ToolInput::read(text).to_json().as_str().into()),
        }
    }

    fn all_citations(&self, start: &RawObject<'_>) -> String {
        let earlier = start.get("citations").and_then(|list| raw_json::elements(list).ok()).unwrap_or_default();
        let all: Vec<&str> = earlier.into_iter().chain(self.citations.iter().map(|citation| &**citation)).collect();
        format!("[{}]", all.join(","))
    }
}

fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_string(&mut json, text);
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_3_a_text_block_is_what_reading_it_back_gives() {
        for start in [r#"{"type":"text","text":""}"#, r#"{"type":"text"}"#, r#"{"type":"text","text":"a","text":"\u00e9\ud83d "}"#] {
            let mut partial = PartialBlock::new("text", start);
            for piece in ["\"quoted\"\n", "\u{7}é😀"] {
                partial.add(&BlockDelta::Text(piece.into())).unwrap();
            }
            let block = partial.finish();
            assert_eq!(block, Block::from(block.json().clone()), "{start}");
            assert!(matches!(block.kind(), BlockKind::Text(text) if text.ends_with("\"quoted\"\n\u{7}é😀")), "{start}");
        }
    }
}
