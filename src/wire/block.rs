//! Content blocks and messages: what was understood of each beside the JSON that is sent (N-8).

mod size;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::{
    json::{Json, push_string},
    raw_json::{self, RawObject},
};
use crate::prelude::*;

pub(crate) use size::BlockSize;

/// One content block of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Json", into = "Json")]
pub struct Block {
    kind: BlockKind,
    json: Json,
    /// A long session counts the same blocks with every request.
    size: BlockSize,
    /// A sweep takes the same blocks into the keys of thousands of states (E-3).
    digest: [u8; 16],
}

impl core::hash::Hash for Block {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        state.write(&self.digest);
    }
}

/// The kinds of blocks that matter to an agent loop.
#[derive(Clone, Debug, PartialEq, Hash)]
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
    /// The result of a tool.
    ToolResult {
        /// The id of its tool use.
        tool_use_id: Arc<str>,
        /// Whether it is an error.
        is_error: bool,
    },
    /// A kind that is only passed through (image, document, server tools, …).
    Other(Arc<str>),
}

/// A tool use, complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolUse {
    /// The API's id.
    pub id: Arc<str>,
    /// The tool's name.
    pub name: Arc<str>,
    /// Its input.
    pub input: ToolInput,
}

/// A tool's input: text until its block stopped, then parsed (N-3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolInput {
    /// Valid JSON, as the model wrote it (`{}` when it wrote nothing).
    Valid(Json),
    /// Not JSON: the text and the parser's complaint.
    Invalid {
        /// The text of the model.
        text: Arc<str>,
        /// Why it is not JSON.
        error: Arc<str>,
    },
}

/// The one member of the object that stands for an invalid input, as the API's documentation has it for answers to such a tool use.
const INVALID_JSON: &str = "INVALID_JSON";

/// The same in clients that send the length of the input beside it.
const UNPARSED_INPUT: &str = "__unparsedToolInput";

impl ToolInput {
    /// Reads what the model wrote, or what [`Self::to_json`] gave. The API takes objects only, so other JSON values are invalid too.
    pub fn read(text: &str) -> Self {
        let object = match RawObject::parse(text) {
            Ok(object) => object,
            Err(error) => return Self::Invalid { text: text.into(), error: error.to_string().into() },
        };
        // Only what cannot be an input of its own was wrapped.
        let in_ours = object.string(INVALID_JSON).map(Cow::into_owned);
        let in_either = in_ours.or_else(|| object.object(UNPARSED_INPUT)?.string("raw").map(Cow::into_owned));
        match in_either.filter(|_| object.members().count() == 1).map(|text| Self::read(&text)) {
            Some(invalid @ Self::Invalid { .. }) => invalid,
            _ => Self::Valid(Json::trusted(text)),
        }
    }

