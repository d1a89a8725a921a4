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

mod line;
mod order;

pub use line::TranscriptLine;

use alloc::collections::BTreeMap;

use line::LineClocks;
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
    let [old, new] = [old, new].map(TranscriptLines::read);
    let pairs = LinePairs::new(&old.lines, &new.lines);
    let mut diff = TranscriptDiff::default();
    let mut retimed: BTreeMap<i64, usize> = BTreeMap::new();
    let (mut at, mut added) = (0, Vec::new());
    for (place, line) in (0..).zip(&new.lines) {
        let Some(before) = pairs.old_of(place) else {
            added.push(TranscriptChange::Added(*line));
            continue;
        };
        let was = old.lines[before];
        let is_moved = pairs.is_moved(place);
        if is_moved {
            diff.changes.push(TranscriptChange::Moved { old: was, new: *line, behind: old.before(before), now_behind: new.before(place) });
        } else {
            // What was removed stands before what came in its place.
            diff.changes.extend(pairs.removed(at..before).map(|place| TranscriptChange::Removed(old.lines[place])));
            at = before + 1;
            diff.changes.append(&mut added);
        }
        if !line.is_same_as(&was) {
            diff.changes.push(TranscriptChange::Changed { old: was, new: *line });
            continue;
        }
        diff.same += 1;
        if let (false, Some(by)) = (is_moved, new.times[place].zip(old.times[before]).map(|(now, then)| now - then))
            && by.abs() > ROUNDING
        {
            diff.add_retimed(&mut retimed, *line, by);
        }
    }
    diff.changes.extend(pairs.removed(at..old.lines.len()).map(|place| TranscriptChange::Removed(old.lines[place])));
    diff.changes.append(&mut added);
    diff
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

/// The lines of a transcript, and when each event came.
struct TranscriptLines<'a> {
    lines: Vec<TranscriptLine<'a>>,
    /// Milliseconds from the beginning; `None` where the text has no times.
    times: Vec<Option<i64>>,
}

impl<'a> TranscriptLines<'a> {
    fn read(text: &'a str) -> Self {
        let mut is_heading = true;
        let read = |line: &'a str| {
            is_heading &= !line.is_empty();
            let line = if is_heading { TranscriptLine::heading(line) } else { TranscriptLine::event(line) };
            Some(line).filter(|line| !line.whole.is_empty())
        };
        let lines: Vec<TranscriptLine<'a>> = text.lines().filter_map(read).collect();
        let mut clocks = LineClocks::default();
        let times = lines.iter().map(|line| clocks.time(line)).collect();
        Self { lines, times }
    }

    fn before(&self, place: usize) -> Option<TranscriptLine<'a>> {
        place.checked_sub(1).map(|before| self.lines[before])
    }
}

#[cfg(test)]
mod tests;
