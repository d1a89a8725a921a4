//! The body of an answer as it streams: chunks go in, and come out when everything in them is decided.

use std::collections::VecDeque;

use super::blocks::BlockReader;
use super::region::HeldRegion;
use super::replacements::PendingReplacements;
use super::{Redactor, SecretHit};
use reenact_engine::time::Micros;
use reenact_wire::http::{HttpHeader, is_event_stream};

/// A line of a stream that grows beyond this is not an event; the rest is read as one text.
const LINE_BYTES_MAX: usize = 4 << 20;

/// The longest beginning of an event that distinguishes it from other text.
const EVENT_FIELD_BYTES: usize = b"event:".len();

/// How much of a body that is there as a whole is read at once.
const PIECE_BYTES: usize = 4 << 20;

/// The longest body that is read as one text. The views of a text take many times its size.
const WHOLE_BODY_BYTES_MAX: usize = 4 << 20;

/// Whether a body is too long to be read as one text: it is read in parts, like an answer.
pub(super) fn is_long(bytes: &[u8]) -> bool {
    bytes.len() > WHOLE_BODY_BYTES_MAX
}

/// Whether a body begins as a stream of events does.
pub(super) fn is_stream(beginning: &[u8]) -> bool {
    [&b"event:"[..], b"data:", b":"].iter().any(|field| beginning.starts_with(field))
}

/// A piece of a body with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldChunk {
    /// When it came.
    pub at: Micros,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Holds the chunks of one answer until their secrets are replaced. Chunks keep their number, order and lengths.
#[derive(Clone, Debug)]
pub struct AnswerRedactor {
    held: VecDeque<(u64, HeldChunk)>,
    received: u64,
    /// Hits since the last release.
    hits: Vec<SecretHit>,
    pending: PendingReplacements,
    /// The rules and offsets of hits that were not reported yet.
    found: Vec<(usize, u64)>,
    form: AnswerForm,
}

#[derive(Clone, Debug)]
enum AnswerForm {
    /// A body of which too little came to say what it is.
    Unknown(Vec<u8>),
    /// A stream of events.
    Events(Box<BlockReader>),
    /// Any other body.
    Whole(Box<HeldRegion>),
}

impl AnswerRedactor {
    /// For an answer with these headers. What a body is shows in how it begins, whatever its content type says.
    pub fn from_headers(headers: &[HttpHeader]) -> Self {
        match is_event_stream(headers) {
            Some(true) => Self::events(),
            Some(false) | None => Self::body(),
        }
    }

    /// For a stream of events.
    pub(super) fn events() -> Self {
        Self {
            held: VecDeque::new(),
            received: 0,
            hits: Vec::new(),
            pending: PendingReplacements::default(),
            found: Vec::new(),
            form: AnswerForm::Events(Box::default()),
        }
    }

    /// For any other body.
    pub(super) fn body() -> Self {
        Self { form: AnswerForm::Unknown(Vec::new()), ..Self::events() }
    }

    /// Reads a body that is there as a whole, in pieces, and gives them to `sink`.
    pub(super) fn read_whole(redactor: &mut Redactor, bytes: &[u8], sink: &mut impl FnMut(HeldChunk)) -> Self {
        let mut answer = Self::body();
        for piece in bytes.chunks(PIECE_BYTES) {
            answer.feed(redactor, HeldChunk { at: Micros(0), bytes: piece.to_vec() }, sink);
        }
        answer.finish(redactor, sink);
        answer
    }

    /// Takes the next chunk; gives those that are decided to `sink`.
    pub fn feed(&mut self, redactor: &mut Redactor, chunk: HeldChunk, sink: &mut impl FnMut(HeldChunk)) {
        let start = self.received;
        self.received += chunk.bytes.len() as u64;
        if let AnswerForm::Unknown(beginning) = &mut self.form {
            beginning.extend_from_slice(&chunk.bytes);
            if beginning.len() >= EVENT_FIELD_BYTES {
                self.begin(redactor);
            }
        } else {
            self.read(start, &chunk.bytes, redactor);
        }
        self.held.push_back((start, chunk));
        let decided = match &self.form {
            AnswerForm::Unknown(_) => 0,
            AnswerForm::Events(blocks) => blocks.undecided().unwrap_or(self.received),
            AnswerForm::Whole(region) => region.undecided().unwrap_or(self.received),
        };
        self.release(decided, sink);
    }

    /// The answer has ended, well or not.
    pub fn finish(&mut self, redactor: &mut Redactor, sink: &mut impl FnMut(HeldChunk)) {
        if matches!(self.form, AnswerForm::Unknown(_)) {
            self.begin(redactor);
        }
        match &mut self.form {
            AnswerForm::Unknown(_) => (),
            AnswerForm::Events(blocks) => blocks.finish(redactor, &mut self.hits),
            AnswerForm::Whole(region) => self.hits.extend(region.decide_all(redactor)),
        }
        self.release(self.received, sink);
    }

    /// How many bytes are held.
    pub fn held_bytes(&self) -> usize {
        self.held.iter().map(|(_, chunk)| chunk.bytes.len()).sum()
    }

    /// Where secrets were found since the last call: the rule, and the offset in the body.
    pub(super) fn take_found(&mut self) -> Vec<(usize, u64)> {
        std::mem::take(&mut self.found)
    }

    /// Decides what the body is, and reads what came of it.
    fn begin(&mut self, redactor: &mut Redactor) {
        let AnswerForm::Unknown(beginning) = &mut self.form else { return };
        let beginning = std::mem::take(beginning);
        self.form = match is_stream(&beginning) {
            true => AnswerForm::Events(Box::default()),
            false => AnswerForm::Whole(Box::default()),
        };
        self.read(0, &beginning, redactor);
    }

    /// Looks at the next bytes of a body that is known.
    fn read(&mut self, start: u64, bytes: &[u8], redactor: &mut Redactor) {
        match &mut self.form {
            AnswerForm::Unknown(_) => (),
            AnswerForm::Events(blocks) => {
                blocks.feed(start, bytes, redactor, &mut self.hits);
                if blocks.line_bytes() > LINE_BYTES_MAX {
                    let mut region = HeldRegion::default();
                    blocks.give_up(redactor, &mut self.hits, &mut region);
                    self.hits.extend(region.decide_some(redactor));
                    self.form = AnswerForm::Whole(Box::new(region));
                }
            }
            AnswerForm::Whole(region) => {
                region.feed_source(start, bytes);
                self.hits.extend(region.decide_some(redactor));
            }
        }
    }

    /// Lets go of the chunks that end before the offset.
    fn release(&mut self, decided: u64, sink: &mut impl FnMut(HeldChunk)) {
        for hit in self.hits.drain(..) {
            self.found.push((hit.rule, hit.span().start));
            self.pending.add(&hit);
        }
        while let Some((start, chunk)) = self.held.front_mut() {
            if *start + chunk.bytes.len() as u64 > decided {
                break;
            }
            self.pending.write(*start, &mut chunk.bytes);
            if let Some((_, chunk)) = self.held.pop_front() {
                sink(chunk);
            }
        }
    }
}
