//! A transcript's text cut at its requests, and the parts that both texts share.
//!
//! Most of two transcripts is the same. A part that is the same byte for byte needs no look at its lines:
//!
//! ```text
//!   old   │ heading │ request 1 │ request 2 │ request 3 │
//!   new   │ heading │ request 1 │ request 2'│ request 3 │
//!            shared     shared    lines       shared
//! ```

use memchr::{memchr, memmem, memrchr};
use reenact_wire::prelude::*;

/// Each request line has this behind its actor, and few other lines do.
const REQUEST: &str = "    request ";

/// So many parts that differ are passed over, of both texts together, until a shared one is found.
const REACH: usize = 24;

/// The parts of a text: what comes before the first request, and each request with what follows it.
pub(super) fn blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut start = 0;
    let mut from = 0;
    let finder = memmem::Finder::new(REQUEST);
    while let Some(found) = finder.find(&text.as_bytes()[from..]) {
        let place = from + found;
        let line = memrchr(b'\n', &text.as_bytes()[..place]).map_or(0, |end| end + 1);
        if line > start {
            blocks.push(&text[start..line]);
            start = line;
        }
        from = memchr(b'\n', &text.as_bytes()[place..]).map_or(text.len(), |end| place + end);
    }
    blocks.push(&text[start..]);
    blocks
}

/// How many parts of each come before the next one that both share; all of them, where that is further away than the search goes.
pub(super) fn until_shared(old: &[&str], new: &[&str]) -> (usize, usize) {
    for distance in 0..=REACH {
        for skipped in 0..=distance.min(old.len()) {
            let pair = old.get(skipped).zip(new.get(distance - skipped));
            if pair.is_some_and(|(old, new)| old == new) {
                return (skipped, distance - skipped);
            }
        }
    }
    (old.len(), new.len())
}

/// How many events a part has.
pub(super) fn count_lines(block: &str) -> usize {
    block.lines().filter(|line| !line.is_empty()).count()
}
