//! Requests as they are sent (N-7) and read back (N-8).
//!
//! System prompt, tools and further members are kept as JSON text: they are the same in every request of a session, so they are
//! written once and shared. Only the messages grow.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::block::{Block, BlockKind, Message, Role};
use super::json::{Json, push_string};
use super::raw_json::RawObject;
use crate::prelude::*;

/// The body of a `POST /v1/messages`.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Request {
    /// The model.
    pub model: Arc<str>,
    /// The cap on output tokens.
    pub max_tokens: u64,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// The system prompt: a JSON string or an array of blocks.
    pub system: Option<Json>,
    /// The tools: a JSON array.
    pub tools: Option<Json>,
    /// Further members, as one JSON object.
    pub extra: Json,
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// Whether the last block of the last message carries a cache breakpoint (N-7).
    pub cache_last_message: bool,
}

/// A cache breakpoint as it stands in a block or a tool.
const CACHE_CONTROL: &str = r#""cache_control":{"type":"ephemeral"}"#;

impl Request {
    /// A streamed request without system prompt, tools or messages.
    pub fn new(model: &str, max_tokens: u64) -> Self {
        Self {
            model: model.into(),
            max_tokens,
            stream: true,
            system: None,
            tools: None,
            extra: Json::trusted("{}"),
            messages: Vec::new(),
            cache_last_message: false,
        }
    }

    /// The same with `messages` added, merged as [`push_merged`] does.
    #[must_use]
    pub fn with_messages(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        for message in messages {
            push_merged(&mut self.messages, Arc::new(message));
        }
        self
    }

