//! From lines to exchanges. Any prefix of a tape is a tape: a cut exchange is reported and left out, and nothing else is lost (F-2).

use alloc::collections::BTreeMap;

use super::super::{
    BodyChunk, Exchange, RecordedResponse, ResponseEnd, TAPE_VERSION, Tape, TapeHeader, TapePlace, UnknownEntry, UnknownPart,
    UnusableCause, UnusableEntry,
};
use super::body_decoder::{BodyDecoder, BodyError};
use super::{LineError, LineKind, RequestLine, TapeLine};
use reenact_engine::time::Micros;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;

/// Why there is not a tape at all. Everything else that may be wrong with one is in [`Tape::left_out`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TapeError {
    /// There is no line.
    #[error("it is empty, and a tape begins with a header line: record or import again")]
    Empty,
    /// The first line is cut.
    #[error("line 1, column {column}: the header line is cut off, so nothing was recorded after it: record or import again")]
    HeaderCut {
        /// Where it ends.
        column: usize,
    },
    /// The first line is something else.
    #[error("line 1, column {column}: not a tape ({problem}): a recording in another format becomes one with `reenact import FILE`")]
    NotATape {
        /// Where it goes wrong.
        column: usize,
        /// The mistake.
        problem: String,
    },
    /// The tape is of a later format (F-5).
    #[error(
        "the tape has format version {version}, written by {recorder}, and this program reads up to version {TAPE_VERSION}: \
         use that program's version or a later one"
    )]
    Newer {
        /// The format's version.
        version: u32,
        /// The program that wrote it.
        recorder: String,
    },
    /// Most of it cannot be used (K-12).
    #[error("line {line}: more than {LEFT_OUT_MAX} lines and exchanges up to here cannot be used: record or import again")]
    Broken {
        /// Where.
        line: usize,
    },
    /// The bodies of its requests grow beyond what so short a tape may hold (K-12).
    #[error(
        "line {line}: the bodies of the requests up to here grow beyond what is read of a tape of this length, because each repeats \
         the ones before: no recorder writes so; record or import again"
    )]
    TooLarge {
        /// The line of the tape.
        line: usize,
    },
}

/// So much of a tape may be unusable. A recorder that was killed leaves a few lines, and each is reported (K-12).
const LEFT_OUT_MAX: usize = 10_000;

/// Puts exchanges together from lines; lines of parallel requests may interleave in any way.
///
/// It holds every distinct span of the requests once, and the bodies of the exchanges: a request's body whole, since replay compares it.
#[derive(Clone, Debug, Default)]
pub struct TapeDecoder {
    line: usize,
    bodies: BodyDecoder,
    tape: Tape,
    has_header: bool,
    place: Option<TapePlace>,
    exchanges: BTreeMap<u32, ExchangeProgress>,
    order: Vec<u32>,
}

/// How far an exchange has come.
#[derive(Clone, Debug)]
enum ExchangeProgress {
    Open(Box<UnendedExchange>),
    Whole(Box<Exchange>),
    /// Cannot be used; the reason was reported.
    Lost,
}

/// An exchange without its end. Its answer has status 0 until the head comes.
#[derive(Clone, Debug)]
struct UnendedExchange {
    line: usize,
    exchange: Exchange,
    chunks: Vec<BodyChunk>,
}

impl TapeDecoder {
    /// Before the first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next line, with or without its line end.
    ///
    /// # Errors
    /// When the first line is not the header of a tape that this version can read, when bodies grow too large, and when most of it cannot be used.
    pub fn feed(&mut self, line: &[u8]) -> Result<(), TapeError> {
        self.line += 1;
        self.bodies.on_line(line.len());
        let ended = line.last() == Some(&b'\n');
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if !self.has_header {
            return self.header(TapeLine::read(text), text.len());
        }
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match TapeLine::read(text) {
            Ok(TapeLine { kind, unknown }) => {
                if let Some(place) = self.take(kind)? {
                    self.place = Some(place);
                    if !unknown.is_empty() {
                        self.tape.unknown.push(UnknownEntry { place, what: UnknownPart::Members(unknown) });
                    }
                }
            }
            Err(error) if error.unfinished && !ended => {
                let problem = String::from("the line is cut off here; it was left out");
                let cause = UnusableCause::Unfinished;
                self.tape.left_out.push(UnusableEntry { line: self.line, column: text.len() + 1, problem, cause });
            }
            Err(error) => self.leave_out(error.column, format!("{error}; the line was left out")),
        }
        if self.tape.left_out.len() > LEFT_OUT_MAX {
            return Err(TapeError::Broken { line: self.line });
        }
        Ok(())
    }

