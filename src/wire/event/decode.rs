//! From one event's data to its [`EventPayload`] (N-2).
//!
//! Nine events in ten of a stream are small deltas that the API always writes the same way, so these are recognised by their shape;
//! every other text, and every delta written otherwise, goes through the JSON parser. Both ways give the same payload.
//!
//! The data's own `type` decides, as in both official SDKs, not the SSE event name. Where the data has none, the name does: both SDKs
//! drop a `ping` and fail at an `error` by the name alone, and what stands under a name that is not the API's is nothing of the answer
//! (`event: data`, `data: [DONE]`). Both pass over an event without data.
//!
//! A lone surrogate escape in a string reads as U+FFFD here; [`StreamEvent::data`](super::StreamEvent::data) keeps the exact text.

use memchr::memchr2;

use super::super::raw_json::{self, RawObject};
use super::super::usage::Usage;
use super::{BlockDelta, EventPayload, MessageDelta, MessageStart, NAMELESS};
use crate::prelude::*;

/// The events that the API has.
const EVENTS: [&str; 8] =
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "ping", "error"];

/// Decodes one event's data. `name` is the SSE event name; the data's own `type` decides.
pub fn payload<'a>(name: &str, data: &'a str) -> EventPayload<'a> {
    delta_by_shape(data).unwrap_or_else(|| by_parser(name, data))
}

/// Token counts of a `usage` object. Absent, null and unreadable ones are `None`.
pub(crate) fn usage(usage: &RawObject<'_>) -> Usage {
    Usage {
        input_tokens: usage.count("input_tokens"),
        output_tokens: usage.count("output_tokens"),
        cache_creation_input_tokens: usage.count("cache_creation_input_tokens"),
        cache_read_input_tokens: usage.count("cache_read_input_tokens"),
        // Zero and absent are the same here, and nearly all answers have one of them.
        cache_creation_1h_input_tokens: within(usage, "cache_creation", "ephemeral_1h_input_tokens"),
        web_search_requests: within(usage, "server_tool_use", "web_search_requests").and_then(|count| u32::try_from(count).ok()),
    }
}

/// A count inside a member that is an object; `None` when the count is missing.
fn within(object: &RawObject<'_>, member: &str, key: &str) -> Option<u64> {
    RawObject::parse(object.present(member)?).ok()?.count(key).filter(|count| *count > 0)
}

/// `{"type":"content_block_delta","index":N,"delta":{"type":"text_delta","text":"…"}   }`, and the same for tool input and thinking.
fn delta_by_shape<'a>(data: &'a str) -> Option<EventPayload<'a>> {
    let rest = data.strip_prefix(r#"{"type":"content_block_delta","index":"#)?;
    let (index, rest) = rest.split_at(rest.bytes().take(9).position(|byte| !byte.is_ascii_digit())?);
    if index.is_empty() || (index.len() > 1 && index.starts_with('0')) {
        return None;
    }
    let index = index.bytes().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    let rest = rest.strip_prefix(r#","delta":{"type":""#)?;
    let (text, delta): (&str, fn(Cow<'a, str>) -> BlockDelta<'a>) = if let Some(text) = rest.strip_prefix(r#"text_delta","text":""#) {
        (text, BlockDelta::Text)
    } else if let Some(text) = rest.strip_prefix(r#"input_json_delta","partial_json":""#) {
        (text, BlockDelta::InputJson)
    } else {
        (rest.strip_prefix(r#"thinking_delta","thinking":""#)?, BlockDelta::Thinking)
    };
    let (text, rest) = string_by_shape(text)?;
    let padding = rest.strip_prefix('}')?.strip_suffix('}')?;
    padding.bytes().all(|byte| byte == b' ').then(|| EventPayload::BlockDelta { index, delta: delta(text) })
}

/// A string up to its closing quote, and what follows it. `None` leaves rarer escapes, and mistakes, to the parser.
fn string_by_shape(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut value = Cow::Borrowed("");
    let mut rest = text;
    loop {
        let at = memchr2(b'"', b'\\', rest.as_bytes())?;
        let (piece, after) = (&rest[..at], &rest[at + 1..]);
        // No early exit: this way the compiler looks at many bytes at once.
        if piece.bytes().fold(false, |found, byte| found | (byte < 0x20)) {
            return None;
        }
        if rest.as_bytes()[at] == b'"' {
            value += piece;
            return Some((value, after));
        }
        let escaped = raw_json::simple_escape(*after.as_bytes().first()?)?;
        let value = value.to_mut();
        value.reserve(piece.len() + 1);
        value.push_str(piece);
        value.push(escaped);
        rest = &after[1..];
    }
}

/// Decodes any data.
fn by_parser<'a>(name: &str, data: &'a str) -> EventPayload<'a> {
    let problem = match RawObject::parse(data) {
        Err(_) if name == "error" => return EventPayload::Error { kind: "".into(), message: data.into() },
        Err(error) => Cow::Owned(error.to_string()),
        Ok(object) => match object.string("type") {
            Some(kind) if name != "error" || EVENTS.contains(&&*kind) => {
                return typed(kind, &object).unwrap_or_else(|problem| EventPayload::Malformed { problem });
            }
            _ if name == "error" => return error(&object),
            _ => missing("type", "a string"),
        },
    };
    match name {
        "ping" => EventPayload::Ping,
        name if !data.is_empty() && (name == NAMELESS || EVENTS.contains(&name)) => EventPayload::Malformed { problem },
        name => EventPayload::Unknown { kind: Cow::Owned(name.into()) },
    }
}

fn typed<'a>(kind: Cow<'a, str>, event: &RawObject<'a>) -> Result<EventPayload<'a>, Cow<'static, str>> {
    Ok(match &*kind {
        "message_start" => EventPayload::MessageStart(message_start(&object(event, "message")?)?),
        "content_block_start" => block_start(event)?,
        "content_block_delta" => EventPayload::BlockDelta { index: index(event)?, delta: delta(event)? },
        "content_block_stop" => EventPayload::BlockStop { index: index(event)? },
        "message_delta" => EventPayload::MessageDelta(message_delta(event)?),
        "message_stop" => EventPayload::MessageStop,
        "ping" => EventPayload::Ping,
        "error" => error(event),
        _ => EventPayload::Unknown { kind },
    })
}

fn message_start<'a>(message: &RawObject<'a>) -> Result<MessageStart<'a>, Cow<'static, str>> {
    let content = message.present("content").map(raw_json::elements).transpose().map_err(|_| missing("message.content", "a list"))?;
    let content = content.unwrap_or_default();
    for block in &content {
        block_kind(&RawObject::parse(block).map_err(|_| missing("message.content", "a list of objects"))?)?;
    }
    Ok(MessageStart {
        // Nothing follows from these two but names.
        id: message.string("id").unwrap_or_default(),
        model: message.string("model").unwrap_or_default(),
        usage: message.object("usage").as_ref().map(usage).unwrap_or_default(),
        content: content.into_iter().map(Cow::Borrowed).collect(),
        stop_reason: optional_string(message, "stop_reason")?,
        stop_sequence: optional_string(message, "stop_sequence")?,
    })
}

