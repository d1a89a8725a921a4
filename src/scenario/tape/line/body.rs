//! A request's body in pieces, so that a conversation which every request repeats is stored once (F-4).
//!
//! A body that is a JSON object is cut at the elements of `messages` and at the values of its other members; what is long enough
//! becomes a *span*, known by its hash, and what is left between stays literal. In a line a piece is one of
//!
//! - `"…"`: literal text,
//! - `{"span":"5be1…","text":"…"}`: a span that is new,
//! - `{"ref":"5be1…"}`: a span that an earlier line, or an earlier piece of this one, holds,
//! - `{"of":4,"first":0,"count":57}`: pieces of the body of request 4, counted with runs resolved,
//! - `{"base64":"…"}`: a body that is not UTF-8.
//!
//! Runs are what keeps a tape linear: a list of one reference a message would itself grow with the square of the session.
//! They reach back [`WINDOW`] request lines at most, so that neither side has to keep all lists.

use core::fmt;
use core::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use reenact_wire::json::push_string;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};

/// The least length of a span: a shorter one is not worth a hash.
pub(super) const SPAN_MIN: usize = 64;

/// How many request lines back a run may point. A format constant: readers keep as many lists.
#[doc(hidden)]
pub const WINDOW: usize = 16;

/// The name of a span: the first eight bytes of the BLAKE3 hash of its text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(u64);

impl SpanId {
    /// The name of this text.
    pub(super) fn from_hash(hash: &blake3::Hash) -> Self {
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        Self(u64::from_be_bytes(first))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A piece of a request's body as its line holds it (F-4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyPiece {
    /// Text that stands here alone.
    Literal(Arc<str>),
    /// A span that is new.
    Span(SpanId, Arc<str>),
    /// A span that was there before.
    Ref(SpanId),
    /// Pieces of the body of an earlier request.
    Run {
        /// The exchange whose body this is.
        of: u32,
        /// From which piece, from 0.
        first: usize,
        /// The number of them.
        count: usize,
    },
    /// A body that is not UTF-8 (F-3).
    Bytes(Arc<[u8]>),
}

impl BodyPiece {
    /// Appends the piece as JSON.
    pub(super) fn push_to(&self, out: &mut String) {
        match self {
            Self::Literal(text) => push_string(out, text),
            Self::Span(id, text) => {
                out.push_str(&format!(r#"{{"span":"{id}","text":"#));
                push_string(out, text);
                out.push('}');
            }
            Self::Ref(id) => out.push_str(&format!(r#"{{"ref":"{id}"}}"#)),
            Self::Run { of, first, count } => out.push_str(&format!(r#"{{"of":{of},"first":{first},"count":{count}}}"#)),
            Self::Bytes(bytes) => {
                out.push_str(r#"{"base64":""#);
                STANDARD.encode_string(bytes, out);
                out.push_str("\"}");
            }
        }
    }
}

impl<'de> Deserialize<'de> for BodyPiece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Read {
            Literal(Arc<str>),
            Span { span: String, text: Arc<str> },
            Ref { r#ref: String },
            Run { of: u32, first: usize, count: usize },
            Bytes { base64: String },
        }
        let id = |text: &str| match text.len() {
            16 => u64::from_str_radix(text, 16).map(SpanId).map_err(D::Error::custom),
            _ => Err(D::Error::custom("a span is named by 16 hexadecimal digits")),
        };
        let read = Read::deserialize(deserializer).map_err(|_| D::Error::custom("a piece of a body that this version does not know"))?;
        Ok(match read {
            Read::Literal(text) => Self::Literal(text),
            Read::Span { span, text } => Self::Span(id(&span)?, text),
            Read::Ref { r#ref } => Self::Ref(id(&r#ref)?),
            Read::Run { of, first, count } => Self::Run { of, first, count },
            Read::Bytes { base64 } => Self::Bytes(STANDARD.decode(base64).map_err(D::Error::custom)?.into()),
        })
    }
}

/// A part of a body, before it is known whether it was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyPart<'a> {
    /// The text between spans.
    Literal(&'a str),
    /// A text that may come again.
    Span(&'a str),
}

impl<'a> BodyPart<'a> {
    pub(super) fn text(self) -> &'a str {
        match self {
            Self::Literal(text) | Self::Span(text) => text,
        }
    }
}

/// Cuts a body at message boundaries; joined again, the parts are the body. A body that is not a JSON object is one literal.
pub(super) fn cut(body: &str) -> Vec<BodyPart<'_>> {
    let mut parts = Vec::new();
    let mut done = 0;
    for span in spans(body) {
        if span.start > done {
            parts.push(BodyPart::Literal(&body[done..span.start]));
        }
        done = span.end;
        parts.push(BodyPart::Span(&body[span]));
    }
    if done < body.len() {
        parts.push(BodyPart::Literal(&body[done..]));
    }
    parts
}

/// Where spans stand, in order, never overlapping.
fn spans(body: &str) -> Vec<Range<usize>> {
    let Ok(object) = RawObject::parse(body) else { return Vec::new() };
    let mut values: Vec<&str> = Vec::new();
    for (name, value) in object.members() {
        match elements(value) {
            Ok(messages) if name == "messages" => values.extend(messages),
            _ => values.push(value),
        }
    }
    let long = values.into_iter().filter(|value| value.len() >= SPAN_MIN);
    long.map(|value| offset_in(body, value)).map(|(start, end)| start..end).collect()
}

/// Where `part`, which must be a slice of `whole`, begins and ends in it.
pub(super) fn offset_in(whole: &str, part: &str) -> (usize, usize) {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    (start, start + part.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_4_a_body_is_cut_at_its_messages() {
        let long = "x".repeat(SPAN_MIN);
        let body = format!(r#" {{"system":"{long}", "messages":[{{"a":"{long}"}} ,{{"b":1}},{{"c":"{long}"}}],"stream":true}}"#);
        let parts = cut(&body);
        let spans: Vec<_> = parts.iter().filter(|part| matches!(part, BodyPart::Span(_))).map(|part| part.text()).collect();
        assert_eq!(spans, [format!("\"{long}\""), format!(r#"{{"a":"{long}"}}"#), format!(r#"{{"c":"{long}"}}"#)]);
        assert_eq!(parts.iter().map(|part| part.text()).collect::<String>(), body);
        assert_eq!(cut("not json"), [BodyPart::Literal("not json")]);
        assert_eq!(cut(""), []);
    }

    #[test]
    fn f_4_pieces_read_back() {
        let id = SpanId::from_hash(&blake3::hash(b"x"));
        let pieces = [
            BodyPiece::Literal("a\"b".into()),
            BodyPiece::Span(id, "é\n".into()),
            BodyPiece::Ref(id),
            BodyPiece::Run { of: 4, first: 0, count: 57 },
            BodyPiece::Bytes([0xff, 0x00].into()),
        ];
        for piece in pieces {
            let mut text = String::new();
            piece.push_to(&mut text);
            assert_eq!(serde_json::from_str::<BodyPiece>(&text).unwrap(), piece, "{text}");
        }
        assert!(serde_json::from_str::<BodyPiece>(r#"{"ref":"+000000000000001"}"#).is_ok_and(|piece| piece != BodyPiece::Ref(id)));
        assert!(serde_json::from_str::<BodyPiece>(r#"{"ref":"1"}"#).is_err());
    }
}
