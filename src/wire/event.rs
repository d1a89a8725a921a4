//! One stream event: what it means beside the bytes that carried it (N-2).
//!
//! [`EventPayload`] borrows from the text where it can; [`StreamEvent`] owns both and is what goes into an engine.

pub mod decode;

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::usage::Usage;
use crate::prelude::*;

/// The name of an event for which the stream gave none.
#[doc(hidden)]
pub const NAMELESS: &str = "message";

/// A stream event as received: the SSE event name, the data as text, and what was understood of it.
///
/// Two events are equal when name and data are; the payload follows from them.
#[derive(Clone)]
pub struct StreamEvent {
    name: Arc<str>,
    data: Arc<str>,
    payload: EventPayload<'static>,
}

impl StreamEvent {
    /// Decodes one dispatched SSE event. Never fails: what cannot be decoded is [`EventPayload::Malformed`], with its text kept.
    pub fn decode(name: &str, data: &str) -> Self {
        Self { name: name.into(), data: data.into(), payload: decode::payload(name, data).into_owned() }
    }

    /// The SSE event name (`message` when the stream gave none).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The data as received, padding and key order included.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// The meaning of the data.
    pub fn payload(&self) -> &EventPayload<'static> {
        &self.payload
    }
}

/// The meaning of a stream event. Unknown kinds are values of their own, never errors (N-2).
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub enum EventPayload<'a> {
    /// The answer begins.
    MessageStart(MessageStart<'a>),
    /// A content block begins. `block` is its JSON text as received.
    BlockStart {
        /// Position in the final content.
        index: u32,
        /// The block's `type`.
        kind: Cow<'a, str>,
        /// The block object, byte for byte.
        block: Cow<'a, str>,
    },
    /// A piece of a block.
    BlockDelta {
        /// Position in the final content.
        index: u32,
        /// The piece.
        delta: BlockDelta<'a>,
    },
    /// A block is complete.
    BlockStop {
        /// Position in the final content.
        index: u32,
    },
    /// Stop reason and running totals.
    MessageDelta(MessageDelta<'a>),
    /// The answer is complete.
    MessageStop,
    /// A sign of life.
    Ping,
    /// The stream ends with an error.
    Error {
        /// `error.type`, e.g. `overloaded_error`; empty when absent.
        kind: Cow<'a, str>,
        /// `error.message`; empty when absent.
        message: Cow<'a, str>,
    },
    /// A `type` this version does not know, or data without one under a name that it does not know: passed through.
    Unknown {
        /// The `type`, or else the event's name.
        kind: Cow<'a, str>,
    },
    /// Not JSON, or a known type whose required members are missing, under a name that the API has for its events or under none.
    Malformed {
        /// The problem.
        problem: Cow<'a, str>,
    },
}

/// The members of `message_start` about the answer.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct MessageStart<'a> {
    /// The API's message id.
    pub id: Cow<'a, str>,
    /// The model that answers.
    pub model: Cow<'a, str>,
    /// First token counts.
    pub usage: Usage,
    /// The blocks that came with it, each as its JSON text: all of the answer where code that the API runs asks for tools.
    pub content: Vec<Cow<'a, str>>,
    /// `stop_reason`; `None` when null or absent, as in all answers whose content comes later.
    pub stop_reason: Option<Cow<'a, str>>,
    /// `stop_sequence`; `None` when null or absent.
    pub stop_sequence: Option<Cow<'a, str>>,
}

/// The members of `message_delta`.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct MessageDelta<'a> {
    /// `delta.stop_reason`; `None` when null or absent.
    pub stop_reason: Option<Cow<'a, str>>,
    /// `delta.stop_sequence`; `None` when null or absent.
    pub stop_sequence: Option<Cow<'a, str>>,
    /// Running totals.
    pub usage: Usage,
}

/// A piece of a content block.
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub enum BlockDelta<'a> {
    /// Appended to a text block.
    Text(Cow<'a, str>),
    /// Appended to a tool input's text.
    InputJson(Cow<'a, str>),
    /// Appended to a thinking block.
    Thinking(Cow<'a, str>),
    /// Replaces a thinking block's signature.
    Signature(Cow<'a, str>),
    /// One citation object, as JSON text, for a text block.
    Citation(Cow<'a, str>),
    /// Replaces a compaction block's members: the delta object as JSON text.
    Compaction(Cow<'a, str>),
    /// A delta `type` this version does not know.
    Unknown {
        /// The `type`.
        kind: Cow<'a, str>,
    },
}

impl EventPayload<'_> {
    /// The same, free of the text it was read from.
    pub fn into_owned(self) -> EventPayload<'static> {
        match self {
            EventPayload::MessageStart(start) => EventPayload::MessageStart(MessageStart {
                id: own(start.id),
                model: own(start.model),
                usage: start.usage,
                content: start.content.into_iter().map(own).collect(),
                stop_reason: start.stop_reason.map(own),
                stop_sequence: start.stop_sequence.map(own),
            }),
            EventPayload::BlockStart { index, kind, block } => EventPayload::BlockStart { index, kind: own(kind), block: own(block) },
            EventPayload::BlockDelta { index, delta } => EventPayload::BlockDelta { index, delta: delta.into_owned() },
            EventPayload::BlockStop { index } => EventPayload::BlockStop { index },
            EventPayload::MessageDelta(delta) => EventPayload::MessageDelta(MessageDelta {
                stop_reason: delta.stop_reason.map(own),
                stop_sequence: delta.stop_sequence.map(own),
                usage: delta.usage,
            }),
            EventPayload::MessageStop => EventPayload::MessageStop,
            EventPayload::Ping => EventPayload::Ping,
            EventPayload::Error { kind, message } => EventPayload::Error { kind: own(kind), message: own(message) },
            EventPayload::Unknown { kind } => EventPayload::Unknown { kind: own(kind) },
            EventPayload::Malformed { problem } => EventPayload::Malformed { problem: own(problem) },
        }
    }
}

impl BlockDelta<'_> {
    /// Whether it adds nothing, wherever it is put.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::InputJson(text) | Self::Thinking(text) | Self::Signature(text) => text.is_empty(),
            Self::Citation(_) | Self::Compaction(_) | Self::Unknown { .. } => false,
        }
    }

    fn into_owned(self) -> BlockDelta<'static> {
        match self {
            BlockDelta::Text(text) => BlockDelta::Text(own(text)),
            BlockDelta::InputJson(text) => BlockDelta::InputJson(own(text)),
            BlockDelta::Thinking(text) => BlockDelta::Thinking(own(text)),
            BlockDelta::Signature(text) => BlockDelta::Signature(own(text)),
            BlockDelta::Citation(text) => BlockDelta::Citation(own(text)),
            BlockDelta::Compaction(text) => BlockDelta::Compaction(own(text)),
            BlockDelta::Unknown { kind } => BlockDelta::Unknown { kind: own(kind) },
        }
    }
}

fn own(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl core::hash::Hash for StreamEvent {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (&self.name, &self.data).hash(state);
    }
}

impl PartialEq for StreamEvent {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.data == other.data
    }
}

impl fmt::Debug for StreamEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.data)
    }
}

/// Written as the two texts; the payload is decoded again on reading.
#[derive(Serialize, Deserialize)]
struct EventText<'a> {
    event: Cow<'a, str>,
    data: Cow<'a, str>,
}

impl Serialize for StreamEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EventText { event: Cow::Borrowed(&self.name), data: Cow::Borrowed(&self.data) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StreamEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EventText::deserialize(deserializer).map(|written| Self::decode(&written.event, &written.data))
    }
}
