//! Server-sent events: from bytes in any chunking to dispatched events (N-1), by the WHATWG rules.
//!
//! Two layers, each with what it must remember between chunks. The first makes text of bytes: a character that a chunk cuts
//! waits for its rest, what is not UTF-8 becomes U+FFFD. The second cuts the text into lines and lines into fields:
//!
//! ```text
//! chunk  event: ping\ndata: {"type":"ping"}\n\neve     chunk  nt: x\n…
//!        ------------ ---------------------- -
//!        name         data                   dispatch: a Frame that borrows from the chunk
//!                                             ---      kept in `line` until the rest comes
//! ```
//!
//! Only what a chunk leaves unfinished is copied, and no byte is looked at twice for a line end: a long line in small pieces costs
//! what it costs in one.

use core::str;

use memchr::{memchr2, memchr2_iter};
use thiserror::Error;

use crate::prelude::*;

/// The size of one event that [`SseFramer::new`] allows, in bytes: 64 MiB, twice the largest request of the Messages API.
pub const EVENT_BYTES_MAX: usize = 64 << 20;

/// One dispatched event. It borrows from the chunk where the event lies wholly in it and has one data line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SseFrame<'a> {
    /// The event's name; `message` when the stream gave none.
    pub event: &'a str,
    /// The data lines, joined with LF.
    pub data: &'a str,
    /// The last event id so far; empty when there was none.
    pub id: &'a str,
}

/// Why a stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Hash)]
pub enum FramingError {
    /// One event needs more memory than allowed.
    #[error("an event of the stream is larger than {limit} bytes; raise the limit with `Framer::with_limit` if such events are expected")]
    EventTooLarge {
        /// The limit in force.
        limit: usize,
    },
}

/// Incremental parser of one stream. A clone continues from the same byte.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct SseFramer {
    limit: usize,
    place: StreamPosition,
    /// The first bytes of a character that the last chunk cut; at most three.
    cut: Vec<u8>,
    /// The line that has not ended yet.
    line: String,
    /// The name from the event's finished lines, as far as it could not stay borrowed.
    name: String,
    data: Option<String>,
    id: Option<String>,
    /// Bytes of the event's finished field lines.
    size: usize,
    last_event_id: String,
    retry: Option<u64>,
}

/// Where in the stream the next character stands, as far as it matters to that character.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
enum StreamPosition {
    /// Nothing read yet: a byte order mark is dropped.
    Start,
    /// After a CR: a LF belongs to it.
    AfterCr,
    Inside,
    Failed(FramingError),
}

/// The content of finished lines of the present piece of text. Either this or the framer holds an event's data, never both.
#[derive(Default)]
struct FinishedLines<'a> {
    name: Option<&'a str>,
    data: Option<&'a str>,
}

impl Default for SseFramer {
    fn default() -> Self {
        Self::new()
    }
}

impl SseFramer {
    /// A parser that allows events of [`EVENT_BYTES_MAX`].
    pub fn new() -> Self {
        Self::with_limit(EVENT_BYTES_MAX)
    }

    /// A parser that allows `max_event_bytes` for the field lines of one event, and for any one line.
    pub fn with_limit(max_event_bytes: usize) -> Self {
        Self {
            limit: max_event_bytes,
            place: StreamPosition::Start,
            cut: Vec::new(),
            line: String::new(),
            name: String::new(),
            data: None,
            id: None,
            size: 0,
            last_event_id: String::new(),
            retry: None,
        }
    }

    /// Whether all that was read is whole events: what comes next means the same as at the start of a stream.
    pub fn is_between_events(&self) -> bool {
        let Self { place, cut, line, name, data, size, id, .. } = self;
        let is_fresh = cut.is_empty() && line.is_empty() && name.is_empty() && data.is_none() && id.is_none() && *size == 0;
        is_fresh && matches!(place, StreamPosition::Start | StreamPosition::Inside)
    }

