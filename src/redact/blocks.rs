//! The blocks of a streamed answer, put together from the fragments of its events.
//!
//! ```text
//! data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"key\": \"sk-a"}}
//! data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"nt-api03-…\"}"}}
//!                                                                                                  ------- one secret, two places
//! ```
//!
//! Text, thinking and the input of tools are put together; everything else is looked at event by event.

use std::collections::BTreeMap;
use std::ops::Range;

use super::json::{JsonStart, JsonStrings};
use super::region::HeldRegion;
use super::text_map::{ByteRole, MappedText};
use super::{Redactor, SecretHit};
use reenact_wire::raw_json::RawObject;

/// An event of a fragment that says this much more than it must is looked at as a whole, too.
const EXTRA_BYTES: usize = 256;

/// Reads events and keeps the blocks that are open.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockReader {
    /// The line that has not ended, and where it begins.
    line: Vec<u8>,
    line_start: u64,
    after_cr: bool,
    /// The data of the event that has not ended.
    data: MappedText,
    /// The lines before it that hold no data: comments, and what is no event.
    comments: HeldRegion,
    open: BTreeMap<BlockId, HeldRegion>,
}

/// The meaning of an event for blocks.
pub(super) enum BlockEvent {
    /// A fragment of a block: which, in what form, and where it stands in the data.
    Fragment { index: u64, inner: Range<usize> },
    /// A block ends, or begins anew.
    Stop(u64),
    /// Anything else.
    Other,
}

/// Which block a fragment belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlockId {
    Index(u64),
    /// Of another API: the key of the fragment, that of the object around it, and how many such came before in the event.
    Keys(Vec<u8>, Vec<u8>, usize),
}

/// Keys of the streams of other APIs whose values are fragments of a longer text.
const FRAGMENT_KEYS: &[&[u8]] = &[
    b"content",
    b"text",
    b"arguments",
    b"delta",
    b"reasoning_content",
    b"reasoning",
    b"thinking",
    b"refusal",
    b"completion",
    b"response",
    b"partial_json",
    b"generated_text",
    b"output_text",
    b"transcript",
    b"input",
];

