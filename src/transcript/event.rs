//! The events that a transcript is made of (X-1), as data.
//!
//! Most are the inputs and effects themselves; a request is kept as what it adds to the one before, because each repeats the whole
//! conversation. Nothing is derived from a running index, so that one more event renames no other.

use serde::{Deserialize, Serialize};

use reenact_engine::contract::{Agent, Effect, Input, RequestId};
use reenact_engine::random::Seed;
use reenact_engine::time::Time;
use reenact_wire::block::Message;
use reenact_wire::compare;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// The record of one run.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Transcript {
    /// The header.
    pub header: TranscriptHeader,
    /// The events, in order.
    pub events: Arc<[Event]>,
}

impl Transcript {
    /// The kinds of its events, in order.
    #[doc(hidden)]
    pub fn kinds(&self) -> impl Iterator<Item = &EventKind> {
        self.events.iter().map(|event| &event.what)
    }
}

/// The facts by which the run can be repeated; a transcript shows them first.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct TranscriptHeader {
    /// The scenario's title.
    pub title: Option<String>,
    /// The root of all draws.
    pub seed: Seed,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Hash, Serialize)]
pub struct Event {
    /// When, in microseconds of virtual time.
    #[serde(rename = "t")]
    pub at: Time,
    /// The agent; left out for the root agent.
    #[serde(skip_serializing_if = "Agent::is_root")]
    pub agent: Agent,
    /// The event itself.
    #[serde(flatten)]
    pub what: EventKind,
}

/// The kind of an event, with its details.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// Something happened to the engine.
    Input(Input),
    /// The engine sent a request.
    Request {
        /// Its name.
        id: RequestId,
        /// Its content.
        request: RequestRecord,
    },
    /// The engine wanted anything else.
    Effect(Effect),
    /// The world chose an answer.
    Served {
        /// For which request.
        id: RequestId,
        /// The answer's name.
        answer: Arc<str>,
        /// Where it comes from (F-12).
        provenance: Arc<str>,
    },
    /// Something goes wrong with a request or its answer because the scenario says so (M-4).
    Fault {
        /// The id of the request.
        id: RequestId,
        /// A few words about it.
        text: Arc<str>,
    },
    /// The request differs from the recorded one (M-3).
    Difference {
        /// The id of the request.
        id: RequestId,
        /// The place and both values.
        difference: RequestDifference,
    },
    /// An unused answer (M-3), or an interrupt whose moment never came (M-8).
    Unused {
        /// Its name.
        answer: Arc<str>,
    },
    /// The engine did something that the contract does not allow.
    Misuse {
        /// The text of the note.
        text: String,
    },
    /// From here on, the world makes no faults (O-18).
    Healed,
    /// A client in virtual time says what it did (G-1).
    Client {
        /// A few words, as `tool toolu_1 starts`.
        did: Arc<str>,
        /// More about it; empty for nothing.
        #[serde(default, skip_serializing_if = "str::is_empty")]
        text: Arc<str>,
    },
    /// The run is over.
    Ended {
        /// The reason of the end.
        end: RunEnd,
    },
    /// A file of the session's workspace is another one than before.
    File {
        /// Its path.
        path: Arc<str>,
        /// `made`, `changed` or `removed`.
        change: Arc<str>,
        /// The tool run that did it; `None` for another process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<Arc<str>>,
        /// The lines that went and came, each behind its sign.
        lines: Arc<str>,
    },
    /// The API does not take the request: a defect of the engine, unless the prompt is only too long (M-2).
    Refused {
        /// The id of the request.
        id: RequestId,
        /// The name of the broken rule.
        rule: Arc<str>,
        /// The text of the API.
        text: Arc<str>,
        /// Whether it was answered all the same, because the recording has an answer.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        overruled: bool,
    },
}

/// A request as what it adds to the same agent's one before it.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The model.
    pub model: Arc<str>,
    /// The cap on output tokens.
    pub max_tokens: u64,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// System prompt, tools and further members, where they changed since the request before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameRecord>,
    /// Whether the last message carries a cache breakpoint (N-7).
    #[serde(default)]
    pub cache_last_message: bool,
    /// How many messages it has in common with the start of the request before.
    pub kept: usize,
    /// The messages after those.
    pub added: Vec<Arc<Message>>,
}

