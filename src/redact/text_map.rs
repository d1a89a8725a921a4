//! Text with the places that it comes from, so that what is found in the text can be replaced where it stands.
//!
//! ```text
//! bytes   {"text":"the key is sk-an\u0074-api03-…"}
//!          -      ------------------------------      one run each, and one escape of six bytes for the `t`
//! text    "text":"the key is sk-ant-api03-…"
//! ```
//!
//! Offsets of the text continue counting when its beginning is dropped; so do those of the source, which is a stream.

use std::collections::VecDeque;
use std::ops::Range;

/// Text and where each of its bytes comes from.
#[derive(Clone, Debug, Default)]
pub(super) struct MappedText {
    text: Vec<u8>,
    /// The offset of the first byte that is still there.
    base: u64,
    segments: VecDeque<MappedSegment>,
}

/// A stretch of text: byte for byte from the source, or one character that the source spells with an escape.
#[derive(Clone, Copy, Debug)]
struct MappedSegment {
    at: u64,
    length: u64,
    origin: u64,
    origin_length: u64,
    place: ByteRole,
}

/// Whether a byte belongs to a string or to what holds strings together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteRole {
    /// It may be replaced.
    String,
    /// It stays as it is.
    Structure,
}

impl MappedText {
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The offset behind the last byte.
    pub(super) fn end(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    pub(super) fn push_run(&mut self, origin: u64, bytes: &[u8], place: ByteRole) {
        if bytes.is_empty() {
            return;
        }
        let (at, length) = (self.end(), bytes.len() as u64);
        self.text.extend_from_slice(bytes);
        match self.segments.back_mut() {
            Some(last) if last.is_run() && last.place == place && last.origin + last.origin_length == origin => {
                last.length += length;
                last.origin_length += length;
            }
            _ => self.segments.push_back(MappedSegment { at, length, origin, origin_length: length, place }),
        }
    }

    pub(super) fn push_escape(&mut self, origin: u64, origin_length: u64, bytes: &[u8]) {
        let at = self.end();
        self.text.extend_from_slice(bytes);
        self.segments.push_back(MappedSegment { at, length: bytes.len() as u64, origin, origin_length, place: ByteRole::String });
    }

    /// Where a stretch of the remaining text (counted from its first byte) comes from, in order, as far as it is in strings.
    pub(super) fn origins(&self, range: Range<usize>) -> Vec<Range<u64>> {
        let (start, end) = (self.base + range.start as u64, self.base + range.end as u64);
        let first = self.segments.partition_point(|segment| segment.at + segment.length <= start);
        let mut origins: Vec<Range<u64>> = Vec::new();
        for segment in self.segments.range(first..).take_while(|segment| segment.at < end) {
            if segment.place == ByteRole::Structure {
                continue;
            }
            let part = segment.part(start, end);
            match origins.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => origins.push(part),
            }
        }
        origins
    }

    /// Where the first byte comes from.
    pub(super) fn first_origin(&self) -> Option<u64> {
        let first = self.segments.front()?;
        Some(first.part(self.base, self.base + 1).start)
    }

    /// The pieces of a stretch with their origins, as they were pushed.
    pub(super) fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = (u64, u64, &[u8])> {
        let (start, end) = (self.base + range.start as u64, self.base + range.end as u64);
        let first = self.segments.partition_point(|segment| segment.at + segment.length <= start);
        self.segments.range(first..).take_while(move |segment| segment.at < end).map(move |segment| {
            let from = segment.at.max(start) - self.base;
            let to = (segment.at + segment.length).min(end) - self.base;
            let origins = segment.part(start, end);
            (origins.start, origins.end - origins.start, &self.text[from as usize..to as usize])
        })
    }

    /// Forgets the first `count` bytes.
    pub(super) fn drop_first(&mut self, count: usize) {
        self.text.drain(..count);
        self.base += count as u64;
        while self.segments.front().is_some_and(|segment| segment.at + segment.length <= self.base) {
            self.segments.pop_front();
        }
    }

    /// The place of an offset in the text that is still there.
    pub(super) fn local(&self, offset: u64) -> usize {
        offset.saturating_sub(self.base) as usize
    }
}

