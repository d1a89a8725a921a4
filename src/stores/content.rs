//! Blocks in the form of the Messages API, made of what stores hold.

use reenact_wire::block::{self, Block, BlockKind, ToolInput, ToolUse};
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{elements, string};

/// Content as the Messages API has it: a text, or an array of blocks. Any other value says nothing.
pub(super) fn blocks(content: Option<&str>) -> Vec<Block> {
    parts(content, |part| Some(Block::from(Json::trusted(part))))
}

/// The same with another form of blocks: `read` gets each of them that is not a plain text.
pub(super) fn parts(content: Option<&str>, mut read: impl FnMut(&str) -> Option<Block>) -> Vec<Block> {
    let Some(content) = content else { return Vec::new() };
    if let Some(text) = string(content) {
        return if text.is_empty() { Vec::new() } else { vec![Block::text(&text)] };
    }
    let of_part = |part: &str| match string(part) {
        Some(text) => Some(Block::text(&text)),
        None => read(part),
    };
    elements(content).unwrap_or_default().into_iter().filter_map(of_part).collect()
}

/// A tool call. `input` is text as the model wrote it.
pub(super) fn tool_use(id: &str, name: &str, input: &str) -> Block {
    let input = ToolInput::read(if input.trim().is_empty() { "{}" } else { input });
    let mut json = String::from(r#"{"type":"tool_use","id":"#);
    push_string(&mut json, id);
    json.push_str(r#","name":"#);
    push_string(&mut json, name);
    json.push_str(r#","input":"#);
    json.push_str(input.to_json().as_str());
    json.push('}');
    let kind = BlockKind::ToolUse(ToolUse { id: id.into(), name: name.into(), input });
    Block::assembled(kind, Json::trusted(json))
}

/// A tool result with a text.
pub(super) fn tool_result(id: &str, text: &str, is_error: bool) -> Block {
    Block::tool_result(id, &Json::from_value(text), is_error)
}

/// Thinking; without a signature it is one that no API would take back, and is kept all the same.
pub(super) fn thinking(thinking: &str, signature: &str) -> Block {
    let kind = BlockKind::Thinking { thinking: thinking.into(), signature: signature.into() };
    Block::assembled(kind, Json::from_value(&serde_json::json!({ "type": "thinking", "thinking": thinking, "signature": signature })))
}

/// The text of content that may be missing.
pub(super) fn joined_text(content: Option<&str>) -> String {
    content.map(block::joined_text).unwrap_or_default()
}
