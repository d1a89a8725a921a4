//! Two versions of an engine, compared along the certificate of the older one (E-3c).
//!
//! States correspond by their paths and not by their keys: the newer engine may keep its state in another form. Where all decisions at a state have the same effects and
//! lead to states that correspond, nothing has changed there.

use alloc::collections::BTreeMap;

use super::certificate::{Certificate, digest};
use super::explorer::ExploredGraph;
use reenact_wire::prelude::*;

/// The differences between two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionDifference {
    /// How many states are as before.
    pub same: usize,
    /// The states whose decisions have other effects, or lead elsewhere: their places among the new states, those with the shortest ways first.
    pub changed: Vec<usize>,
    /// How many states there were before and are not any more.
    pub gone: usize,
    /// How many states there are now and were not before.
    pub added: usize,
}

/// A place for a state of the newer engine that no older one corresponds to.
const NO_OTHER: u64 = u64::MAX - 1;

/// Compares a certificate with a newer exploration of the same scenario within the same budget.
pub fn compare(old: &Certificate, new: &ExploredGraph) -> VersionDifference {
    let mut children: BTreeMap<u64, Vec<(u32, usize)>> = BTreeMap::new();
    for (place, state) in old.states.iter().enumerate() {
        if let Some((parent, event)) = state.parent {
            children.entry(parent).or_default().push((event, place));
        }
    }
    // Which old state each new one corresponds to, and the other way round.
    let mut older: Vec<Option<usize>> = vec![None; new.keys.len()];
    let mut newer: Vec<Option<usize>> = vec![None; old.states.len()];
    if let (Some(first), Some(other)) = (older.first_mut(), newer.first_mut()) {
        (*first, *other) = (Some(0), Some(0));
    }
    // Parents come before their children in both.
    for place in 0..old.states.len() {
        let Some(here) = newer[place] else { continue };
        let ways: Vec<_> = new.transitions(here).collect();
        for (event, child) in children.get(&(place as u64)).into_iter().flatten() {
            let Some((_, Some(to))) = ways.get(*event as usize) else { continue };
            let to = usize::try_from(*to).unwrap_or(usize::MAX);
            if older.get(to).is_some_and(Option::is_none) {
                (older[to], newer[*child]) = (Some(*child), Some(to));
            }
        }
    }
    let mut found = VersionDifference {
        gone: newer.iter().filter(|other| other.is_none()).count(),
        added: older.iter().filter(|other| other.is_none()).count(),
        ..VersionDifference::default()
    };
    for (place, state) in old.states.iter().enumerate() {
        let Some(here) = newer[place] else { continue };
        let other = |to: u64| usize::try_from(to).ok().and_then(|to| older[to]).map_or(NO_OTHER, |place| place as u64);
        if digest(new.transitions(here).map(|(hash, to)| (hash, to.map(other)))) == state.digest {
            found.same += 1;
        } else {
            found.changed.push(here);
        }
    }
    found.changed.sort_unstable();
    found
}

impl VersionDifference {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone == 0 && self.added == 0
    }
}
