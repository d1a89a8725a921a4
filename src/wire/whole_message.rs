//! An answer that came whole, without streaming: the same blocks as a stream would have given (R-13).

use thiserror::Error;

use super::{
    block::Block,
    event::decode,
    json::Json,
    raw_json::{self, RawObject},
    usage::Usage,
};
use crate::prelude::*;

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct WholeMessage {
    /// The API's id.
    pub id: Arc<str>,
    /// The model that answered.
    pub model: Arc<str>,
    /// The content, in order.
    pub blocks: Vec<Block>,
    /// Why the model stopped; `None` when null or absent.
    pub stop_reason: Option<Arc<str>>,
    /// The stop sequence that was hit.
    pub stop_sequence: Option<Arc<str>>,
    /// Token counts.
    pub usage: Usage,
}

/// Why a body is not a message.
#[derive(Clone, Debug, PartialEq, Eq, Error, Hash)]
pub enum WholeMessageError {
    /// Not a JSON object.
    #[error("the answer is not a JSON object ({problem}); look at the recorded body for what answered instead of the API")]
    NotAnObject {
        /// The parser's complaint.
        problem: String,
    },
    /// An object, but no message.
    #[error("the answer is not a message (`{member}` is missing or of the wrong kind); look at the recorded body for what it is")]
    NotAMessage {
        /// The member that is not as it must be.
        member: &'static str,
    },
}

/// Reads the body of a non-streamed answer (R-13). `id`, `model` and `usage` may be missing, as in a stream.
///
/// # Errors
/// The body is not JSON, not of type `message`, or has no list of blocks as its content.
pub fn whole_message(json: &str) -> Result<WholeMessage, WholeMessageError> {
    let message = RawObject::parse(json).map_err(|error| WholeMessageError::NotAnObject { problem: error.to_string() })?;
    let wrong = |member| WholeMessageError::NotAMessage { member };
    if message.string("type").as_deref() != Some("message") {
        return Err(wrong("type"));
    }
    let content = message.get("content").and_then(|content| raw_json::elements(content).ok()).ok_or(wrong("content"))?;
    let text = |key| message.string(key).map(Arc::from);
    Ok(WholeMessage {
        id: text("id").unwrap_or_default(),
        model: text("model").unwrap_or_default(),
        blocks: content.into_iter().map(|block| Block::from(Json::trusted(block))).collect(),
        stop_reason: text("stop_reason"),
        stop_sequence: text("stop_sequence"),
        usage: message.object("usage").as_ref().map(decode::usage).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        assembler::{Assembler, AssemblerStep},
        event::StreamEvent,
    };

    #[test]
    fn r_13_a_whole_answer_gives_what_the_stream_gives() {
        let whole = whole_message(concat!(
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":["#,
            r#"{"type":"text","text":"Let me look."}, {"type":"tool_use","id":"toolu_1","name":"Read","input":{"path": "a"}}],"#,
            r#""stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":9}}"#
        ))
        .unwrap();
        let mut assembler = Assembler::new();
        let mut blocks = Vec::new();
        for data in [
            r#"{"type":"message_start","message":{"id":"msg_1","model":"m","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me look."}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a\"}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}"#,
            r#"{"type":"message_stop"}"#,
        ] {
            if let AssemblerStep::Block { block, .. } = assembler.on_event(&StreamEvent::decode("message", data), &mut Vec::new()) {
                blocks.push(block);
            }
        }
        let streamed = WholeMessage {
            id: assembler.message_id().clone(),
            model: assembler.model().clone(),
            blocks,
            stop_reason: assembler.stop_reason().cloned(),
            stop_sequence: assembler.stop_sequence().cloned(),
            usage: *assembler.usage(),
        };
        assert_eq!(whole, streamed);
    }

    #[test]
    fn r_13_what_is_no_message_is_refused() {
        assert!(matches!(whole_message("<html>"), Err(WholeMessageError::NotAnObject { .. })));
        let error = whole_message(r#"{"type":"error","error":{}}"#).unwrap_err();
        assert_eq!(error, WholeMessageError::NotAMessage { member: "type" });
        assert_eq!(whole_message(r#"{"type":"message","content":"x"}"#), Err(WholeMessageError::NotAMessage { member: "content" }));
    }
}
