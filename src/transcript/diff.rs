//! Two transcripts compared event by event (V-2).
//!
//! ```text
//!   old        new                   an event is known by its agent, the request it belongs to, its actor and its name;
//!   a 1.000s   a 1.000s              so one more event renames no other
//!   b 1.200s   c 1.900s   moved      out of the longest order that both have in common
//!   c 1.300s   b 2.200s   retimed    from here on everything is a second later: one change, not one for each line
//!              d 2.300s   added
//! ```
//!
//! The texts of [`render`](super::text::render) are compared: they are what snapshots hold.

mod blocks;
mod line;
mod order;

pub use line::TranscriptLine;

use alloc::collections::BTreeMap;

use line::LineReader;
use order::LinePairs;
use reenact_wire::prelude::*;

/// All changes, in the order of the newer transcript. What was removed stands where it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptDiff<'a> {
    /// The changes.
    pub changes: Vec<TranscriptChange<'a>>,
    /// How many events are the same, be it at another time.
    pub same: usize,
}

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptChange<'a> {
    /// An event that the older one lacks.
    Added(TranscriptLine<'a>),
    /// An event that the newer one lacks.
    Removed(TranscriptLine<'a>),
    /// An event with other contents.
    Changed {
        /// As it was.
        old: TranscriptLine<'a>,
        /// As it is.
        new: TranscriptLine<'a>,
    },
    /// An event that comes before or after others than it did.
    Moved {
        /// As it was.
        old: TranscriptLine<'a>,
        /// As it is.
        new: TranscriptLine<'a>,
        /// The event that it came directly after.
        behind: Option<TranscriptLine<'a>>,
        /// The event that it comes directly after.
        now_behind: Option<TranscriptLine<'a>>,
    },
    /// Events that come so much later or earlier than they did, and are the same otherwise.
    Retimed {
        /// The first of them.
        first: TranscriptLine<'a>,
        /// The last of them.
        last: TranscriptLine<'a>,
        /// Milliseconds; negative where they come earlier.
        by: i64,
        /// How many there are.
        events: usize,
    },
}

impl TranscriptChange<'_> {
    /// The kind in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Added(_) => "added",
            Self::Removed(_) => "removed",
            Self::Changed { .. } => "changed",
            Self::Moved { .. } => "moved",
            Self::Retimed { .. } => "retimed",
        }
    }
}

/// The kinds of changes.
pub const KINDS: [&str; 5] = ["added", "removed", "changed", "moved", "retimed"];

/// Shown times are cut to milliseconds, so a sum of two of them may be one too small.
const ROUNDING: i64 = 1;

/// Compares two texts, the older one first.
pub fn compare<'a>(old: &'a str, new: &'a str) -> TranscriptDiff<'a> {
    let texts = [old, new];
    let [old, new] = texts.map(blocks::blocks);
    let mut comparison = TranscriptComparison::default();
    let (mut at, mut starts) = ([0, 0], [0, 0]);
    while at != [old.len(), new.len()] {
        let (passed_old, passed_new) = blocks::until_shared(&old[at[0]..], &new[at[1]..]);
        let [behind_old, behind_new] = [at[0] + passed_old, at[1] + passed_new];
        let length = |blocks: &[&str]| blocks.iter().map(|block| block.len()).sum::<usize>();
        let mut ends = [starts[0] + length(&old[at[0]..behind_old]), starts[1] + length(&new[at[1]..behind_new])];
        let shared = old.get(behind_old).filter(|_| behind_new < new.len());
        at = [behind_old, behind_new];
        comparison.add_differing([0, 1].map(|side| &texts[side][starts[side]..ends[side]]));
        if let Some(block) = shared {
            comparison.add_shared([old[behind_old], new[behind_new]]);
            ends = ends.map(|end| end + block.len());
            at = at.map(|place| place + 1);
        }
        starts = ends;
    }
    comparison.diff
}

/// Two texts as far as they are compared.
#[derive(Default)]
struct TranscriptComparison<'a> {
    diff: TranscriptDiff<'a>,
    /// The place of the change that counts the events which come so many milliseconds later.
    retimed: BTreeMap<i64, usize>,
    readers: [LineReader<'a>; 2],
}

