//! A tape line by line, also one that is still being written, and exchanges one by one.
//!
//! Of a tape only the distinct content of its requests is held, and the answers that are on their way (F-2, F-4).

use alloc::collections::BTreeMap;

use reenact_engine::time::Micros;
use reenact_scenario::tape::line::{BodyDecoder, BodyError, LineKind, RequestLine, TapeError, TapeLine, tape_header};
use reenact_scenario::tape::{Exchange, ResponseEnd, TapeHeader, asks_for_message};
use reenact_wire::prelude::*;

use super::builder::{AttemptHandle, ConnectionEnd, NewAttempt, TimelineBuilder};
use super::{ReadingOptions, SessionTimeline, TimelineSource};

/// So many problems are told one by one.
const UNREAD_MAX: usize = 10;

/// Makes a timeline of a tape, or of exchanges.
#[derive(Clone, Debug)]
pub struct TapeReader {
    builder: TimelineBuilder,
    bodies: BodyDecoder,
    has_header: bool,
    line: usize,
    exchanges: BTreeMap<u32, KnownExchange>,
    /// The problems beyond those that are told.
    more_unread: usize,
    is_cut: bool,
}

/// An exchange whose request was read.
#[derive(Clone, Copy, Debug)]
struct KnownExchange {
    /// `None` where it asks for no message.
    attempt: Option<AttemptHandle>,
    at: Option<Micros>,
    chunks: u64,
    bytes: u64,
    has_ended: bool,
}

impl TapeReader {
    /// Of a tape of which no line was read yet.
    pub fn new(options: ReadingOptions) -> Self {
        Self {
            builder: TimelineBuilder::new(TimelineSource::default(), options),
            bodies: BodyDecoder::default(),
            has_header: false,
            line: 0,
            exchanges: BTreeMap::new(),
            more_unread: 0,
            is_cut: false,
        }
    }

    /// Of exchanges that come from a recording of this kind.
    pub fn from_header(kind: &str, header: &TapeHeader, options: ReadingOptions) -> Self {
        let mut reader = Self::new(options);
        reader.take_header(kind, header);
        reader
    }

    /// Takes the next line, with or without its line end. The last line of a tape that is being written may be a part of one.
    ///
    /// # Errors
    /// When the first line is not the header of a tape that this version can read, and when the bodies grow too large (K-12).
    pub fn feed(&mut self, line: &[u8]) -> Result<(), TapeError> {
        self.line += 1;
        self.bodies.on_line(line.len());
        let has_ended = line.last() == Some(&b'\n');
        let text = line.trim_ascii_end();
        if !self.has_header {
            let (header, _) = tape_header(TapeLine::read(text), text.len())?;
            self.take_header("a tape", &header);
            return Ok(());
        }
        if text.is_empty() {
            return Ok(());
        }
        match TapeLine::read(text) {
            Ok(line) => self.take(line.kind),
            Err(error) if error.unfinished && !has_ended => {
                self.is_cut = true;
                Ok(())
            }
            Err(error) => {
                self.leave_out(&format!("{error}; the line is left out"));
                Ok(())
            }
        }
    }

    /// Takes a whole exchange.
    pub fn exchange(&mut self, exchange: &Exchange) {
        let Exchange { id, thread, parent, at, method, path, body, answer, .. } = exchange;
        let name = (&**thread, *parent);
        self.request(*id, name, *at, (method, path), body);
        if answer.status != 0 {
            self.head(*id, answer.head_at, answer.status, &answer.headers);
        }
        answer.chunks.iter().for_each(|chunk| self.chunk(*id, chunk.at, &chunk.bytes));
        self.end(*id, answer.end_at, answer.end, None);
    }

    /// A part of the recording that no line stands for cannot be shown: a sentence.
    pub fn on_unread(&mut self, problem: String) {
        self.builder.on_unread(problem);
    }

    /// The timeline of what was read.
    pub fn finish(mut self) -> SessionTimeline {
        if self.more_unread > 0 {
            self.builder.on_unread(format!("{} more problems like these", self.more_unread));
        }
        if self.is_cut {
            self.builder.is_cut = true;
        }
        let mut timeline = self.builder.finish();
        // The sentence about them counts as one already.
        timeline.unread += self.more_unread.saturating_sub(1);
        timeline
    }

    fn take_header(&mut self, kind: &str, header: &TapeHeader) {
        self.has_header = true;
        let from = header.imported_from.as_ref().map(|from| format!("{kind}, imported from {from}"));
        self.builder.source = TimelineSource {
            kind: from.filter(|_| kind == "a tape").unwrap_or_else(|| kind.into()),
            recorder: Some(header.recorder.clone()).filter(|recorder| !recorder.is_empty()),
            recorded_at: header.recorded_at.clone(),
            upstream: header.upstream.clone(),
            lost: header.lost.clone(),
        };
    }

