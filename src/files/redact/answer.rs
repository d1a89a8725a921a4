//! The body of an answer as it streams: chunks go in, and come out when everything in them is decided.

use std::collections::VecDeque;

use super::blocks::Blocks;
use super::region::Region;
use super::{Hit, Redactor};
use crate::engine::time::Micros;

/// A line of a stream that grows beyond this is no event; the rest is read as one text.
const LINE_BYTES_MAX: usize = 4 << 20;

/// A piece of a body with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// When it came.
    pub at: Micros,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Holds the chunks of one answer until their secrets are replaced. Chunks keep their number, order and lengths.
#[derive(Clone, Debug)]
pub struct AnswerRedactor {
    held: VecDeque<(u64, Chunk)>,
    received: u64,
    hits: Vec<Hit>,
    /// The rules and offsets of hits that nobody has asked for yet, and how many of `hits` are among them.
    found: Vec<(usize, u64)>,
    noted: usize,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// A body of which nothing came yet.
    Unknown,
    /// A stream of events.
    Events(Box<Blocks>),
    /// Any other body.
    Whole(Box<Region>),
}

impl AnswerRedactor {
    /// For an answer that is a stream of events, by its content type.
    pub fn events() -> Self {
        Self { held: VecDeque::new(), received: 0, hits: Vec::new(), found: Vec::new(), noted: 0, form: Form::Events(Box::default()) }
    }

    /// For any other body.
    pub fn body() -> Self {
        Self { form: Form::Unknown, ..Self::events() }
    }

    /// Takes the next chunk; gives those that are decided to `sink`.
    pub fn feed(&mut self, redactor: &mut Redactor, chunk: Chunk, sink: &mut impl FnMut(Chunk)) {
        let start = self.received;
        self.received += chunk.bytes.len() as u64;
        match &mut self.form {
            Form::Unknown if chunk.bytes.is_empty() => (),
            Form::Unknown => {
                let mut region = Region::of_body(chunk.bytes.first().copied());
                region.feed_source(start, &chunk.bytes);
                self.hits.extend(region.decide_some(redactor));
                self.form = Form::Whole(Box::new(region));
            }
            Form::Events(blocks) => {
                blocks.feed(start, &chunk.bytes, redactor, &mut self.hits);
                if blocks.line_bytes() > LINE_BYTES_MAX {
                    let mut region = Region::json();
                    blocks.give_up(redactor, &mut self.hits, &mut region);
                    self.hits.extend(region.decide_some(redactor));
                    self.form = Form::Whole(Box::new(region));
                }
            }
            Form::Whole(region) => {
                region.feed_source(start, &chunk.bytes);
                self.hits.extend(region.decide_some(redactor));
            }
        }
        self.held.push_back((start, chunk));
        let decided = match &self.form {
            Form::Unknown => self.received,
            Form::Events(blocks) => blocks.undecided().unwrap_or(self.received),
            Form::Whole(region) => region.undecided().unwrap_or(self.received),
        };
        self.release(decided, sink);
    }

    /// The answer has ended, in whatever way.
    pub fn finish(&mut self, redactor: &mut Redactor, sink: &mut impl FnMut(Chunk)) {
        match &mut self.form {
            Form::Unknown => (),
            Form::Events(blocks) => blocks.finish(redactor, &mut self.hits),
            Form::Whole(region) => self.hits.extend(region.decide_all(redactor)),
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

    /// Lets go of the chunks that end before the offset.
    fn release(&mut self, decided: u64, sink: &mut impl FnMut(Chunk)) {
        self.found.extend(self.hits[self.noted..].iter().map(|hit| (hit.rule, hit.span().start)));
        let mut released = None;
        while let Some((start, chunk)) = self.held.front_mut() {
            let end = *start + chunk.bytes.len() as u64;
            if end > decided {
                break;
            }
            for hit in &self.hits {
                hit.apply(*start, &mut chunk.bytes);
            }
            released = Some(end);
            if let Some((_, chunk)) = self.held.pop_front() {
                sink(chunk);
            }
        }
        if let Some(end) = released {
            self.hits.retain(|hit| hit.span().end > end);
        }
        self.noted = self.hits.len();
    }
}
