//! A tape: recorded exchanges in order (F-1).
//!
//! This is the meaning. The line format is `scenario::tape::line`, files are read in the `files` room.

use serde::{Deserialize, Serialize};

use reenact_engine::time::Micros;
use reenact_wire::answer::{AnswerReader, CompleteAnswer};
use reenact_wire::http::{HttpHeader, is_event_stream};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

pub mod line;
#[doc(hidden)]
pub mod placeholder;

/// The version of the line format that this program writes, and the newest it reads (F-5).
pub const TAPE_VERSION: u32 = 1;

/// A tape as far as it could be read: every complete exchange, and a note on the others (F-2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    /// Where it comes from.
    pub header: TapeHeader,
    /// The exchanges that ended, in the order of their requests.
    pub exchanges: Vec<Exchange>,
    /// The entries that were left out, with their places.
    pub left_out: Vec<UnusableEntry>,
    /// The members that this version does not know and writes back (F-5).
    pub unknown: Vec<UnknownEntry>,
}

/// Something of a tape that this version does not know (F-5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEntry {
    /// The line that it belongs to, or that it follows.
    pub place: TapePlace,
    /// Its kind.
    pub what: UnknownPart,
}

/// A line of a tape, by what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TapePlace {
    /// The header.
    Header,
    /// The request of an exchange.
    Request(u32),
    /// The head of an exchange's answer.
    Head(u32),
    /// A piece of an exchange's answer, counted from 0.
    Chunk(u32, u64),
    /// The end of an exchange.
    End(u32),
}

/// The kept form of an unknown member (F-5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownPart {
    /// Members of a known line, values byte for byte.
    Members(Vec<(Arc<str>, Json)>),
    /// A whole line after the one at its place, byte for byte.
    Line(Arc<str>),
}

/// Where a tape comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TapeHeader {
    /// The program that wrote it, e.g. `reenact 0.1.0 import`.
    pub recorder: String,
    /// When the recording was made, as the source says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// The upstream host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The format that it was imported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<String>,
    /// The facts that the source did not hold (`chunk times`, `packet boundaries`, `requests`, …).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Redactions applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<String>,
    /// The folders that the recorded client had, as it may name them in its requests; empty when the recorder did not start it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<(ClientFolder, String)>,
}

/// The purpose of a folder for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientFolder {
    /// The user's own.
    Home,
    /// For temporary files.
    Tmp,
    /// Where it works.
    Work,
}

impl ClientFolder {
    /// How it is shown where its path would vary.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Home => "<home>",
            Self::Tmp => "<tmp>",
            Self::Work => "<work>",
        }
    }
}

/// One HTTP request and its response.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Its number in the tape, from 1.
    pub id: u32,
    /// The thread of conversation it belongs to: `main`, or another name (M-3).
    pub thread: Arc<str>,
    /// The exchange of the same thread whose conversation it extends.
    pub parent: Option<u32>,
    /// Where its content comes from (F-12).
    pub provenance: Provenance,
    /// When the request was made, from the start of the tape; `None` when the source does not say.
    pub at: Option<Micros>,
    /// HTTP method.
    pub method: Arc<str>,
    /// Path with query, e.g. `/v1/messages?beta=true`.
    pub path: Arc<str>,
    /// Request headers that were kept.
    pub headers: Arc<[HttpHeader]>,
    /// Request body; empty when the source holds none.
    pub body: Arc<[u8]>,
    /// The answer.
    pub answer: RecordedResponse,
}

/// A response as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedResponse {
    /// HTTP status; 0 when the exchange ended before a head came.
    pub status: u16,
    /// Response headers that were kept.
    pub headers: Arc<[HttpHeader]>,
    /// When the head was in, from the request; `None` when the source does not say.
    pub head_at: Option<Micros>,
    /// The body in pieces as received, decompressed.
    pub chunks: Arc<[BodyChunk]>,
    /// The end of the response.
    pub end: ResponseEnd,
    /// When it ended, from the request; `None` when the source does not say.
    pub end_at: Option<Micros>,
}

/// A piece of a body: a network packet where the source kept them.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyChunk {
    /// When it arrived, from the request; `None` when the source does not say.
    pub at: Option<Micros>,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseEnd {
    /// Whole.
    #[default]
    Complete,
    /// The connection was cut.
    Reset,
    /// Nothing came any more.
    Timeout,
    /// The client went away.
    ClientGone,
}

words! {
    /// Where an exchange comes from (F-12).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Provenance default Recorded {
        /// Real traffic.
        Recorded = "recorded",
        /// Real traffic that was changed.
        Derived = "derived",
        /// Made by hand.
        Written = "written",
    }
}

/// Something in a tape that replay cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableEntry {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1; the end of an unfinished line.
    pub column: usize,
    /// The fact and its consequence.
    pub problem: String,
    /// How that came about.
    pub cause: UnusableCause,
}

/// How something in a tape came to be of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableCause {
    /// Its recorder was stopped, or is still at work (K-3).
    Unfinished,
    /// It is not what a recorder writes.
    Broken,
}

impl Exchange {
    /// Whether its request is one that is answered with a message.
    pub fn asks_for_message(&self) -> bool {
        asks_for_message(&self.method, &self.path)
    }
}

impl RecordedResponse {
    /// Whether the body is a stream of events: by its content type or, where the source kept no headers, by how it begins.
    pub fn is_event_stream(&self) -> bool {
        is_event_stream(&self.headers).unwrap_or_else(|| {
            let first = self.chunks.iter().find(|chunk| !chunk.bytes.is_empty());
            first.is_some_and(|chunk| [&b"event:"[..], b"data:", b":"].iter().any(|start| chunk.bytes.starts_with(start)))
        })
    }

    /// The message that it brought; `None` where none is complete.
    #[doc(hidden)]
    pub fn complete_answer(&self) -> Option<CompleteAnswer> {
        if self.status != 200 {
            return None;
        }
        let mut reader = AnswerReader::new(self.is_event_stream());
        self.chunks.iter().for_each(|chunk| reader.feed(&chunk.bytes));
        reader.finish()
    }

    /// The whole body.
    pub fn body(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect()
    }
}

/// Whether this path is the one that answers with a message.
pub fn is_messages(path: &str) -> bool {
    path.split(['?', '#']).next().is_some_and(|path| path.trim_end_matches('/').ends_with("/v1/messages"))
}

/// Whether such a request is answered with a message: `OPTIONS` and `HEAD` on the same path are part of no conversation. Sources without a method
/// mean the one that the API has.
pub fn asks_for_message(method: &str, path: &str) -> bool {
    (method.is_empty() || method.eq_ignore_ascii_case("POST")) && is_messages(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_3_only_one_path_holds_conversations() {
        assert!(is_messages("/v1/messages?beta=true") && is_messages("/proxy/v1/messages/"));
        assert!(!is_messages("/v1/messages/count_tokens") && !is_messages("/v1/models"));
        assert!(asks_for_message("post", "/v1/messages") && asks_for_message("", "/v1/messages"));
        assert!(["OPTIONS", "HEAD", "GET"].iter().all(|method| !asks_for_message(method, "/v1/messages")));
    }
}