impl MappedSegment {
    fn is_run(&self) -> bool {
        self.length == self.origin_length
    }

    /// Where the part between two offsets comes from; an escape is never taken apart.
    fn part(&self, start: u64, end: u64) -> Range<u64> {
        if !self.is_run() {
            return self.origin..self.origin + self.origin_length;
        }
        let from = start.saturating_sub(self.at);
        let to = (end - self.at).min(self.length);
        self.origin + from..self.origin + to
    }
}

/// Resolves the escapes of JSON strings, a piece at a time.
///
/// It follows backslashes alone, so that text which is cut, or is not JSON, is read as far as it goes.
#[derive(Clone, Debug)]
pub(super) struct Flattener {
    state: FlattenerState,
}

#[derive(Clone, Debug)]
enum FlattenerState {
    Text,
    /// After a backslash: where it stands, and what came since.
    Escape(u64, Vec<u8>),
}

impl Flattener {
    /// For what stands between the quotes of one string, or for text with strings in it: a quote is like any other character.
    pub(super) fn string() -> Self {
        Self { state: FlattenerState::Text }
    }

    pub(super) fn feed(&mut self, origin: u64, bytes: &[u8], out: &mut MappedText) {
        let mut at = 0;
        while at < bytes.len() {
            let here = origin + at as u64;
            let rest = &bytes[at..];
            match &mut self.state {
                FlattenerState::Text => {
                    let end = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
                    out.push_run(here, &rest[..end], ByteRole::String);
                    if end < rest.len() {
                        self.state = FlattenerState::Escape(here + end as u64, Vec::new());
                    }
                    at += end + usize::from(end < rest.len());
                }
                FlattenerState::Escape(start, escape) => {
                    escape.push(rest[0]);
                    at += 1;
                    if escape[0] != b'u' || escape.len() == 5 {
                        let (start, length) = (*start, escape.len() as u64 + 1);
                        let mut buffer = [0; 4];
                        out.push_escape(start, length, unescaped(escape, &mut buffer));
                        self.state = FlattenerState::Text;
                    }
                }
            }
        }
    }
}

/// The character for an escape without its backslash. Half of a pair stands for U+FFFD: no secret is made of them.
fn unescaped<'a>(escape: &[u8], buffer: &'a mut [u8; 4]) -> &'a [u8] {
    let character = match escape[0] {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let hex = std::str::from_utf8(&escape[1..]).ok().and_then(|hex| u32::from_str_radix(hex, 16).ok());
            hex.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        other => char::from(other),
    };
    character.encode_utf8(buffer).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(parts: &[&str]) -> MappedText {
        let (mut out, mut flattener, mut origin) = (MappedText::default(), Flattener::string(), 0);
        for part in parts {
            flattener.feed(origin, part.as_bytes(), &mut out);
            origin += part.len() as u64;
        }
        out
    }

    fn one(range: Range<u64>) -> Vec<Range<u64>> {
        vec![range]
    }

    #[test]
    fn k_2_escapes_are_resolved_and_their_places_known() {
        let source = r#"a\/b x\u0041y\"z\n"#;
        let whole = flat(&[source]);
        assert_eq!(whole.text(), b"a/b xAy\"z\n");
        let at = whole.text().iter().position(|byte| *byte == b'A').unwrap();
        let origin = source.find("\\u0041").unwrap() as u64;
        assert_eq!(whole.origins(at..at + 1), one(origin..origin + 6));
        assert_eq!(whole.origins(at - 1..at + 2), one(origin - 1..origin + 7));
        for cut in 0..source.len() {
            let cut = flat(&[&source[..cut], &source[cut..]]);
            assert_eq!(cut.text(), whole.text());
            assert_eq!(cut.origins(0..cut.text().len()), whole.origins(0..whole.text().len()));
        }
    }

    #[test]
    fn k_2_offsets_survive_a_dropped_beginning() {
        let mut mapped = flat(&[r"xyab\ncd"]);
        mapped.drop_first(3);
        assert_eq!(mapped.text(), b"b\ncd");
        assert_eq!((mapped.first_origin(), mapped.origins(0..3)), (Some(3), one(3..7)));
    }
}
