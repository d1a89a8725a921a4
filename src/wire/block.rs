//! Content blocks and messages: what was understood of each beside the JSON that is sent (N-8).

use serde::{Deserialize, Serialize};

use super::json::{Json, push_string};
use crate::prelude::*;

/// One content block of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Json", into = "Json")]
pub struct Block {
    kind: BlockKind,
    json: Json,
}

/// What a block is, as far as an agent loop cares.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BlockKind {
    /// Text.
    Text(Arc<str>),
    /// Thinking with its signature (empty when none came).
    Thinking {
        /// The visible thinking.
        thinking: Arc<str>,
        /// Opaque, bound to its model.
        signature: Arc<str>,
    },
    /// Thinking that only the API can read.
    RedactedThinking,
    /// The model asks for a tool.
    ToolUse(ToolUse),
    /// What a tool answered.
    ToolResult {
        /// Whose answer.
        tool_use_id: Arc<str>,
        /// Whether it is an error.
        is_error: bool,
    },
    /// A kind that is only passed through (image, document, server tools, …).
    Other(Arc<str>),
}

/// A tool use, complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The API's id.
    pub id: Arc<str>,
    /// The tool's name.
    pub name: Arc<str>,
    /// Its input.
    pub input: ToolInput,
}

/// A tool's input: text until its block stopped, then parsed (N-3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolInput {
    /// Valid JSON, as the model wrote it (`{}` when it wrote nothing).
    Valid(Json),
    /// Not JSON: the text and the parser's complaint.
    Invalid {
        /// What the model wrote.
        text: Arc<str>,
        /// Why it is not JSON.
        error: Arc<str>,
    },
}

impl ToolInput {
    /// The input as written by the model.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Valid(json) => json.as_str(),
            Self::Invalid { text, .. } => text,
        }
    }
}

impl Block {
    /// A text block of our own.
    pub fn text(text: &str) -> Self {
        let mut json = String::from(r#"{"type":"text","text":"#);
        push_string(&mut json, text);
        json.push('}');
        Self { kind: BlockKind::Text(text.into()), json: Json::trusted(json) }
    }

    /// A tool result of our own. `content` is a JSON string or a JSON array of blocks; `is_error` is written only when true.
    pub fn tool_result(tool_use_id: &str, content: &Json, is_error: bool) -> Self {
        let mut json = String::from(r#"{"type":"tool_result","tool_use_id":"#);
        push_string(&mut json, tool_use_id);
        json.push_str(r#","content":"#);
        json.push_str(content.as_str());
        if is_error {
            json.push_str(r#","is_error":true"#);
        }
        json.push('}');
        Self { kind: BlockKind::ToolResult { tool_use_id: tool_use_id.into(), is_error }, json: Json::trusted(json) }
    }

    /// A block put together elsewhere: the caller vouches that `json` says what `kind` says.
    pub fn assembled(kind: BlockKind, json: Json) -> Self {
        Self { kind, json }
    }

    /// What it is.
    pub fn kind(&self) -> &BlockKind {
        &self.kind
    }

    /// What is sent.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// The tool use, if it is one.
    pub fn as_tool_use(&self) -> Option<&ToolUse> {
        match &self.kind {
            BlockKind::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        }
    }
}

/// The members that [`BlockKind`] is made from; everything else stays in the text.
#[derive(Deserialize)]
struct Known<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    thinking: Cow<'a, str>,
    #[serde(borrow, default)]
    signature: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    input: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    tool_use_id: Cow<'a, str>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// A block read from JSON; one whose members are not as expected is [`BlockKind::Other`], kept and passed through.
impl From<Json> for Block {
    fn from(json: Json) -> Self {
        let kind = match serde_json::from_str::<Known<'_>>(json.as_str()) {
            Err(_) => BlockKind::Other("".into()),
            Ok(known) => match &*known.kind {
                "text" => BlockKind::Text(known.text.into()),
                "thinking" => {
                    BlockKind::Thinking { thinking: known.thinking.into(), signature: known.signature.into() }
                }
                "redacted_thinking" => BlockKind::RedactedThinking,
                "tool_use" => BlockKind::ToolUse(ToolUse {
                    id: known.id.into(),
                    name: known.name.into(),
                    input: ToolInput::Valid(Json::trusted(known.input.map_or("{}", |raw| raw.get()))),
                }),
                "tool_result" => BlockKind::ToolResult {
                    tool_use_id: known.tool_use_id.into(),
                    is_error: known.is_error.unwrap_or(false),
                },
                other => BlockKind::Other(other.into()),
            },
        };
        Self { kind, json }
    }
}

impl From<Block> for Json {
    fn from(block: Block) -> Self {
        block.json
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, and tool results.
    User,
    /// The model.
    Assistant,
    /// A system message in mid-conversation.
    System,
}

impl Role {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<Block>,
}