    /// The input as it is sent: invalid text inside `{"INVALID_JSON":"…"}`, so that the request stays valid.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Valid(json) => json.clone(),
            Self::Invalid { text, .. } => {
                let mut json = format!(r#"{{"{INVALID_JSON}":"#);
                push_string(&mut json, text);
                json.push('}');
                Json::trusted(json)
            }
        }
    }

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
        Self::assembled(BlockKind::Text(text.into()), Json::trusted(json))
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
        Self::assembled(BlockKind::ToolResult { tool_use_id: tool_use_id.into(), is_error }, Json::trusted(json))
    }

    /// A block put together elsewhere: the caller vouches that `json` says what `kind` says.
    pub fn assembled(kind: BlockKind, json: Json) -> Self {
        let size = BlockSize::of_block(&kind, json.as_str());
        let digest = digest(&kind, &json);
        Self { kind, json, size, digest }
    }

    /// The size that the estimate of its tokens is made from.
    pub(crate) fn size(&self) -> BlockSize {
        self.size
    }

    /// Its kind.
    pub fn kind(&self) -> &BlockKind {
        &self.kind
    }

    /// The block as JSON, as it came or as it is sent.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// A tool use whose input is no JSON, with the input in the form of clients that send its length beside it; any other block as it is.
    #[must_use]
    pub fn with_unparsed_input(self) -> Self {
        let BlockKind::ToolUse(ToolUse { input: ToolInput::Invalid { text, .. }, .. }) = &self.kind else { return self };
        let Ok(object) = RawObject::parse(self.json.as_str()) else { return self };
        let mut input = format!(r#"{{"{UNPARSED_INPUT}":{{"raw":"#);
        push_string(&mut input, text);
        input.push_str(&format!(r#","len":{}}}}}"#, text.chars().count()));
        Self::assembled(self.kind.clone(), Json::trusted(object.with(&[("input", input)])))
    }

    /// Whether it is thinking, redacted or not.
    pub fn is_thinking(&self) -> bool {
        matches!(self.kind, BlockKind::Thinking { .. } | BlockKind::RedactedThinking)
    }

    /// The text of a tool result, a line for each part; `None` for any other block.
    pub fn result_text(&self) -> Option<String> {
        let BlockKind::ToolResult { .. } = self.kind else { return None };
        let result = RawObject::parse(self.json.as_str()).ok();
        Some(result.and_then(|result| result.get("content").map(joined_text)).unwrap_or_default())
    }

    /// The tool use, if it is one.
    pub fn as_tool_use(&self) -> Option<&ToolUse> {
        match &self.kind {
            BlockKind::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        }
    }
}

/// The text of content: a JSON string, or an array of strings and of objects with a `text`, a line each. Anything else has none.
pub fn joined_text(content: &str) -> String {
    let of_part = |part: &str| {
        raw_json::string(part).map(Cow::into_owned).or_else(|| RawObject::parse(part).ok()?.string("text").map(Cow::into_owned))
    };
    match raw_json::string(content) {
        Some(text) => text.into_owned(),
        None => raw_json::elements(content).unwrap_or_default().into_iter().filter_map(of_part).collect::<Vec<_>>().join("\n"),
    }
}

/// A block read from JSON; one whose members are not as expected is [`BlockKind::Other`], kept and passed through.
impl From<Json> for Block {
    fn from(json: Json) -> Self {
        Self::assembled(BlockKind::read(json.as_str()), json)
    }
}

impl BlockKind {
    /// The kind of a block as it is written.
    fn read(json: &str) -> Self {
        let Ok(block) = RawObject::parse(json) else { return Self::Other("".into()) };
        let kind = block.string("type").unwrap_or_default();
        known_kind(&kind, &block).unwrap_or_else(|| Self::Other(kind.into()))
    }
}

/// The kind by its members; `None` when the kind is not known or a member is of another type than it should be.
fn known_kind(kind: &str, block: &RawObject<'_>) -> Option<BlockKind> {
    let text = |key| match block.present(key) {
        None => Some(Arc::from("")),
        Some(_) => block.string(key).map(Arc::from),
    };
    Some(match kind {
        "text" => BlockKind::Text(text("text")?),
        "thinking" => BlockKind::Thinking { thinking: text("thinking")?, signature: text("signature")? },
        "redacted_thinking" => BlockKind::RedactedThinking,
        "tool_use" => {
            let input = ToolInput::read(block.present("input").unwrap_or("{}"));
            BlockKind::ToolUse(ToolUse { id: text("id")?, name: text("name")?, input })
        }
        "tool_result" => BlockKind::ToolResult { tool_use_id: text("tool_use_id")?, is_error: block.get("is_error") == Some("true") },
        _ => return None,
    })
}

impl From<Block> for Json {
    fn from(block: Block) -> Self {
        block.json
    }
}

words! {
    /// The role of a message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// The user, and tool results.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A system message in mid-conversation.
        System = "system",
    }
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// The role of a message.
    pub role: Role,
    /// The blocks, in order.
    pub content: Vec<Block>,
}

impl Message {
    /// A message of the user.
    pub fn user(content: Vec<Block>) -> Self {
        Self { role: Role::User, content }
    }

    /// A message of the model.
    pub fn assistant(content: Vec<Block>) -> Self {
        Self { role: Role::Assistant, content }
    }
}

/// The digest of all that a block consists of. The input of a tool use may have been written in a way that its JSON does not show.
fn digest(kind: &BlockKind, json: &Json) -> [u8; 16] {
    let written = match kind {
        BlockKind::ToolUse(tool_use) => XxHash3_128::oneshot(tool_use.input.as_str().as_bytes()).rotate_left(1),
        _ => 0,
    };
    (XxHash3_128::oneshot(json.as_str().as_bytes()) ^ written).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(json: &str) -> BlockKind {
        Block::from(Json::parse(json).unwrap()).kind
    }

    #[test]
    fn n_2_a_block_is_read_with_duplicate_keys_and_lone_surrogates() {
        assert_eq!(kind(r#"{"type":"text","text":"a","text":"b\ud83d"}"#), BlockKind::Text("b\u{fffd}".into()));
        assert_eq!(kind(r#"{"type":"text","text":7}"#), BlockKind::Other("text".into()));
        assert_eq!(kind(r#"{"type":"hologram","text":7}"#), BlockKind::Other("hologram".into()));
        assert_eq!(kind("[]"), BlockKind::Other("".into()));
    }

    #[test]
    fn n_8_a_block_is_written_as_it_was_read() {
        let text = r#"{ "input":{"n":1e3,"n":2} ,"type":"tool_use","name":"t","id":"toolu_1","new":null}"#;
        let block = Block::from(Json::parse(text).unwrap());
        assert_eq!(block.as_tool_use().unwrap().input.as_str(), r#"{"n":1e3,"n":2}"#);
        assert_eq!(block.json().as_str(), text);
        let kept = serde_json::to_string(&block).unwrap();
        assert_eq!(serde_json::from_str::<Block>(&kept).unwrap(), block);
    }

    #[test]
    fn n_3_an_invalid_input_is_wrapped_and_read_back() {
        for text in ["{\"a\": celsius}", "[1]", "{\"a\":1} x", "\"x\""] {
            let input = ToolInput::read(text);
            assert!(matches!(input, ToolInput::Invalid { .. }), "{text}");
            assert_eq!(input.as_str(), text);
            assert_eq!(ToolInput::read(input.to_json().as_str()), input);
        }
        let cut =
            Block::from(Json::trusted(r#"{"type":"tool_use","id":"t","name":"W","input":{"INVALID_JSON":"{\"é"}}"#)).with_unparsed_input();
        assert!(cut.json().as_str().ends_with(r#""input":{"__unparsedToolInput":{"raw":"{\"é","len":3}}}"#), "{}", cut.json());
        assert_eq!(Block::from(cut.json().clone()), cut, "the other form is read back, too");
        let whole = Block::text("x");
        assert_eq!(whole.clone().with_unparsed_input(), whole);
        for text in [r#"{"INVALID_JSON":1}"#, r#"{"INVALID_JSON":"{}"}"#, r#"{"INVALID_JSON":"x","a":1}"#] {
            assert_eq!(ToolInput::read(text), ToolInput::Valid(Json::trusted(text)), "not one of ours");
        }
    }
}
