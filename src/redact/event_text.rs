//! Streams of events that stand in a text: in a file of events, in the body that another program recorded, in what a tool printed (K-2).
//!
//! Their fragments are put together as those of an answer are ([`super::blocks`]). Each block is a view of the text.

use std::collections::BTreeMap;
use std::ops::Range;

use super::blocks::{BlockEvent, BlockId, foreign_fragments, read};
use super::json::JsonStrings;
use super::text_map::{ByteRole, Flattener, MappedText};

/// The blocks in a text.
#[derive(Default)]
struct EventTextReader {
    data: MappedText,
    open: BTreeMap<BlockId, BlockText>,
    closed: Vec<BlockText>,
}

/// A block, and how many fragments it came in.
#[derive(Default)]
struct BlockText {
    text: MappedText,
    fragments: usize,
}

/// The blocks of which a text has more than one fragment, in the lines of events.
pub(super) fn blocks(text: &[u8]) -> Vec<MappedText> {
    let mut reader = EventTextReader::default();
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        reader.line(start, line.trim_ascii_end());
        start += line.len();
    }
    reader.event(true);
    reader.finish()
}

/// The same in JSON: objects with the name `delta`, and strings with that name, one behind the other.
pub(super) fn deltas(text: &[u8], json: &JsonStrings) -> Vec<MappedText> {
    let mut reader = EventTextReader::default();
    let part = |range: &Option<Range<usize>>| range.as_ref().map_or(&[][..], |range| &text[range.clone()]);
    for string in &json.strings {
        let (key, around) = (part(&string.key), part(&json.containers[string.container].key));
        let value = &text[string.value.clone()];
        if key == b"type" && matches!(value, b"content_block_start" | b"content_block_stop") {
            reader.close();
        } else if (around == b"delta" || key == b"delta") && !matches!(key, b"type" | b"role" | b"signature") {
            reader.fragment(BlockId::Keys(key.to_vec(), around.to_vec(), 0), std::iter::once((string.value.start as u64, 0, value)));
        }
    }
    reader.finish()
}

impl EventTextReader {
    fn line(&mut self, start: usize, line: &[u8]) {
        if let Some(data) = line.strip_prefix(b"data:") {
            let origin = (start + line.len() - data.len()) as u64;
            if !self.data.text().is_empty() {
                self.data.push_run(origin - 1, b"\n", ByteRole::Structure);
            }
            self.data.push_run(origin, data, ByteRole::String);
        } else if line.is_empty() {
            self.event(false);
        } else if line.starts_with(b"{") && memchr::memmem::find(line, b"delta").is_some() {
            self.event(false);
            self.data.push_run(start as u64, line, ByteRole::String);
            self.event(false);
        }
    }

    /// An event is complete. Only the last of a text may be cut: any other that does not end is none.
    fn event(&mut self, is_last: bool) {
        let data = std::mem::take(&mut self.data);
        if data.text().is_empty() {
            return;
        }
        if !is_last && !data.text().trim_ascii_end().ends_with(b"}") {
            // What stands before it and behind it is not one text.
            return self.close();
        }
        match read(data.text()) {
            BlockEvent::Fragment { index, inner } => self.fragment(BlockId::Index(index), data.pieces(inner)),
            BlockEvent::Stop(index) => self.closed.extend(self.open.remove(&BlockId::Index(index))),
            BlockEvent::Other => {
                for (block, inner) in foreign_fragments(data.text()) {
                    self.fragment(block, data.pieces(inner));
                }
            }
        }
    }

    fn fragment<'a>(&mut self, block: BlockId, pieces: impl Iterator<Item = (u64, u64, &'a [u8])>) {
        let block = self.open.entry(block).or_default();
        let mut string = Flattener::string();
        pieces.for_each(|(origin, _, bytes)| string.feed(origin, bytes, &mut block.text));
        block.fragments += 1;
    }

    fn close(&mut self) {
        self.closed.extend(std::mem::take(&mut self.open).into_values());
    }

    fn finish(mut self) -> Vec<MappedText> {
        self.close();
        self.closed.into_iter().filter(|block| block.fragments > 1).map(|block| block.text).collect()
    }
}