impl BlockReader {
    pub(super) fn feed(&mut self, start: u64, bytes: &[u8], redactor: &mut Redactor, hits: &mut Vec<SecretHit>) {
        let mut at = 0;
        while at < bytes.len() {
            if std::mem::take(&mut self.after_cr) && bytes[at] == b'\n' {
                at += 1;
                continue;
            }
            if self.line.is_empty() {
                self.line_start = start + at as u64;
            }
            let Some(length) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) else {
                self.line.extend_from_slice(&bytes[at..]);
                return;
            };
            self.line.extend_from_slice(&bytes[at..at + length]);
            self.after_cr = bytes[at + length] == b'\r';
            at += length + 1;
            let line = std::mem::take(&mut self.line);
            self.line(&line, redactor, hits);
            self.line = line;
            self.line.clear();
        }
    }

    /// How long the line is that has not ended.
    pub(super) fn line_bytes(&self) -> usize {
        self.line.len()
    }

    /// Where the stream is not decided yet.
    pub(super) fn undecided(&self) -> Option<u64> {
        let line = (!self.line.is_empty()).then_some(self.line_start);
        let open = self.open.values().chain([&self.comments]);
        open.filter_map(HeldRegion::undecided).chain(self.data.first_origin()).chain(line).min()
    }

    /// Nothing follows. What was cut in the middle of an event counts as far as it goes.
    pub(super) fn finish(&mut self, redactor: &mut Redactor, hits: &mut Vec<SecretHit>) {
        let line = std::mem::take(&mut self.line);
        self.line(&line, redactor, hits);
        self.event(redactor, hits);
        for mut region in std::mem::take(&mut self.open).into_values() {
            hits.extend(region.decide_all(redactor));
        }
    }

    /// The rest of the stream is no events: what is unfinished goes into `region`.
    pub(super) fn give_up(&mut self, redactor: &mut Redactor, hits: &mut Vec<SecretHit>, region: &mut HeldRegion) {
        let (line, start) = (std::mem::take(&mut self.line), self.line_start);
        self.finish(redactor, hits);
        region.feed_source(start, &line);
    }

    fn line(&mut self, line: &[u8], redactor: &mut Redactor, hits: &mut Vec<SecretHit>) {
        if line.is_empty() {
            return self.event(redactor, hits);
        }
        let Some(data) = line.strip_prefix(b"data:") else {
            if !line.starts_with(b"event:") || line.len() > 64 {
                // A comment of several lines is one text; each begins with a colon.
                let marks = line.iter().take_while(|byte| **byte == b':').count().min(1);
                self.comments.feed_source(self.line_start + marks as u64, &line[marks..]);
                self.comments.feed_line_end(self.line_start + line.len() as u64);
                hits.extend(self.comments.decide_some(redactor));
            }
            return;
        };
        let data = data.strip_prefix(b" ").unwrap_or(data);
        let origin = self.line_start + (line.len() - data.len()) as u64;
        if let Some((index, inner)) = usual_fragment(data).filter(|_| self.data.text().is_empty()) {
            let piece = (origin + inner.start as u64, inner.len() as u64, &data[inner]);
            self.fragment(BlockId::Index(index), std::iter::once(piece), redactor, hits);
            return;
        }
        if !self.data.text().is_empty() {
            // The line end between two lines of data: no byte of the source that could be replaced.
            self.data.push_run(origin - 1, b"\n", ByteRole::Structure);
        }
        self.data.push_run(origin, data, ByteRole::String);
    }

    /// The next part of a block.
    fn fragment<'a>(
        &mut self,
        block: BlockId,
        pieces: impl Iterator<Item = (u64, u64, &'a [u8])>,
        redactor: &mut Redactor,
        hits: &mut Vec<SecretHit>,
    ) {
        let region = self.open.entry(block).or_default();
        region.feed_fragment(pieces);
        hits.extend(region.decide_some(redactor));
    }

    /// An event is complete.
    fn event(&mut self, redactor: &mut Redactor, hits: &mut Vec<SecretHit>) {
        if self.comments.undecided().is_some() {
            hits.extend(std::mem::take(&mut self.comments).decide_all(redactor));
        }
        let data = std::mem::take(&mut self.data);
        if data.text().is_empty() {
            return;
        }
        match read(data.text()) {
            BlockEvent::Fragment { index, inner } => {
                let extra = data.text().len() - inner.len();
                let before = data.origins(inner.clone());
                self.fragment(BlockId::Index(index), data.pieces(inner), redactor, hits);
                if extra > EXTRA_BYTES {
                    hits.extend(scan_event(&data, redactor).into_iter().filter(|hit| is_outside(hit, &before)));
                }
            }
            BlockEvent::Stop(index) => {
                if let Some(mut region) = self.open.remove(&BlockId::Index(index)) {
                    hits.extend(region.decide_all(redactor));
                }
                hits.extend(scan_event(&data, redactor));
            }
            BlockEvent::Other => {
                let fragments = foreign_fragments(data.text());
                let places: Vec<Range<u64>> = fragments.iter().flat_map(|(_, inner)| data.origins(inner.clone())).collect();
                for (block, inner) in fragments {
                    self.fragment(block, data.pieces(inner), redactor, hits);
                }
                // What stands in a fragment is known by the fragments together.
                hits.extend(scan_event(&data, redactor).into_iter().filter(|hit| is_outside(hit, &places)));
            }
        }
    }
}