    /// All that was whole, in the order of the requests.
    ///
    /// # Errors
    /// When there was no line at all.
    pub fn finish(mut self) -> Result<Tape, TapeError> {
        if !self.has_header {
            return Err(TapeError::Empty);
        }
        for id in core::mem::take(&mut self.order) {
            match self.exchanges.remove(&id) {
                Some(ExchangeProgress::Whole(exchange)) => self.tape.exchanges.push(*exchange),
                Some(ExchangeProgress::Open(open)) => {
                    let problem = format!("exchange {id} begins here and has no end; it was left out");
                    self.tape.left_out.push(UnusableEntry { line: open.line, column: 1, problem, cause: UnusableCause::Unfinished });
                }
                Some(ExchangeProgress::Lost) | None => (),
            }
        }
        self.tape.left_out.sort_by_key(|left_out| (left_out.line, left_out.column));
        Ok(self.tape)
    }

    fn header(&mut self, line: Result<TapeLine, LineError>, length: usize) -> Result<(), TapeError> {
        let (header, unknown) = tape_header(line, length)?;
        self.start(header);
        if unknown != UnknownPart::Members(Vec::new()) {
            self.tape.unknown.push(UnknownEntry { place: TapePlace::Header, what: unknown });
        }
        Ok(())
    }

    fn start(&mut self, header: TapeHeader) {
        self.has_header = true;
        self.place = Some(TapePlace::Header);
        self.tape.header = header;
    }

    /// The place of a line that was of use.
    fn take(&mut self, kind: LineKind) -> Result<Option<TapePlace>, TapeError> {
        Ok(match kind {
            LineKind::Header { .. } => {
                self.leave_out(1, String::from("a second header; it was left out, and ids that come again with it"));
                None
            }
            LineKind::Unknown(line) => {
                let place = self.place.unwrap_or(TapePlace::Header);
                self.tape.unknown.push(UnknownEntry { place, what: UnknownPart::Line(line) });
                None
            }
            LineKind::Request(request) => self.request(request)?,
            LineKind::Head { id, at, status, headers } => self.open(id, "head").map(|open| {
                open.exchange.answer.head_at = at;
                open.exchange.answer.status = status;
                open.exchange.answer.headers = headers.into();
                TapePlace::Head(id)
            }),
            LineKind::Chunk { id, at, bytes } => self.open(id, "chunk").map(|open| {
                open.chunks.push(BodyChunk { at, bytes: bytes.into() });
                TapePlace::Chunk(id, open.chunks.len() as u64 - 1)
            }),
            LineKind::End { id, at, how, chunks, bytes } => self.end(id, at, how, chunks, bytes),
        })
    }

    fn request(&mut self, line: RequestLine) -> Result<Option<TapePlace>, TapeError> {
        let id = line.id;
        if self.exchanges.contains_key(&id) {
            self.leave_out(1, format!("exchange {id} was there before; this request was left out"));
            return Ok(None);
        }
        self.order.push(id);
        let body = match self.bodies.body(&line) {
            Ok(body) => body,
            Err(BodyError::TooLarge) => return Err(TapeError::TooLarge { line: self.line }),
            Err(BodyError::Unusable(problem)) => {
                self.exchanges.insert(id, ExchangeProgress::Lost);
                self.leave_out(1, format!("the body of request {id} {problem}; the exchange was left out"));
                return Ok(None);
            }
        };
        let answer = RecordedResponse {
            status: 0,
            headers: Arc::new([]),
            head_at: None,
            chunks: Arc::new([]),
            end: ResponseEnd::Complete,
            end_at: None,
        };
        let RequestLine { thread, parent, at, provenance, method, path, headers, .. } = line;
        let headers: Arc<[HttpHeader]> = headers.into();
        let exchange = Exchange { id, thread, parent, provenance, at, method, path, headers, body, answer };
        self.exchanges.insert(id, ExchangeProgress::Open(Box::new(UnendedExchange { line: self.line, exchange, chunks: Vec::new() })));
        Ok(Some(TapePlace::Request(id)))
    }