impl RequestRecord {
    /// The whole request, after the one before it.
    pub fn after(&self, before: Option<&Request>) -> Request {
        let mut request = before.cloned().unwrap_or_else(|| Request::new(&self.model, self.max_tokens));
        request.model = self.model.clone();
        request.max_tokens = self.max_tokens;
        request.stream = self.stream;
        request.cache_last_message = self.cache_last_message;
        if let Some(FrameRecord { system, tools, extra }) = &self.frame {
            (request.system, request.tools, request.extra) = (system.clone(), tools.clone(), extra.clone());
        }
        request.messages.truncate(self.kept);
        request.messages.extend(self.added.iter().cloned());
        request
    }
}

/// The part of a request that stays the same over a session.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct FrameRecord {
    /// The system prompt.
    pub system: Option<Json>,
    /// The tools.
    pub tools: Option<Json>,
    /// Further members.
    pub extra: Json,
}

/// One place where a request differs from the recorded one; values are cut JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestDifference {
    /// The place in the request.
    pub path: String,
    /// The recorded value; `None` for nothing.
    pub recorded: Option<String>,
    /// The sent value; `None` for nothing.
    pub sent: Option<String>,
}

impl From<&compare::BodyDifference> for RequestDifference {
    fn from(difference: &compare::BodyDifference) -> Self {
        let text = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
        let (recorded, sent) = (text(&difference.recorded), text(&difference.sent));
        let from = match (&recorded, &sent) {
            (Some(recorded), Some(sent)) => beginning(recorded, sent),
            _ => 0,
        };
        let cut = |text: String| match from {
            0 => cut(&text, 120),
            _ => format!("…{}", cut(&text[from..], 120)),
        };
        Self { path: difference.path.clone(), recorded: recorded.map(cut), sent: sent.map(cut) }
    }
}

/// Where two texts are shown from, in bytes: from the start, unless they begin to differ late.
fn beginning(one: &str, other: &str) -> usize {
    const LEAD_CHARS: usize = 40;
    let same: Vec<usize> = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b).map(|((at, _), _)| at).collect();
    if same.len() < 2 * LEAD_CHARS { 0 } else { same[same.len() - LEAD_CHARS] }
}

impl core::fmt::Display for RequestDifference {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let value = |value: &'_ Option<String>| value.clone().unwrap_or_else(|| String::from("nothing"));
        write!(f, "{}: recorded {}, sent {}", self.path, value(&self.recorded), value(&self.sent))
    }
}

/// Why a run was over: the simulation's own ends, which are never an engine's terminal (Q-2, D6).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// Every prompt was answered and nothing is left to happen.
    Idle,
    /// Nothing is left to happen, and a prompt was not answered.
    Stalled,
    /// A request came for which there is not an answer (M-3).
    TapeExhausted {
        /// The agent; left out for the root agent.
        #[serde(default, skip_serializing_if = "Agent::is_root")]
        agent: Agent,
        /// The id of the request.
        id: RequestId,
    },
    /// A limit of the scenario was reached (M-9).
    LimitReached {
        /// The limit that was reached.
        limit: Arc<str>,
    },
    /// It was stopped from outside.
    Stopped,
}

impl RunEnd {
    /// The word that transcripts and scenarios use.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Stalled => "stalled",
            Self::TapeExhausted { .. } => "tape_exhausted",
            Self::LimitReached { .. } => "limit_reached",
            Self::Stopped => "stopped",
        }
    }
}

/// The first `limit` characters, with a mark and the number of all bytes where something is left out.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_string(),
        Some((at, _)) => {
            let digest = blake3::hash(text.as_bytes()).to_hex();
            format!("{}… ({} bytes, {})", &text[..at], text.len(), &digest.as_str()[..8])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_3_values_are_shown_from_where_they_begin_to_differ() {
        let difference = |one: &str, other: &str| {
            let value = |text: &str| Some(serde_json::Value::from(text));
            RequestDifference::from(&compare::BodyDifference { path: "p".into(), recorded: value(one), sent: value(other) }).to_string()
        };
        assert_eq!(difference("old", "new"), r#"p: recorded "old", sent "new""#);
        let long = "é".repeat(500);
        let shown = difference(&format!("{long}old"), &format!("{long}new"));
        assert!(shown.starts_with("p: recorded …é") && shown.contains(r#"éold", sent …é"#) && shown.ends_with(r#"énew""#), "{shown}");
        assert!(shown.len() < 250, "{shown}");
    }
}
