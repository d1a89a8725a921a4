//! The results of tools: texts, blocks, errors.

use reenact_engine::contract::ToolOutcome;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use serde_json::json;

/// Content blocks as a result.
pub(crate) fn blocks(blocks: &[serde_json::Value]) -> ToolOutcome {
    ToolOutcome { content: Json::from_value(blocks), ..ToolOutcome::text("") }
}

/// A block with a text.
pub(crate) fn text_block(text: &str) -> serde_json::Value {
    json!({ "type": "text", "text": text })
}

/// A block with an image or a document.
pub(crate) fn media_block(kind: &str, media_type: &str, data: &[u8]) -> serde_json::Value {
    use base64::Engine;
    let data = base64::engine::general_purpose::STANDARD.encode(data);
    json!({ "type": kind, "source": { "type": "base64", "media_type": media_type, "data": data } })
}

/// The text of a result; of blocks that of the first one that has any.
pub fn text_of(outcome: &ToolOutcome) -> String {
    let value = outcome.content.to_value();
    let text = value.as_str().or_else(|| value.as_array()?.iter().find_map(|block| block["text"].as_str()));
    text.unwrap_or_default().to_owned()
}