    fn end(&mut self, id: u32, at: Option<Micros>, how: ResponseEnd, chunks: Option<u64>, bytes: Option<u64>) -> Option<TapePlace> {
        let open = self.open(id, "end")?;
        let (have_chunks, have_bytes) = (open.chunks.len() as u64, open.chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum());
        if chunks.is_some_and(|chunks| chunks != have_chunks) || bytes.is_some_and(|bytes| bytes != have_bytes) {
            let expected = (chunks.unwrap_or(have_chunks), bytes.unwrap_or(have_bytes));
            let problem = format!(
                "exchange {id} has {have_bytes} bytes in {have_chunks} chunks, and its end says {} in {}; it was left out",
                expected.1, expected.0
            );
            self.exchanges.insert(id, ExchangeProgress::Lost);
            self.leave_out(1, problem);
            return None;
        }
        if open.exchange.answer.status == 0 && have_chunks > 0 {
            self.exchanges.insert(id, ExchangeProgress::Lost);
            self.leave_out(1, format!("exchange {id} has a body and no head; it was left out"));
            return None;
        }
        if let Some(ExchangeProgress::Open(open)) = self.exchanges.remove(&id) {
            let UnendedExchange { mut exchange, chunks, .. } = *open;
            exchange.answer.chunks = chunks.into();
            exchange.answer.end = how;
            exchange.answer.end_at = at;
            self.exchanges.insert(id, ExchangeProgress::Whole(Box::new(exchange)));
        }
        Some(TapePlace::End(id))
    }

    /// The exchange that a line belongs to; a line without an exchange is left out, with a report unless the reason was reported before.
    fn open(&mut self, id: u32, what: &str) -> Option<&mut UnendedExchange> {
        let problem = match self.exchanges.get(&id) {
            Some(ExchangeProgress::Open(_)) => None,
            Some(ExchangeProgress::Lost) => return None,
            Some(ExchangeProgress::Whole(_)) => Some("has ended before"),
            None => Some("has no request line"),
        };
        if let Some(problem) = problem {
            self.leave_out(1, format!("a {what} of exchange {id}, which {problem}; it was left out"));
            return None;
        }
        match self.exchanges.get_mut(&id) {
            Some(ExchangeProgress::Open(open)) => Some(open),
            _ => None,
        }
    }

    fn leave_out(&mut self, column: usize, problem: String) {
        self.tape.left_out.push(UnusableEntry { line: self.line, column, problem, cause: UnusableCause::Broken });
    }
}

/// The header of a tape, from its first line of so many bytes, with the members that are not known.
///
/// # Errors
/// When it is not the header of a tape that this version can read.
#[doc(hidden)]
pub fn tape_header(line: Result<TapeLine, LineError>, length: usize) -> Result<(TapeHeader, UnknownPart), TapeError> {
    match line {
        Ok(TapeLine { kind: LineKind::Header { version, header }, unknown }) => {
            if version > TAPE_VERSION {
                let recorder = if header.recorder.is_empty() { String::from("an unnamed program") } else { header.recorder };
                return Err(TapeError::Newer { version, recorder });
            }
            Ok((header, UnknownPart::Members(unknown)))
        }
        Ok(_) => Err(TapeError::NotATape { column: 1, problem: String::from("the first line has no `reenact_tape`") }),
        Err(_) if length == 0 => Err(TapeError::Empty),
        Err(error) if error.unfinished => Err(TapeError::HeaderCut { column: length + 1 }),
        Err(error) => Err(TapeError::NotATape { column: error.column, problem: error.problem }),
    }
}
