//! The agenda: future arrivals, earliest first.
//!
//! Two things at the same instant are ordered by a written rule: time, then class, then the order in which they were scheduled (D4).

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use reenact_engine::time::Time;
use reenact_wire::prelude::*;
use reenact_world::Arrival;

/// Everything that is scheduled.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<AgendaEntry>>,
    sequence: u64,
}

#[derive(Clone, Debug)]
struct AgendaEntry {
    at: Time,
    class: u8,
    sequence: u64,
    arrival: Arrival,
}

impl Agenda {
    /// Schedules an arrival.
    pub fn push(&mut self, at: Time, arrival: Arrival) {
        self.sequence += 1;
        self.heap.push(Reverse(AgendaEntry { at, class: arrival.class(), sequence: self.sequence, arrival }));
    }

    /// The next arrival and its time.
    pub fn peek(&self) -> Option<(Time, &Arrival)> {
        self.heap.peek().map(|Reverse(entry)| (entry.at, &entry.arrival))
    }

    /// All arrivals with their times, in the order in which they come.
    pub fn in_order(&self) -> impl Iterator<Item = (Time, &Arrival)> {
        let mut entries: Vec<&AgendaEntry> = self.heap.iter().map(|Reverse(entry)| entry).collect();
        entries.sort_unstable();
        entries.into_iter().map(|entry| (entry.at, &entry.arrival))
    }

    /// Takes the next arrival and its time.
    pub fn pop(&mut self) -> Option<(Time, Arrival)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.arrival))
    }
}

impl AgendaEntry {
    fn key(&self) -> (Time, u8, u64) {
        (self.at, self.class, self.sequence)
    }
}

impl Ord for AgendaEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for AgendaEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for AgendaEntry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for AgendaEntry {}
