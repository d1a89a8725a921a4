//! Which line of one transcript is which line of the other, and which of them are out of order.

use core::ops::Range;

use reenact_wire::prelude::*;

/// The pairs of lines of two transcripts.
pub(super) struct LinePairs {
    /// For each line of the newer one its place in the older one.
    old: Vec<Option<usize>>,
    /// For each line of the older one whether it is in the newer one.
    is_kept: Vec<bool>,
    /// For each line of the newer one whether it is out of order.
    is_moved: Vec<bool>,
}

impl LinePairs {
    /// The lines are given as the hashes of what they are known by; `is_same` says whether a line of the older one and one of the newer one say the same.
    pub(super) fn new(old: &[u64], new: &[u64], is_same: impl Fn(usize, usize) -> bool) -> Self {
        let mut pairs = vec![None; new.len()];
        let mut is_kept = vec![false; old.len()];
        let (old_places, new_places) = (by_identity(old), by_identity(new));
        let mut before = &old_places[..];
        for run in new_places.chunk_by(|one, other| one.0 == other.0) {
            let identity = run[0].0;
            before = &before[before.partition_point(|(known, _)| *known < identity)..];
            let same = &before[..before.partition_point(|(known, _)| *known == identity)];
            for (was, is) in pair_alike(same, run, &is_same) {
                pairs[is] = Some(was);
                is_kept[was] = true;
            }
        }
        let is_moved = out_of_order(&pairs);
        Self { old: pairs, is_kept, is_moved }
    }

    /// The place in the older transcript.
    pub(super) fn old_of(&self, new: usize) -> Option<usize> {
        self.old[new]
    }

    pub(super) fn is_moved(&self, new: usize) -> bool {
        self.is_moved[new]
    }

    /// Which lines of the older one are not in the newer one.
    pub(super) fn removed(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        range.filter(|place| !self.is_kept[*place])
    }
}

/// The places of lines, sorted by what they are known by.
fn by_identity(identities: &[u64]) -> Vec<(u64, usize)> {
    let mut all: Vec<(u64, usize)> = identities.iter().copied().zip(0..).collect();
    all.sort_unstable();
    all
}

/// Pairs the lines of one identity: those that are alike at both ends first, what is between them in order.
fn pair_alike<'a>(
    old: &'a [(u64, usize)],
    new: &'a [(u64, usize)],
    is_same: impl Fn(usize, usize) -> bool,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let is_alike = |(was, is): &(&(u64, usize), &(u64, usize))| is_same(was.1, is.1);
    let front = if old.len() == new.len() { old.len() } else { old.iter().zip(new).take_while(is_alike).count() };
    let (old_rest, new_rest) = (&old[front..], &new[front..]);
    let back = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(is_alike).count();
    let between = old_rest[..old_rest.len() - back].iter().zip(&new_rest[..new_rest.len() - back]);
    let back = old_rest[old_rest.len() - back..].iter().zip(&new_rest[new_rest.len() - back..]);
    old[..front].iter().zip(&new[..front]).chain(between).chain(back).map(|(was, is)| (was.1, is.1))
}

/// The lines that are not in the longest order that both have in common.
fn out_of_order(pairs: &[Option<usize>]) -> Vec<bool> {
    // `ends[n]` is the new place at which the best order of n + 1 lines ends.
    let (mut ends, mut previous): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), vec![None; pairs.len()]);
    for (place, old) in pairs.iter().enumerate() {
        let Some(old) = old else { continue };
        let length = match ends.last() {
            Some(last) if pairs[*last] < Some(*old) => ends.len(),
            _ => ends.partition_point(|end| pairs[*end] < Some(*old)),
        };
        previous[place] = length.checked_sub(1).map(|before| ends[before]);
        if length == ends.len() { ends.push(place) } else { ends[length] = place }
    }
    let mut is_moved: Vec<bool> = pairs.iter().map(Option::is_some).collect();
    let mut at = ends.last().copied();
    while let Some(place) = at {
        is_moved[place] = false;
        at = previous[place];
    }
    is_moved
}
