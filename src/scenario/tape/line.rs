//! The line format of `*.tape.jsonl`: one JSON object a line, read one at a time (F-1).
//!
//! ```text
//! {"reenact_tape":1,"recorder":"reenact 0.1.0 import","upstream":"api.anthropic.com"}
//! {"request":1,"thread":"main","provenance":"recorded","at":0,"method":"POST","path":"/v1/messages","headers":[["accept","*/*"]],"body":[…],"body_hash":"…"}
//! {"head":1,"at":412000,"status":200,"headers":[["content-type","text/event-stream"]]}
//! {"chunk":1,"at":412350,"text":"event: message_start\ndata: {…}\n\n"}
//! {"end":1,"at":1903000,"how":"complete","chunks":1,"bytes":45}
//! ```
//!
//! Times are microseconds: of a request from the start of the tape, of the others from their request. `at` is absent where the source
//! does not say. Lines of several exchanges may interleave. Bytes that are not UTF-8 stand as `"base64"` instead of `"text"` (F-3).
//! `"decoded":"gzip"` in a head line says that the body travelled in this encoding; it stands here without it, and the headers that spoke of it are
//! gone. An exchange that ends before a head came has no head line. `chunks` and `bytes` of an end line let a reader notice that a line in between
//! was lost. The first member names the kind of line; where it does not (a tool sorted the members), the members decide.
//!
//! A request's body is a list of pieces, so that content which each request repeats is stored once (F-4); see [`BodyPiece`].
//!
//! Reading has two forms. [`TapeLine::read`] reads one line and keeps nothing: a summary of a tape of any size takes the memory of its longest line.
//! [`TapeDecoder`] puts exchanges together and therefore holds what it has read: every distinct piece of the requests once, and the bodies.

mod body;
mod body_decoder;
mod decode;
mod encode;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

#[doc(hidden)]
pub use self::body::WINDOW;
pub use self::body::{BodyPiece, SpanId};
#[doc(hidden)]
pub use self::body_decoder::{BodyDecoder, BodyError};
#[doc(hidden)]
pub use self::decode::tape_header;
pub use self::decode::{TapeDecoder, TapeError};
pub use self::encode::{NewRequest, TapeEncoder, encode, encode_exchanges, encode_to};
use super::{Provenance, ResponseEnd, TapeHeader};
use reenact_engine::time::Micros;
use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{self, RawObject};

/// One line, with the members that this version does not know (F-5).
#[derive(Clone, Debug, PartialEq)]
pub struct TapeLine {
    /// Its content.
    pub kind: LineKind,
    /// Further members, values byte for byte.
    pub unknown: Vec<(Arc<str>, Json)>,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum LineKind {
    /// The first line.
    Header {
        /// The version of the format.
        version: u32,
        /// Where the tape comes from.
        header: TapeHeader,
    },
    /// A request was made.
    Request(RequestLine),
    /// The head of an answer came.
    Head {
        /// The exchange.
        id: u32,
        /// The time from the request.
        at: Option<Micros>,
        /// HTTP status.
        status: u16,
        /// Response headers.
        headers: Vec<HttpHeader>,
    },
    /// A piece of an answer's body came.
    Chunk {
        /// The exchange.
        id: u32,
        /// The time from the request.
        at: Option<Micros>,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// An exchange ended.
    End {
        /// The exchange.
        id: u32,
        /// The time from the request.
        at: Option<Micros>,
        /// The kind of end.
        how: ResponseEnd,
        /// The number of its chunk lines.
        chunks: Option<u64>,
        /// How many bytes they hold.
        bytes: Option<u64>,
    },
    /// A kind of line that this version does not know, byte for byte (F-5).
    Unknown(Arc<str>),
}

/// A request as its line holds it: the body still in pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestLine {
    /// The exchange.
    pub id: u32,
    /// Its thread of conversation.
    pub thread: Arc<str>,
    /// The exchange whose conversation it extends.
    pub parent: Option<u32>,
    /// When, from the start of the tape.
    pub at: Option<Micros>,
    /// Where it comes from (F-12).
    pub provenance: Provenance,
    /// HTTP method.
    pub method: Arc<str>,
    /// Path with query.
    pub path: Arc<str>,
    /// Request headers.
    pub headers: Vec<HttpHeader>,
    /// The body in pieces (F-4).
    pub body: Vec<BodyPiece>,
    /// BLAKE3 of the whole body, in hexadecimal.
    pub body_hash: String,
}

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct LineError {
    /// Where in the line, from 1, in bytes.
    pub column: usize,
    /// The problem.
    pub problem: String,
    /// Whether the line is the beginning of a JSON value that continues: what a cut leaves.
    pub unfinished: bool,
}

impl TapeLine {
    /// Reads one line, without its line end.
    ///
    /// # Errors
    /// Where and why it is not a line of a tape. A kind of line that is not known is no error.
    pub fn read(line: &[u8]) -> Result<Self, LineError> {
        let text = core::str::from_utf8(line).map_err(|error| LineError {
            column: error.valid_up_to() + 1,
            problem: String::from("the line is not UTF-8"),
            unfinished: error.error_len().is_none(),
        })?;
        let object = RawObject::parse(text).map_err(|error| LineError {
            column: column_of(&error),
            problem: format!("the line is not a JSON object: {}", without_place(&error)),
            unfinished: error.is_eof(),
        })?;
        let Some(word) = kind_word(&object) else {
            return Ok(Self { kind: LineKind::Unknown(text.into()), unknown: Vec::new() });
        };
        let members = object.members().map(|(name, value)| (Arc::from(name), value)).collect();
        let mut fields = LineFields { line: text, members };
        let kind = match word {
            LineWord::Tape => LineKind::Header { version: fields.need(word.name())?, header: fields.header()? },
            LineWord::Request => LineKind::Request(fields.request()?),
            LineWord::Head => LineKind::Head {
                id: fields.need(word.name())?,
                at: fields.take("at")?,
                status: fields.need("status")?,
                headers: fields.headers()?,
            },
            LineWord::Chunk => LineKind::Chunk { id: fields.need(word.name())?, at: fields.take("at")?, bytes: fields.bytes()? },
            LineWord::End => LineKind::End {
                id: fields.need(word.name())?,
                at: fields.take("at")?,
                how: fields.need("how")?,
                chunks: fields.take("chunks")?,
                bytes: fields.take("bytes")?,
            },
        };
        Ok(Self { kind, unknown: fields.rest() })
    }
}

/// The members that name a kind of line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineWord {
    Tape,
    Request,
    Head,
    Chunk,
    End,
}