    fn take(&mut self, kind: LineKind) -> Result<(), TapeError> {
        match kind {
            LineKind::Header { .. } => self.leave_out("a second header; it is left out, and ids that come again with it"),
            LineKind::Unknown(_) => self.leave_out("a kind of line that this version does not know"),
            LineKind::Request(line) => return self.request_line(&line),
            LineKind::Head { id, at, status, headers } => self.head(id, at, status, &headers),
            LineKind::Chunk { id, at, bytes } => self.chunk(id, at, &bytes),
            LineKind::End { id, at, how, chunks, bytes } => self.end(id, at, how, Some((chunks, bytes))),
        }
        Ok(())
    }

    fn request_line(&mut self, line: &RequestLine) -> Result<(), TapeError> {
        match self.bodies.body(line) {
            Ok(body) => self.request(line.id, (&line.thread, line.parent), line.at, (&line.method, &line.path), &body),
            Err(BodyError::TooLarge) => return Err(TapeError::TooLarge { line: self.line }),
            Err(BodyError::Unusable(problem)) => {
                self.leave_out(&format!("the body of request {} {problem}: the request is shown without it", line.id));
                self.request(line.id, (&line.thread, line.parent), line.at, (&line.method, &line.path), &[]);
            }
        }
        Ok(())
    }

    fn request(&mut self, id: u32, (thread, parent): (&str, Option<u32>), at: Option<Micros>, (method, path): (&str, &str), body: &[u8]) {
        if self.exchanges.contains_key(&id) {
            self.leave_out(&format!("exchange {id} was there before; this request is left out"));
            return;
        }
        let attempt = match asks_for_message(method, path) {
            true => {
                let parent = parent.and_then(|parent| self.exchanges.get(&parent)?.attempt);
                Some(self.builder.on_request(&NewAttempt { exchange: &id.to_string(), thread, parent, at, body }))
            }
            false => {
                self.builder.on_other(method, path);
                None
            }
        };
        self.exchanges.insert(id, KnownExchange { attempt, at, chunks: 0, bytes: 0, has_ended: false });
    }

    fn head(&mut self, id: u32, at: Option<Micros>, status: u16, headers: &[reenact_wire::http::HttpHeader]) {
        let Some((attempt, at)) = self.open(id, "a head", at) else { return };
        self.builder.on_head(attempt, at, status, headers);
    }

    fn chunk(&mut self, id: u32, at: Option<Micros>, bytes: &[u8]) {
        if let Some(known) = self.exchanges.get_mut(&id).filter(|known| !known.has_ended) {
            known.chunks += 1;
            known.bytes += bytes.len() as u64;
        }
        let Some((attempt, at)) = self.open(id, "a chunk", at) else { return };
        self.builder.on_bytes(attempt, at, bytes);
    }

    fn end(&mut self, id: u32, at: Option<Micros>, how: ResponseEnd, counts: Option<(Option<u64>, Option<u64>)>) {
        let open = self.open(id, "an end", at);
        if let Some(known) = self.exchanges.get_mut(&id).filter(|known| !known.has_ended) {
            known.has_ended = true;
            let (have_chunks, have_bytes) = (known.chunks, known.bytes);
            let (chunks, bytes) = counts.unwrap_or_default();
            let (chunks, bytes) = (chunks.unwrap_or(have_chunks), bytes.unwrap_or(have_bytes));
            if (chunks, bytes) != (have_chunks, have_bytes) {
                let problem = format!("exchange {id} has {have_bytes} bytes in {have_chunks} chunks, and its end says {bytes} in {chunks}");
                self.leave_out(&problem);
            }
        }
        let Some((attempt, at)) = open else { return };
        let end = match how {
            ResponseEnd::Complete => ConnectionEnd::Complete,
            ResponseEnd::Reset => ConnectionEnd::Broken("the connection was cut"),
            ResponseEnd::Timeout => ConnectionEnd::Broken("nothing came any more"),
            ResponseEnd::ClientGone => ConnectionEnd::ClientGone,
        };
        self.builder.on_end(attempt, at, end);
    }

    /// The attempt that a line belongs to, and the line's time from the start; `None` where there is nothing to show.
    fn open(&mut self, id: u32, what: &str, at: Option<Micros>) -> Option<(AttemptHandle, Option<Micros>)> {
        let problem = match self.exchanges.get(&id) {
            Some(KnownExchange { has_ended: false, attempt, at: began, .. }) => {
                let at = began.and_then(|began| at.map(|at| began + at));
                return attempt.map(|attempt| (attempt, at));
            }
            Some(_) => "has ended before",
            None => "has no request line",
        };
        self.leave_out(&format!("{what} of exchange {id}, which {problem}; it is left out"));
        None
    }

    fn leave_out(&mut self, problem: &str) {
        match self.builder.unread.len() < UNREAD_MAX {
            true => self.builder.on_unread(format!("line {}: {problem}", self.line)),
            false => self.more_unread += 1,
        }
    }
}
