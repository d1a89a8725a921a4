//! The parser that a client without us would have: the stream's events as an owned enum that serde selects by the member `type`.

use serde::Deserialize;

/// One event of a stream.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "the members are read from JSON to be measured, not to be used")]
pub(crate) enum TypedEvent {
    MessageStart { message: TypedMessage },
    ContentBlockStart { index: u32, content_block: ContentBlock },
    ContentBlockDelta { index: u32, delta: TypedDelta },
    ContentBlockStop { index: u32 },
    MessageDelta { delta: TypedStop, usage: TypedUsage },
    MessageStop,
    Ping,
    Error { error: TypedError },
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the members are read from JSON to be measured, not to be used")]
pub(crate) struct TypedMessage {
    id: String,
    model: String,
    usage: TypedUsage,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the members are read from JSON to be measured, not to be used")]
pub(crate) struct TypedUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "the members are read from JSON to be measured, not to be used")]
pub(crate) enum ContentBlock {
    Text { text: String },
    Thinking { thinking: String, signature: String },
    ToolUse { id: String, name: String, input: serde_json::Value },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "the members are read from JSON to be measured, not to be used")]
#[expect(clippy::enum_variant_names, reason = "each is the API's own word, which serde takes from the variant's name")]
pub(crate) enum TypedDelta {
    TextDelta { text: String },
    InputJsonDelta { partial_json: String },
    ThinkingDelta { thinking: String },
    SignatureDelta { signature: String },
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the members are read from JSON to be measured, not to be used")]
pub(crate) struct TypedStop {
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the members are read from JSON to be measured, not to be used")]
pub(crate) struct TypedError {
    #[serde(rename = "type")]
    kind: String,
    message: String,
}