impl<'a> TranscriptComparison<'a> {
    /// A part that both have.
    fn add_shared(&mut self, blocks: [&'a str; 2]) {
        if self.readers[0].is_like(&self.readers[1]) {
            self.diff.same += blocks::count_lines(blocks[0]);
            self.readers.iter_mut().zip(blocks).for_each(|(reader, block)| reader.pass(block));
        } else {
            // The same times in it may be after other requests.
            self.add_differing(blocks);
        }
    }

    /// The parts between two that both have.
    fn add_differing(&mut self, texts: [&'a str; 2]) {
        let before = [0, 1].map(|side| self.readers[side].last);
        let [old, new] = [0, 1].map(|side| TranscriptLines::read(texts[side], &mut self.readers[side]));
        let pairs = LinePairs::new(&old.identities, &new.identities, |was, is| old.lines[was].is_same_as(&new.lines[is]));
        let Self { diff, retimed, .. } = self;
        let (mut at, mut added) = (0, Vec::new());
        for (place, line) in (0..).zip(&new.lines) {
            let Some(then) = pairs.old_of(place) else {
                added.push(TranscriptChange::Added(*line));
                continue;
            };
            let was = old.lines[then];
            let is_moved = pairs.is_moved(place);
            if is_moved {
                let (behind, now_behind) = (old.before(then).or(before[0]), new.before(place).or(before[1]));
                diff.changes.push(TranscriptChange::Moved { old: was, new: *line, behind, now_behind });
            } else {
                // What was removed stands before what came in its place.
                diff.changes.extend(pairs.removed(at..then).map(|place| TranscriptChange::Removed(old.lines[place])));
                at = then + 1;
                diff.changes.append(&mut added);
            }
            if !line.is_same_as(&was) {
                diff.changes.push(TranscriptChange::Changed { old: was, new: *line });
                continue;
            }
            diff.same += 1;
            if let (false, Some(by)) = (is_moved, new.times[place].zip(old.times[then]).map(|(now, then)| now - then))
                && by.abs() > ROUNDING
            {
                diff.add_retimed(retimed, *line, by);
            }
        }
        diff.changes.extend(pairs.removed(at..old.lines.len()).map(|place| TranscriptChange::Removed(old.lines[place])));
        diff.changes.append(&mut added);
    }
}

impl<'a> TranscriptDiff<'a> {
    /// How many changes of a kind there are.
    pub fn count(&self, kind: &str) -> usize {
        self.changes.iter().filter(|change| change.kind() == kind).count()
    }

    fn add_retimed(&mut self, known: &mut BTreeMap<i64, usize>, line: TranscriptLine<'a>, by: i64) {
        let near = known.range(by - ROUNDING..=by + ROUNDING).next().map(|(_, place)| *place);
        match near.and_then(|place| self.changes.get_mut(place)) {
            Some(TranscriptChange::Retimed { last, events, .. }) => {
                *last = line;
                *events += 1;
            }
            _ => {
                known.insert(by, self.changes.len());
                self.changes.push(TranscriptChange::Retimed { first: line, last: line, by, events: 1 });
            }
        }
    }
}

/// The lines of a part of a transcript.
#[derive(Default)]
struct TranscriptLines<'a> {
    lines: Vec<TranscriptLine<'a>>,
    /// The hashes of all that each is known by.
    identities: Vec<u64>,
    /// When each came, in milliseconds from the beginning; `None` where the text has no times.
    times: Vec<Option<i64>>,
}

impl<'a> TranscriptLines<'a> {
    fn read(text: &'a str, reader: &mut LineReader<'a>) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            let Some((line, identity, time)) = reader.read(line) else { continue };
            all.lines.push(line);
            all.identities.push(identity);
            all.times.push(time);
        }
        all
    }

    fn before(&self, place: usize) -> Option<TranscriptLine<'a>> {
        place.checked_sub(1).map(|before| self.lines[before])
    }
}

#[cfg(test)]
mod tests;