    /// Reads the next bytes of the stream and hands each event that they complete to `sink`, in order (N-1).
    ///
    /// # Errors
    /// An event larger than the limit; from then on every call is refused with the same error. The events before it were handed over.
    pub fn feed(&mut self, chunk: &[u8], sink: &mut impl FnMut(SseFrame<'_>)) -> Result<(), FramingError> {
        if let StreamPosition::Failed(error) = self.place {
            return Err(error);
        }
        let result = self.bytes(chunk, sink);
        if let Err(error) = result {
            self.discard();
            self.place = StreamPosition::Failed(error);
        }
        result
    }

    /// Ends the stream: what no blank line followed is discarded, as the standard says. True when there was something.
    ///
    /// The framer is then ready for a further stream (a reconnect), with [`Self::retry`] and [`Self::last_event_id`] kept.
    pub fn finish(&mut self) -> bool {
        let pending = !(self.cut.is_empty() && self.line.is_empty() && self.name.is_empty()) || self.data.is_some() || self.id.is_some();
        self.discard();
        self.place = StreamPosition::Start;
        pending
    }

    /// The reconnection time that the stream asked for, in milliseconds.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// The id that the last dispatched block left; empty when there was none.
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    fn discard(&mut self) {
        self.cut = Vec::new();
        self.line = String::new();
        self.name = String::new();
        self.data = None;
        self.id = None;
        self.size = 0;
    }

    /// The first layer: bytes to text.
    fn bytes(&mut self, chunk: &[u8], sink: &mut impl FnMut(SseFrame<'_>)) -> Result<(), FramingError> {
        let chunk = self.finish_character(chunk, sink)?;
        let (mut rest, cut) = chunk.split_at(chunk.len() - cut_character_bytes(chunk));
        loop {
            match str::from_utf8(rest) {
                Ok(text) => {
                    self.cut.extend_from_slice(cut);
                    return self.text(text, sink);
                }
                Err(error) => {
                    let (valid, broken) = rest.split_at(error.valid_up_to());
                    self.text(str::from_utf8(valid).unwrap_or_default(), sink)?;
                    self.text("\u{fffd}", sink)?;
                    // No length: the sequence is broken off by `cut`, which begins a character of its own.
                    rest = &broken[error.error_len().unwrap_or(broken.len())..];
                }
            }
        }
    }

    /// Completes the character that the last chunk cut, or replaces it when `chunk` does not continue with it. Gives what is left.
    fn finish_character<'a>(&mut self, chunk: &'a [u8], sink: &mut impl FnMut(SseFrame<'_>)) -> Result<&'a [u8], FramingError> {
        let mut rest = chunk;
        while let (false, Some((&byte, after))) = (self.cut.is_empty(), rest.split_first()) {
            self.cut.push(byte);
            let character = match str::from_utf8(&self.cut) {
                Ok(character) => {
                    rest = after;
                    character.to_owned()
                }
                Err(error) if error.error_len().is_none() => {
                    rest = after;
                    continue;
                }
                // The byte is not a continuation: it is read again on its own.
                Err(_) => String::from("\u{fffd}"),
            };
            self.cut.clear();
            self.text(&character, sink)?;
        }
        Ok(rest)
    }

    /// The second layer: text to lines. `text` is the next piece of the stream, whole characters, of any length.
    fn text(&mut self, text: &str, sink: &mut impl FnMut(SseFrame<'_>)) -> Result<(), FramingError> {
        let mut text = match (self.place, text) {
            (_, "") => return Ok(()),
            (StreamPosition::Start, text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            (StreamPosition::AfterCr, text) => text.strip_prefix('\n').unwrap_or(text),
            (StreamPosition::Inside | StreamPosition::Failed(_), text) => text,
        };
        self.place = StreamPosition::Inside;
        if !self.line.is_empty() {
            text = self.finish_line(text)?;
        }
        let mut borrowed = FinishedLines::default();
        let mut start = 0;
        for end in memchr2_iter(b'\n', b'\r', text.as_bytes()) {
            if end < start {
                continue; // the LF of a CR LF
            }
            let line = &text[start..end];
            start = end + self.line_end_bytes(&text.as_bytes()[end..]);
            if line.is_empty() {
                self.dispatch(&mut borrowed, sink);
            } else {
                self.field(line, &mut borrowed)?;
            }
        }
        self.keep(borrowed);
        self.line.push_str(&text[start..]);
        self.check_size(self.line.len())
    }

    /// Goes on with the line that the last piece left unfinished. Gives what follows it.
    fn finish_line<'a>(&mut self, text: &'a str) -> Result<&'a str, FramingError> {
        let Some(end) = memchr2(b'\n', b'\r', text.as_bytes()) else {
            self.line.push_str(text);
            self.check_size(self.line.len())?;
            return Ok("");
        };
        self.line.push_str(&text[..end]);
        let mut line = core::mem::take(&mut self.line);
        let mut borrowed = FinishedLines::default();
        self.field(&line, &mut borrowed)?;
        self.keep(borrowed);
        line.clear();
        self.line = line; // its memory serves the next one
        Ok(&text[end + self.line_end_bytes(&text.as_bytes()[end..])..])
    }

    /// Length of the line end that `from` begins with. A CR at the end of a piece ends its line at once; a LF that follows is dropped.
    fn line_end_bytes(&mut self, from: &[u8]) -> usize {
        match from {
            [b'\r', b'\n', ..] => 2,
            [b'\r'] => {
                self.place = StreamPosition::AfterCr;
                1
            }
            _ => 1,
        }
    }

    /// One line that is not empty. Comments and unknown fields say nothing.
    fn field<'a>(&mut self, line: &'a str, borrowed: &mut FinishedLines<'a>) -> Result<(), FramingError> {
        self.check_size(line.len())?;
        let (field, value) =
            if let Some(value) = line.strip_prefix("data:") { ("data", value) } else { line.split_once(':').unwrap_or((line, "")) };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match (&mut self.data, borrowed.data) {
                (None, None) => borrowed.data = Some(value),
                (Some(data), _) => push_line(data, value),
                (None, Some(first)) => {
                    let data = self.data.insert(String::with_capacity(first.len() + 1 + value.len()));
                    data.push_str(first);
                    push_line(data, value);
                    borrowed.data = None;
                }
            },
            "event" => borrowed.name = Some(value),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                // A number too large for the type asks to wait for ever, which this comes close to.
                self.retry = Some(value.parse().unwrap_or(u64::MAX));
            }
            _ => return Ok(()),
        }
        self.size += line.len();
        Ok(())
    }