/// The fragments in an event of another API.
pub(super) fn foreign_fragments(data: &[u8]) -> Vec<(BlockId, Range<usize>)> {
    let Some(json) = JsonStrings::read(data, &JsonStart::Beginning) else { return Vec::new() };
    let mut counts: BTreeMap<(&[u8], &[u8]), usize> = BTreeMap::new();
    let mut fragments = Vec::new();
    for string in json.strings.iter().filter(|string| !string.value.is_empty()) {
        let part = |range: &Option<Range<usize>>| range.clone().map_or(&[][..], |range| &data[range]);
        let (key, around) = (part(&string.key), part(&json.containers[string.container].key));
        if FRAGMENT_KEYS.contains(&key) {
            let count = counts.entry((key, around)).or_default();
            fragments.push((BlockId::Keys(key.to_vec(), around.to_vec(), *count), string.value.clone()));
            *count += 1;
        }
    }
    fragments
}

/// Whether a hit has nothing in common with these places, which stand in order.
fn is_outside(hit: &SecretHit, places: &[Range<u64>]) -> bool {
    let Range { start, end } = hit.span();
    let next = places.partition_point(|place| place.end <= start);
    places.get(next).is_none_or(|place| place.start >= end)
}

/// Looks at the data of one event by itself.
fn scan_event(data: &MappedText, redactor: &mut Redactor) -> Vec<SecretHit> {
    let mut region = HeldRegion::default();
    for (origin, _, bytes) in data.pieces(0..data.text().len()) {
        region.feed_source(origin, bytes);
    }
    region.decide_all(redactor)
}

/// A fragment in the spelling that the API uses, which nearly every event of a stream is: it is taken apart without a parser. An event that is spelt
/// in any other way is no worse off.
fn usual_fragment(data: &[u8]) -> Option<(u64, Range<usize>)> {
    let rest = data.strip_prefix(br#"{"type":"content_block_delta","index":"#)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let index = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let rest = rest[digits..].strip_prefix(br#","delta":{"type":""#)?;
    let table = [&br#"text_delta","text":""#[..], br#"input_json_delta","partial_json":""#, br#"thinking_delta","thinking":""#];
    let rest = table.iter().find_map(|start| rest.strip_prefix(*start))?;
    let start = data.len() - rest.len();
    let mut end = memchr::memchr2(b'"', b'\\', rest)?;
    while rest[end] == b'\\' {
        // Over the backslash and what it escapes.
        end += 2;
        end += memchr::memchr2(b'"', b'\\', rest.get(end..)?)?;
    }
    let closed = rest[end..].strip_prefix(b"\"}")?.trim_ascii() == b"}";
    closed.then_some((index, start..start + end))
}

/// Understands an event as far as blocks go.
pub(super) fn read(data: &[u8]) -> BlockEvent {
    let Ok(text) = std::str::from_utf8(data) else { return BlockEvent::Other };
    let Ok(event) = RawObject::parse(text) else { return cut(text) };
    let index = || event.count("index").unwrap_or_default();
    match event.string("type").as_deref() {
        Some("content_block_start" | "content_block_stop") => BlockEvent::Stop(index()),
        Some("content_block_delta") => {
            let Some(delta) = event.object("delta") else { return BlockEvent::Other };
            let name = match delta.string("type").as_deref() {
                Some("text_delta") => "text",
                Some("thinking_delta") => "thinking",
                Some("input_json_delta") => "partial_json",
                _ => return BlockEvent::Other,
            };
            let inner = delta.get(name).and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
            let Some(inner) = inner else { return BlockEvent::Other };
            let start = inner.as_ptr() as usize - text.as_ptr() as usize;
            BlockEvent::Fragment { index: index(), inner: start..start + inner.len() }
        }
        _ => BlockEvent::Other,
    }
}

/// An event that was cut: its fragment continues to the end.
fn cut(text: &str) -> BlockEvent {
    let table = [r#""partial_json":""#, r#""text":""#, r#""thinking":""#];
    let is_delta = text.contains("content_block_delta");
    let Some(at) = table.iter().find_map(|name| Some(text.find(name)? + name.len())).filter(|_| is_delta) else {
        return BlockEvent::Other;
    };
    let after = text.split_once(r#""index":"#).map_or("", |(_, after)| after);
    let digits = after.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    BlockEvent::Fragment { index: digits.parse().unwrap_or_default(), inner: at..text.len() }
}
