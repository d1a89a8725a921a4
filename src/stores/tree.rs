//! Entries that name their parents: a conversation is the path from a leaf to its root.

use alloc::collections::{BTreeMap, BTreeSet};

use super::conversation::{HistoryPlace, StoreRemarks};
use reenact_wire::prelude::*;

/// The links of an entry: its place in the tree.
#[derive(Clone, Debug)]
pub(super) struct EntryLinks {
    /// Its line.
    pub(super) place: HistoryPlace,
    /// Its id.
    pub(super) id: Option<Arc<str>>,
    /// The id of its parent.
    pub(super) parent: Option<Arc<str>>,
    /// Entries of different sides are never parent and child.
    pub(super) is_side: bool,
    /// Whether nothing before it is needed: a compaction. Its parent may be in another file.
    pub(super) is_boundary: bool,
}

impl EntryLinks {
    /// Whether it stands in the session's own file.
    pub(super) fn is_own(&self) -> bool {
        !matches!(self.place, HistoryPlace::LineElsewhere(..))
    }
}

/// The tree, by the indexes of its entries.
#[derive(Clone, Debug)]
pub(super) struct EntryTree {
    /// The entry of each id.
    index: BTreeMap<Arc<str>, usize>,
    parents: Vec<Option<usize>>,
}

impl EntryTree {
    /// Links the entries. An id that stands twice means the first of its entries.
    pub(super) fn new(entries: &[EntryLinks], remarks: &mut StoreRemarks) -> Self {
        let mut index = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            let Some(id) = &entry.id else { continue };
            let first = *index.entry(id.clone()).or_insert(at);
            if first != at && entry.is_own() {
                remarks.add(format!("{} has the id {id} of {} again", entry.place, entries[first].place));
            }
        }
        let mut parents = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let parent = entry.parent.as_ref().and_then(|parent| index.get(parent).copied());
            if let (Some(name), None, true) = (&entry.parent, parent, entry.is_own()) {
                remarks.add(format!("{} names a parent that is not in the file: {name}", entry.place));
            }
            parents.push(parent.filter(|parent| *parent != at && entries[*parent].is_side == entry.is_side));
        }
        Self { index, parents }
    }

    /// The entry with this id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// Whether an entry has the id of an earlier one.
    pub(super) fn is_copy(&self, at: usize, entries: &[EntryLinks]) -> bool {
        entries[at].id.as_ref().is_some_and(|id| self.find(id) != Some(at))
    }

    /// From the root to `leaf`. A parent that is not in the file ends the path, and so do parents that lead round in a circle: both are damages.
    pub(super) fn path(&self, leaf: usize, entries: &[EntryLinks], remarks: &mut StoreRemarks) -> Vec<usize> {
        // Not a list as long as the file: there may be as many paths as lines.
        let mut seen = BTreeSet::new();
        let mut path = Vec::new();
        let mut next = Some(leaf);
        while let Some(at) = next {
            let entry = &entries[at];
            if !seen.insert(at) {
                remarks.add_damage(entry.place.clone(), "has parents that lead round in a circle");
                break;
            }
            path.push(at);
            next = self.parents[at];
            let missing = entry.parent.as_ref().filter(|parent| next.is_none() && !entry.is_boundary && !self.index.contains_key(*parent));
            missing.into_iter().for_each(|parent| remarks.add_missing_parent(entry.place.clone(), parent.clone()));
        }
        path.reverse();
        path
    }

    /// For each entry the root that it descends from; of a circle any of its entries.
    pub(super) fn roots(&self) -> Vec<usize> {
        let mut roots: Vec<Option<usize>> = vec![None; self.parents.len()];
        let mut is_on_way = vec![false; self.parents.len()];
        for start in 0..self.parents.len() {
            let (mut way, mut at) = (Vec::new(), start);
            let root = loop {
                if let Some(root) = roots[at] {
                    break root;
                }
                if is_on_way[at] {
                    break at;
                }
                is_on_way[at] = true;
                way.push(at);
                match self.parents[at] {
                    Some(parent) => at = parent,
                    None => break at,
                }
            };
            way.into_iter().for_each(|at| roots[at] = Some(root));
        }
        roots.into_iter().enumerate().map(|(at, root)| root.unwrap_or(at)).collect()
    }
}