fn block_start<'a>(event: &RawObject<'a>) -> Result<EventPayload<'a>, Cow<'static, str>> {
    let block = object(event, "content_block")?;
    Ok(EventPayload::BlockStart { index: index(event)?, kind: block_kind(&block)?, block: Cow::Borrowed(block.text()) })
}

/// The `type` of a block that has what its type requires.
fn block_kind<'a>(block: &RawObject<'a>) -> Result<Cow<'a, str>, Cow<'static, str>> {
    let kind = required_string(block, "type")?;
    if kind == "tool_use" {
        // Without these the tool can neither be found nor be answered.
        required_string(block, "id")?;
        required_string(block, "name")?;
    }
    Ok(kind)
}

fn delta<'a>(event: &RawObject<'a>) -> Result<BlockDelta<'a>, Cow<'static, str>> {
    let delta = object(event, "delta")?;
    let kind = required_string(&delta, "type")?;
    Ok(match &*kind {
        "text_delta" => BlockDelta::Text(required_string(&delta, "text")?),
        "input_json_delta" => BlockDelta::InputJson(required_string(&delta, "partial_json")?),
        "thinking_delta" => BlockDelta::Thinking(required_string(&delta, "thinking")?),
        "signature_delta" => BlockDelta::Signature(required_string(&delta, "signature")?),
        "citations_delta" => BlockDelta::Citation(Cow::Borrowed(object(&delta, "citation")?.text())),
        "compaction_delta" => BlockDelta::Compaction(Cow::Borrowed(delta.text())),
        _ => BlockDelta::Unknown { kind },
    })
}

fn message_delta<'a>(event: &RawObject<'a>) -> Result<MessageDelta<'a>, Cow<'static, str>> {
    let delta = object(event, "delta")?;
    Ok(MessageDelta {
        stop_reason: optional_string(&delta, "stop_reason")?,
        stop_sequence: optional_string(&delta, "stop_sequence")?,
        usage: event.object("usage").as_ref().map(usage).unwrap_or_default(),
    })
}

/// An error is one however little it says, with or without what the API wraps it in.
fn error<'a>(event: &RawObject<'a>) -> EventPayload<'a> {
    let error = event.object("error");
    let member = |key| error.as_ref().and_then(|error| error.string(key));
    EventPayload::Error {
        kind: member("type").or_else(|| event.string("type").filter(|kind| kind != "error")).unwrap_or_default(),
        message: member("message").or_else(|| event.string("error")).or_else(|| event.string("message")).unwrap_or_default(),
    }
}

fn index(event: &RawObject<'_>) -> Result<u32, Cow<'static, str>> {
    event.get("index").and_then(|index| index.parse().ok()).ok_or_else(|| missing("index", "a whole number"))
}

fn object<'a>(of: &RawObject<'a>, key: &str) -> Result<RawObject<'a>, Cow<'static, str>> {
    of.object(key).ok_or_else(|| missing(key, "an object"))
}

fn required_string<'a>(of: &RawObject<'a>, key: &str) -> Result<Cow<'a, str>, Cow<'static, str>> {
    of.string(key).ok_or_else(|| missing(key, "a string"))
}

fn optional_string<'a>(of: &RawObject<'a>, key: &str) -> Result<Option<Cow<'a, str>>, Cow<'static, str>> {
    match of.present(key) {
        None => Ok(None),
        Some(_) => required_string(of, key).map(Some),
    }
}

fn missing(key: &str, kind: &str) -> Cow<'static, str> {
    Cow::Owned(format!("`{key}` is missing or not {kind}"))
}

#[cfg(test)]
mod tests;