    /// The body as JSON text, members in the order in which an official SDK writes them.
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(self.size_hint());
        out.push_str(r#"{"model":"#);
        push_string(&mut out, &self.model);
        out.push_str(&format!(r#","max_tokens":{}"#, self.max_tokens));
        if let Some(system) = &self.system {
            out.push_str(r#","system":"#);
            out.push_str(system.as_str());
        }
        if let Some(tools) = &self.tools {
            out.push_str(r#","tools":"#);
            out.push_str(tools.as_str());
        }
        push_members(&mut out, &self.extra);
        out.push_str(r#","messages":["#);
        for (position, message) in self.messages.iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            let last = position + 1 == self.messages.len();
            push_message(&mut out, message, last && self.cache_last_message);
        }
        out.push(']');
        if self.stream {
            out.push_str(r#","stream":true"#);
        }
        out.push('}');
        out
    }

    /// Reads a request body; what this type has no field for goes to `extra` byte for byte (N-8).
    ///
    /// # Errors
    /// The parser's message, when the text is not an object with `model` and `messages` as the API defines them.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let members = RawObject::parse(text)?;
        let mut request = Self { stream: false, ..Self::new("", 0) };
        let mut extra = String::from("{");
        for (name, raw) in members.members() {
            match name {
                "model" => request.model = serde_json::from_str(raw)?,
                "max_tokens" => request.max_tokens = serde_json::from_str(raw)?,
                "stream" => request.stream = serde_json::from_str(raw)?,
                "system" => request.system = Some(Json::trusted(raw)),
                "tools" => request.tools = Some(Json::trusted(raw)),
                "messages" => request.messages = read_messages(raw)?,
                _ => {
                    if extra.len() > 1 {
                        extra.push(',');
                    }
                    push_string(&mut extra, name);
                    extra.push(':');
                    extra.push_str(raw);
                }
            }
        }
        if request.model.is_empty() {
            return Err(serde_json::Error::custom("a request names its `model`"));
        }
        extra.push('}');
        request.extra = Json::trusted(extra);
        Ok(request)
    }

    /// Whether a cache breakpoint is written that none of its blocks has by itself (N-6).
    pub(crate) fn adds_breakpoint(&self) -> bool {
        let block = self.messages.last().filter(|_| self.cache_last_message).and_then(|last| Some(&last.content[carrier(last)?]));
        block.is_some_and(|block| {
            let json = block.json().as_str();
            // What does not hold the word has no such member; most blocks need not be taken apart for that.
            memchr::memmem::find(json.as_bytes(), b"\"cache_control\"").is_none()
                || RawObject::parse(json).is_ok_and(|block| block.get("cache_control").is_none())
        })
    }

    /// The same with the cache breakpoint of its last message as a flag: in a request that was written and read back it stands in the block.
    #[must_use]
    pub fn with_breakpoint_apart(mut self) -> Self {
        let Some((last, place)) = self.messages.last_mut().and_then(|last| carrier(last).map(|place| (last, place))) else { return self };
        let json = last.content[place].json();
        let Some(open) = json.as_str().strip_suffix('}').and_then(|open| open.strip_suffix(CACHE_CONTROL)) else { return self };
        let plain = Json::trusted(format!("{}}}", open.strip_suffix(',').unwrap_or(open)));
        Arc::make_mut(last).content[place] = Block::from(plain);
        self.cache_last_message = true;
        self
    }

    fn size_hint(&self) -> usize {
        let fixed = self.system.as_ref().map_or(0, |json| json.as_str().len())
            + self.tools.as_ref().map_or(0, |json| json.as_str().len())
            + self.extra.as_str().len();
        let blocks = self.messages.iter().flat_map(|message| &message.content);
        256 + fixed + blocks.map(|block| block.json().as_str().len() + 40).sum::<usize>()
    }
}

/// Adds a message to a conversation; one of the same role as the last is merged into it, tool results first (N-7).
pub fn push_merged(messages: &mut Vec<Arc<Message>>, message: Arc<Message>) {
    let Some(last) = messages.last_mut().filter(|last| last.role == message.role) else {
        messages.push(message);
        return;
    };
    let mut merged = Message::clone(last);
    merged.content.extend(message.content.iter().cloned());
    // The API refuses text before results. The sort is stable, so the order among results stays.
    merged.content.sort_by_key(|block| !matches!(block.kind(), BlockKind::ToolResult { .. }));
    *last = Arc::new(merged);
}

/// A system prompt with a cache breakpoint on its last block; a plain string becomes one block for it (N-7).
pub fn system_with_breakpoint(system: &Json) -> Json {
    if let Ok(text) = serde_json::from_str::<Cow<'_, str>>(system.as_str()) {
        let block = Block::text(&text);
        return Json::trusted(format!("[{}]", with_breakpoint(block.json().as_str())));
    }
    list_with_breakpoint(system)
}

/// A JSON array of objects with a cache breakpoint on the last one (N-7); unchanged when it is empty or has one there.
pub fn list_with_breakpoint(list: &Json) -> Json {
    let Ok(mut items) = serde_json::from_str::<Vec<&RawValue>>(list.as_str())
        .map(|items| items.into_iter().map(|raw| String::from(raw.get())).collect::<Vec<_>>())
    else {
        return list.clone();
    };
    if let Some(last) = items.last_mut() {
        *last = with_breakpoint(last);
    }
    Json::trusted(format!("[{}]", items.join(",")))
}

fn with_breakpoint(object: &str) -> String {
    let mut out = String::with_capacity(object.len() + CACHE_CONTROL.len() + 1);
    push_with_breakpoint(&mut out, object);
    out
}

fn push_with_breakpoint(out: &mut String, object: &str) {
    match object.trim_end().strip_suffix('}') {
        Some(open) if RawObject::parse(object).is_ok_and(|object| object.get("cache_control").is_none()) => {
            out.push_str(open);
            if !open.trim_end().ends_with('{') {
                out.push(',');
            }
            out.push_str(CACHE_CONTROL);
            out.push('}');
        }
        _ => out.push_str(object),
    }
}

fn push_members(out: &mut String, object: &Json) {
    let text = object.as_str().trim();
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default().trim();
    if !inner.is_empty() {
        out.push(',');
        out.push_str(inner);
    }
}

fn push_message(out: &mut String, message: &Message, breakpoint: bool) {
    out.push_str(r#"{"role":""#);
    out.push_str(message.role.as_str());
    out.push_str(r#"","content":["#);
    let carrier = if breakpoint { carrier(message) } else { None };
    for (position, block) in message.content.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        if carrier == Some(position) {
            push_with_breakpoint(out, block.json().as_str());
        } else {
            out.push_str(block.json().as_str());
        }
    }
    out.push_str("]}");
}

/// The block of a message that a cache breakpoint goes to: the API refuses one on thinking.
fn carrier(message: &Message) -> Option<usize> {
    message.content.iter().rposition(|block| !block.is_thinking())
}

/// A message as it is read: content is a string or a list of blocks.
#[derive(Deserialize)]
struct ReadMessage<'a> {
    role: Role,
    #[serde(borrow)]
    content: &'a RawValue,
}

fn read_messages(raw: &str) -> Result<Vec<Arc<Message>>, serde_json::Error> {
    let read: Vec<ReadMessage<'_>> = serde_json::from_str(raw)?;
    read.into_iter().map(|message| Ok(Arc::new(Message { role: message.role, content: read_content(message.content.get())? }))).collect()
}

/// Message content as the API takes it: a string, or a list of blocks, each kept byte for byte.
///
/// # Errors
/// The parser's message, when it is neither.
pub fn read_content(text: &str) -> Result<Vec<Block>, serde_json::Error> {
    if text.trim_start().starts_with('"') {
        return Ok(vec![Block::text(&serde_json::from_str::<Cow<'_, str>>(text)?)]);
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(text)?;
    Ok(blocks.into_iter().map(|raw| Block::from(Json::trusted(raw.get()))).collect())
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_json(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(blocks: Vec<Block>) -> Message {
        Message { role: Role::User, content: blocks }
    }

    #[test]
    fn n_7_adjacent_user_messages_merge_with_results_first() {
        let result = Block::tool_result("toolu_1", &Json::trusted("\"ok\""), false);
        let request = Request::new("m", 10).with_messages([user(vec![Block::text("typed while it ran")]), user(vec![result.clone()])]);
        assert_eq!(request.messages.len(), 1);
        assert_eq!(request.messages[0].content, [result, Block::text("typed while it ran")]);
    }

    #[test]
    fn n_7_breakpoints_stand_at_system_tools_and_last_message() {
        let mut request = Request::new("m", 10).with_messages([user(vec![Block::text("a"), Block::text("b")])]);
        request.system = Some(system_with_breakpoint(&Json::trusted("\"sys\"")));
        request.tools = Some(list_with_breakpoint(&Json::trusted(r#"[{"name":"A"},{"name":"B" }]"#)));
        request.cache_last_message = true;
        let text = request.to_json();
        assert_eq!(text.matches("cache_control").count(), 3);
        assert!(text.contains(r#"{"name":"B" ,"cache_control":{"type":"ephemeral"}}"#), "{text}");
        assert!(text.contains(r#""text":"b","cache_control""#), "{text}");
    }

    #[test]
    fn n_7_a_breakpoint_that_was_written_is_a_flag_again() {
        let mut request = Request::new("m", 10).with_messages([user(vec![Block::text("a"), Block::text("b")])]);
        let plain = request.clone();
        request.cache_last_message = true;
        let read = Request::from_json(&request.to_json()).unwrap();
        assert_eq!(read.with_breakpoint_apart(), request);
        assert_eq!(plain.clone().with_breakpoint_apart(), plain);
    }

    #[test]
    fn n_8_a_request_reads_back_with_odd_members_kept() {
        let text = r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"x","n":1e3}]}],"temperature":1.0,"stream":true}"#;
        let request = Request::from_json(text).unwrap();
        assert_eq!(request.extra.as_str(), r#"{"temperature":1.0}"#);
        assert!(request.stream && request.to_json().contains(r#""n":1e3"#));
        assert_eq!(Request::from_json(&request.to_json()).unwrap(), request);
        assert!(Request::from_json(r#"{"messages":[]}"#).is_err());
    }
}