    /// A blank line: the event is complete. One without a data line is none, but its id counts.
    fn dispatch(&mut self, borrowed: &mut FinishedLines<'_>, sink: &mut impl FnMut(SseFrame<'_>)) {
        self.size = 0;
        if let Some(id) = self.id.take() {
            self.last_event_id = id;
        }
        let kept = self.data.take();
        if let Some(data) = borrowed.data.take().or(kept.as_deref()) {
            let event = match borrowed.name.unwrap_or(&self.name) {
                "" => "message",
                name => name,
            };
            sink(SseFrame { event, data, id: &self.last_event_id });
        }
        borrowed.name = None;
        self.name.clear();
    }

    /// Copies what is still needed when the text it was borrowed from goes away.
    fn keep(&mut self, borrowed: FinishedLines<'_>) {
        if let Some(name) = borrowed.name {
            name.clone_into(&mut self.name);
        }
        if let Some(data) = borrowed.data {
            self.data = Some(data.to_owned());
        }
    }

    /// Whether `more` bytes may join the event. It depends on the stream alone, not on the chunks.
    fn check_size(&self, more: usize) -> Result<(), FramingError> {
        match self.size.saturating_add(more) > self.limit {
            true => Err(FramingError::EventTooLarge { limit: self.limit }),
            false => Ok(()),
        }
    }
}

fn push_line(data: &mut String, value: &str) {
    data.push('\n');
    data.push_str(value);
}

/// How many bytes at the end begin a character that is not finished there: 0 to 3.
fn cut_character_bytes(chunk: &[u8]) -> usize {
    // Only a byte that begins a character of several bytes can be cut off from its rest.
    let Some(behind) = chunk.iter().rev().take(3).position(|&byte| byte >= 0xc0) else { return 0 };
    match str::from_utf8(&chunk[chunk.len() - 1 - behind..]) {
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => behind + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
