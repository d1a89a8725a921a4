//! Changes by the host of a session from a certain request on (S-11): to the members of requests beside the conversation, and messages that neither
//! the user nor the model wrote.
//!
//! Real clients do both in the middle of a session: another `tool_choice`, more `max_tokens`, a document beside a result, the first words of the
//! answer. A request has its place by its prompt and its number in it, as transcripts name it.

use serde::{Deserialize, Serialize};

use reenact_wire::block::Message;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// A request of a session, for all its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestPlace {
    /// The prompt, from 1.
    pub prompt: u32,
    /// Its request, from 1.
    pub request: u32,
}

impl RequestPlace {
    /// Before all requests.
    pub const START: Self = Self { prompt: 0, request: 0 };
}

/// Members of the request's body that hold from one request on.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct RequestChange {
    /// The first request that they hold for.
    pub from: RequestPlace,
    /// Members with their values, as one JSON object; never `messages`.
    pub set: Json,
    /// Members that are there no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<Arc<str>>,
    /// The tools that are offered from there on, by their names; `None` where that stays as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Arc<str>>>,
}

/// A message that the host puts into the conversation before a request is made. A prompt that makes no such request does without it.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct HostMessage {
    /// The request.
    pub at: RequestPlace,
    /// Where it goes.
    pub place: MessagePlace,
    /// The message, with its role.
    pub message: Arc<Message>,
}

words! {
    /// Where a message of the host's goes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MessagePlace default After {
        /// Before the last message: the prompt, or the results.
        Before = "before",
        /// Into the last message, at its end.
        Beside = "beside",
        /// After the last message.
        After = "after",
        /// In the place of what was said last in this role: for the model that is its answer, for the user the prompt or the results. Where nothing
        /// was said in it, the message is left out.
        Instead = "instead",
    }
}

words! {
    /// N-7: what becomes of messages of one role in a row.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NeighbourMerging default Joined {
        /// They are one message, as the API reads them.
        Joined = "joined",
        /// They stay apart, as some clients send them.
        Apart = "apart",
        /// They stay apart, and each result of a tool is a message of its own.
        ApartWithResults = "apart_with_results",
    }
}