impl LineWord {
    /// Each with a member that its line cannot do without, by which it is known when it does not stand first.
    const ALL: [(Self, &str); 5] =
        [(Self::Tape, "reenact_tape"), (Self::Request, "body"), (Self::Head, "status"), (Self::Chunk, "text"), (Self::End, "how")];

    fn name(self) -> &'static str {
        match self {
            Self::Tape => "reenact_tape",
            Self::Request => "request",
            Self::Head => "head",
            Self::Chunk => "chunk",
            Self::End => "end",
        }
    }
}

fn kind_word(line: &RawObject<'_>) -> Option<LineWord> {
    let first = line.members().next().map(|(name, _)| name);
    let by_first = LineWord::ALL.into_iter().find(|(word, _)| first == Some(word.name()));
    let by_members = || {
        LineWord::ALL.into_iter().find(|(word, companion)| {
            let has = |name: &str| line.get(name).is_some();
            has(word.name()) && (has(companion) || (*word == LineWord::Chunk && has("base64")))
        })
    };
    by_first.or_else(by_members).map(|(word, _)| word)
}

/// Takes known members out of a line; what is left over is not known.
struct LineFields<'a> {
    line: &'a str,
    members: Vec<(Arc<str>, &'a str)>,
}

impl<'a> LineFields<'a> {
    fn take<T: Deserialize<'a>>(&mut self, name: &str) -> Result<Option<T>, LineError> {
        let Some(position) = self.members.iter().position(|(known, _)| **known == *name) else { return Ok(None) };
        let (_, value) = self.members.remove(position);
        let read = serde_json::from_str::<Option<T>>(value);
        read.map_err(|error| self.wrong(value, column_of(&error), format!("`{name}`: {}", without_place(&error))))
    }

    fn need<T: Deserialize<'a>>(&mut self, name: &str) -> Result<T, LineError> {
        let value = self.take(name)?;
        value.ok_or_else(|| LineError { column: 1, problem: format!("`{name}` is missing"), unfinished: false })
    }

    fn wrong(&self, part: &str, column: usize, problem: String) -> LineError {
        LineError { column: body::offset_in(self.line, part).0 + column, problem, unfinished: false }
    }

    fn header(&mut self) -> Result<TapeHeader, LineError> {
        Ok(TapeHeader {
            recorder: self.take("recorder")?.unwrap_or_default(),
            recorded_at: self.take("recorded_at")?,
            upstream: self.take("upstream")?,
            imported_from: self.take("imported_from")?,
            lost: self.take("lost")?.unwrap_or_default(),
            redactions: self.take("redactions")?.unwrap_or_default(),
            folders: self.take("folders")?.unwrap_or_default(),
        })
    }

    fn request(&mut self) -> Result<RequestLine, LineError> {
        Ok(RequestLine {
            id: self.need(LineWord::Request.name())?,
            thread: self.take("thread")?.unwrap_or_else(|| "main".into()),
            parent: self.take("parent")?,
            at: self.take("at")?,
            provenance: self.take("provenance")?.unwrap_or_default(),
            method: self.need("method")?,
            path: self.need("path")?,
            headers: self.headers()?,
            body: self.need("body")?,
            body_hash: self.need("body_hash")?,
        })
    }

    fn headers(&mut self) -> Result<Vec<HttpHeader>, LineError> {
        let pairs: Vec<(Arc<str>, Arc<str>)> = self.take("headers")?.unwrap_or_default();
        Ok(pairs.into_iter().map(|(name, value)| HttpHeader { name, value }).collect())
    }

    fn bytes(&mut self) -> Result<Vec<u8>, LineError> {
        if let Some(text) = self.take::<String>("text")? {
            return Ok(text.into_bytes());
        }
        let encoded: &RawValue = self.need("base64")?;
        let text = raw_json::string(encoded.get()).unwrap_or_default();
        STANDARD.decode(&*text).map_err(|error| self.wrong(encoded.get(), 1, format!("`base64`: {error}")))
    }

    fn rest(self) -> Vec<(Arc<str>, Json)> {
        self.members.into_iter().map(|(name, value)| (name, Json::trusted(value))).collect()
    }
}

fn column_of(error: &serde_json::Error) -> usize {
    error.column().max(1)
}

/// The parser's message without "at line 1 column n": the place is reported separately.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or_else(|| message.clone(), |(what, _)| String::from(what))
}
