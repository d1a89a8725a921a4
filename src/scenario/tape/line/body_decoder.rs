//! The bodies of requests, put together from their pieces one after the other (F-4).
//!
//! Each distinct span is held once. The body itself goes to the caller, who may drop it: so a tape of any length can be read with the memory of its
//! distinct content.

use alloc::collections::{BTreeMap, VecDeque};

use super::body::WINDOW;
use super::{BodyPiece, RequestLine, SpanId};
use reenact_wire::prelude::*;

/// One body of more is not a request: the API takes 32 MB.
const BODY_BYTES_MAX: usize = 128 << 20;

/// The limit of all bodies of a tape together: this much, and so many bytes for each byte of the tape. Each request of a session repeats the ones
/// before, so honest tapes grow, too: one of 300 requests by a factor of 150 (K-12).
const BODIES_BYTES_MIN: usize = 128 << 20;
const BODIES_FACTOR: usize = 256;

/// Why a body is not put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It cannot be used; the end of a sentence about it.
    Unusable(String),
    /// It is too large.
    TooLarge,
}

/// Puts bodies together, in the order of their lines.
#[derive(Clone, Debug, Default)]
pub struct BodyDecoder {
    /// How many bytes were read, and how many the bodies took.
    read_bytes: usize,
    body_bytes: usize,
    spans: BTreeMap<SpanId, Arc<[u8]>>,
    recent: VecDeque<(u32, Vec<Arc<[u8]>>)>,
}

impl BodyDecoder {
    /// A line of so many bytes was read: the more there are, the larger may the bodies be.
    pub fn on_line(&mut self, bytes: usize) {
        self.read_bytes += bytes;
    }

    /// The whole body, checked against its hash. Its pieces serve later requests, even if this one has no answer (F-4).
    ///
    /// # Errors
    /// When a piece is not there, the hash is another one, or the bodies so far are too large for what was read (K-12).
    pub fn body(&mut self, line: &RequestLine) -> Result<Arc<[u8]>, BodyError> {
        let mut pieces = BodyPieces { list: Vec::with_capacity(line.body.len()), bytes: 0, bytes_max: self.body_room() };
        for piece in &line.body {
            match piece {
                BodyPiece::Literal(text) => pieces.push(&text.as_bytes().into())?,
                BodyPiece::Bytes(bytes) => pieces.push(bytes)?,
                BodyPiece::Span(id, text) => {
                    let shared = self.spans.entry(*id).or_insert_with(|| text.as_bytes().into());
                    pieces.push(shared)?;
                }
                BodyPiece::Ref(id) => {
                    let known = self
                        .spans
                        .get(id)
                        .ok_or_else(|| BodyError::Unusable(format!("refers to span {id}, which no earlier line holds")))?;
                    pieces.push(known)?;
                }
                BodyPiece::Run { of, first, count } => {
                    let known = self.recent.iter().rev().find(|(id, _)| id == of);
                    let run = known.and_then(|(_, list)| list.get(*first..first.checked_add(*count)?));
                    let run = run.ok_or_else(|| BodyError::Unusable(format!("refers to pieces of request {of} that are not there")))?;
                    run.iter().try_for_each(|piece| pieces.push(piece))?;
                }
            }
        }
        let BodyPieces { list: pieces, bytes, .. } = pieces;
        self.body_bytes += bytes;
        let body = pieces.concat();
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back((line.id, pieces));
        match *blake3::hash(&body).to_hex() == *line.body_hash {
            true => Ok(body.into()),
            false => Err(BodyError::Unusable(String::from("does not have the hash that was recorded"))),
        }
    }

    /// How many bytes the next body may take.
    fn body_room(&self) -> usize {
        (BODIES_BYTES_MIN + self.read_bytes.saturating_mul(BODIES_FACTOR)).saturating_sub(self.body_bytes).min(BODY_BYTES_MAX)
    }
}

/// The pieces of one body, and what they take: a piece of nothing takes room, too.
struct BodyPieces {
    list: Vec<Arc<[u8]>>,
    bytes: usize,
    bytes_max: usize,
}

impl BodyPieces {
    fn push(&mut self, piece: &Arc<[u8]>) -> Result<(), BodyError> {
        self.bytes += piece.len() + size_of::<Arc<[u8]>>();
        if self.bytes > self.bytes_max {
            return Err(BodyError::TooLarge);
        }
        self.list.push(Arc::clone(piece));
        Ok(())
    }
}
