//! The contents that a request is the first to carry, for who compares recordings (V-2).
//!
//! ```text
//!   request 1   [u1]                 all of it is new
//!   request 2   [u1, a1, u2]         a1 and u2 are new
//!   request 3   [u1', a1, u2, …]     its history is rewritten: all of it is new
//! ```
//!
//! So each content of a recording is told once, and none is left out. Where a cache is wanted (`cache_control`) says nothing about contents.

use alloc::collections::BTreeMap;

use serde_json::{Value, json};
use twox_hash::XxHash3_128;

use reenact_wire::prelude::*;

/// The contents that a request is the first of its thread to carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestContents {
    /// The parts of the messages behind those of the thread's last request.
    pub parts: Vec<ContentPart>,
    /// Whether the messages of the thread's last request are not all there as they were.
    pub is_rewritten: bool,
    /// The hash of everything but the messages: system prompt, tools, limits.
    pub frame: u32,
}

/// A content block of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentPart {
    /// `user`, `assistant`.
    pub role: String,
    /// The block's `type`.
    pub kind: String,
    /// Of a tool use its id, of a result the id of its tool use.
    pub tool_use: Option<String>,
    /// Its text, input or result; of any other kind all of it as JSON.
    pub text: String,
}

/// Reads one request after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContentReader {
    /// Of each thread the hashes of the messages that its last request had.
    messages: BTreeMap<usize, Vec<u128>>,
}

impl ContentReader {
    /// Of this body; one that is no request is one part.
    pub(crate) fn read(&mut self, thread: usize, body: &[u8]) -> RequestContents {
        let Ok(Value::Object(mut request)) = serde_json::from_slice::<Value>(body) else {
            let text = String::from_utf8_lossy(body).into_owned();
            let part = ContentPart { role: String::from("user"), kind: String::from("body"), tool_use: None, text };
            return RequestContents { parts: vec![part], ..RequestContents::default() };
        };
        let messages = match request.remove("messages") {
            Some(Value::Array(messages)) => messages,
            _ => Vec::new(),
        };
        let messages: Vec<Value> = messages.into_iter().map(|message| in_blocks(plain(message))).collect();
        let hashes: Vec<u128> = messages.iter().map(|message| hash(&message.to_string())).collect();
        let known = self.messages.insert(thread, hashes.clone()).unwrap_or_default();
        let is_rewritten = !hashes.starts_with(&known);
        let new = if is_rewritten { 0 } else { known.len() };
        let frame = hash(&plain(Value::Object(request)).to_string());
        // A part of the hash tells two frames apart and is short enough to be read.
        RequestContents { parts: messages[new..].iter().flat_map(parts).collect(), is_rewritten, frame: frame as u32 }
    }
}

fn hash(text: &str) -> u128 {
    XxHash3_128::oneshot(text.as_bytes())
}

/// The value without marks for the cache.
fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, _)| name != "cache_control");
            Value::Object(kept.map(|(name, value)| (name, plain(value))).collect())
        }
        other => other,
    }
}

/// The message with its text as a block: clients change between both forms to put marks for the cache.
fn in_blocks(mut message: Value) -> Value {
    if let Some(content @ Value::String(_)) = message.get_mut("content") {
        let text = content.take();
        *content = json!([{ "type": "text", "text": text }]);
    }
    message
}

fn parts(message: &Value) -> Vec<ContentPart> {
    let role = text_at(message, "role");
    let part = |kind: &str, tool_use: Option<String>, text: String| ContentPart { role: role.clone(), kind: kind.into(), tool_use, text };
    let blocks = match message.get("content") {
        Some(Value::Array(blocks)) => blocks,
        other => return vec![part("content", None, other.map(Value::to_string).unwrap_or_default())],
    };
    let of_block = |block: &Value| {
        let kind = text_at(block, "type");
        let member = |name: &str| block.get(name).map(Value::to_string).unwrap_or_default();
        match &*kind {
            "text" => part(&kind, None, text_at(block, "text")),
            "thinking" => part(&kind, None, text_at(block, "thinking")),
            "tool_use" => part(&kind, Some(text_at(block, "id")), format!("{} {}", text_at(block, "name"), member("input"))),
            "tool_result" => part(&kind, Some(text_at(block, "tool_use_id")), result_text(block)),
            _ => part(&kind, None, block.to_string()),
        }
    };
    blocks.iter().map(of_block).collect()
}

/// `error: no such file`.
fn result_text(block: &Value) -> String {
    let mut text = String::from(if block.get("is_error") == Some(&Value::Bool(true)) { "error: " } else { "" });
    match block.get("content") {
        Some(Value::String(content)) => text += content,
        Some(Value::Array(blocks)) => {
            let lines = blocks.iter().map(|block| block.get("text").and_then(Value::as_str).map_or_else(|| block.to_string(), Into::into));
            text += &lines.collect::<Vec<String>>().join("\n");
        }
        Some(other) => text += &other.to_string(),
        None => (),
    }
    text
}

fn text_at(value: &Value, member: &str) -> String {
    value.get(member).and_then(Value::as_str).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(contents: &RequestContents) -> Vec<String> {
        contents.parts.iter().map(|part| format!("{} {}: {}", part.role, part.kind, part.text)).collect()
    }

    #[test]
    fn v_2_each_content_is_told_once() {
        let mut reader = ContentReader::default();
        let first = reader.read(0, br#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#);
        assert_eq!((texts(&first), first.is_rewritten), (vec![String::from("user text: a")], false));
        let second = reader.read(
            0,
            br#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"N","input":{"x":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"no"}],"cache_control":{"type":"ephemeral"}}]}]}"#,
        );
        let expected = vec![String::from("assistant tool_use: N {\"x\":1}"), String::from("user tool_result: error: no")];
        assert_eq!((texts(&second), second.is_rewritten, second.frame), (expected, false, first.frame));
        let third = reader.read(0, br#"{"model":"n","messages":[{"role":"user","content":"b"},{"role":"user","content":7}]}"#);
        let expected = vec![String::from("user text: b"), String::from("user content: 7")];
        assert_eq!((texts(&third), third.is_rewritten), (expected, true));
        assert_ne!(third.frame, first.frame);
        assert_eq!(texts(&reader.read(1, b"no request")), ["user body: no request"], "another thread has its own history");
    }

    #[test]
    fn v_2_marks_for_the_cache_rewrite_no_history() {
        let mut reader = ContentReader::default();
        let marked = br#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}"#;
        reader.read(0, marked);
        let later = br#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#;
        let later = reader.read(0, later);
        assert_eq!((texts(&later), later.is_rewritten), (vec![String::from("user text: b")], false));
    }
}
