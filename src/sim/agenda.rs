//! The agenda: future arrivals, earliest first.
//!
//! Two things at the same instant are ordered by a written rule: time, then class, then the order in which they were scheduled (D4).
//! An exploration lets one come before others that are earlier (E-3): each has a window of times at which it may come.
//!
//! ```text
//!   scheduled     a ──────────●───────────────────     ● the usual time
//!   now, 0      b ────────────────────●───────────     ─ the window: from half to twice the usual span
//! ```

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use reenact_engine::time::{Micros, Time};
use reenact_wire::prelude::*;
use reenact_world::{Arrival, ArrivalSlack};

/// An arrival that takes no time may take so long.
const OF_NO_TIME: Micros = Micros::from_millis(1);

/// The first number of an arrival that was scheduled. What was brought forward has a smaller one.
const FIRST: u64 = 1 << 32;

/// Everything that is scheduled.
#[derive(Clone, Debug)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<AgendaEntry>>,
    sequence: u64,
    /// The smallest number that an arrival has.
    smallest: u64,
}

/// The times at which an arrival may come (E-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrivalWindow {
    /// The first instant.
    pub earliest: Time,
    /// The last instant.
    pub latest: Time,
}

/// An arrival that may come first, although others would come before it (E-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deviation {
    /// Its place in the order of the agenda.
    pub index: usize,
    /// When it comes then: as early as it can.
    pub at: Time,
}

#[derive(Clone, Debug)]
struct AgendaEntry {
    at: Time,
    class: u8,
    sequence: u64,
    window: ArrivalWindow,
    arrival: Arrival,
}

impl Default for Agenda {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), sequence: FIRST, smallest: FIRST }
    }
}

impl Agenda {
    /// Schedules an arrival. `now` is the present. With `slack` it may come so far from its time when it comes out of order.
    pub fn push(&mut self, now: Time, at: Time, arrival: Arrival, slack: Option<ArrivalSlack>) {
        self.sequence += 1;
        let window = match slack {
            _ if arrival.is_timer() => ArrivalWindow::point(at),
            _ => ArrivalWindow::new(now, at, slack),
        };
        self.heap.push(Reverse(AgendaEntry { at, class: arrival.class(), sequence: self.sequence, window, arrival }));
    }

    /// The next arrival and its time.
    pub fn peek(&self) -> Option<(Time, &Arrival)> {
        self.heap.peek().map(|Reverse(entry)| (entry.at, &entry.arrival))
    }

    /// All arrivals with their times and windows, in the order in which they come.
    pub fn in_order(&self) -> impl Iterator<Item = (Time, ArrivalWindow, &Arrival)> {
        self.sorted().into_iter().map(|entry| (entry.at, entry.window, &entry.arrival))
    }

    /// Takes the next arrival and its time.
    pub fn pop(&mut self) -> Option<(Time, Arrival)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.arrival))
    }

    /// The arrivals that may come first instead of the next one. `is_awaited` says whether one is still to happen.
    pub fn deviations(&self, now: Time, is_awaited: impl Fn(Time, &Arrival) -> bool) -> Vec<Deviation> {
        if self.heap.len() < 2 {
            return Vec::new();
        }
        let entries = self.sorted();
        let awaited: Vec<(usize, &AgendaEntry)> = (0..).zip(entries).filter(|(_, entry)| is_awaited(entry.at, &entry.arrival)).collect();
        let mut found = Vec::new();
        for (place, (index, entry)) in awaited.iter().enumerate().skip(1) {
            let at = now.max(entry.window.earliest);
            let (before, behind) = (&awaited[..place], &awaited[place + 1..]);
            let keeps_order = before.iter().all(|(_, other)| !other.arrival.is_of_one_source(&entry.arrival));
            let can_wait = |(_, other): &(usize, &AgendaEntry)| other.at.max(other.window.latest) >= at;
            if keeps_order && at <= entry.at.max(entry.window.latest) && before.iter().chain(behind).all(can_wait) {
                found.push(Deviation { index: *index, at });
            }
        }
        found
    }

    /// Lets an arrival come first: what would come before `at` comes right after it, in the same order as before. Returns what was moved, with its time
    /// before; nothing when there is no such arrival.
    pub fn bring_forward(&mut self, Deviation { index, at }: Deviation) -> Vec<(Time, Arrival)> {
        let mut entries: Vec<AgendaEntry> = core::mem::take(&mut self.heap).into_iter().map(|Reverse(entry)| entry).collect();
        entries.sort_unstable();
        let mut moved = Vec::new();
        if index < entries.len() {
            let first = entries.remove(index);
            entries.insert(0, first);
            let count = 1 + entries.iter().skip(1).filter(|entry| entry.at < at).count();
            self.smallest = self.smallest.saturating_sub(count as u64);
            let is_moved = |(place, entry): &(usize, &mut AgendaEntry)| *place == 0 || entry.at < at;
            for (number, (_, entry)) in (self.smallest..).zip(entries.iter_mut().enumerate().filter(is_moved)) {
                moved.push((entry.at, entry.arrival.clone()));
                (entry.at, entry.class, entry.sequence) = (at, 0, number);
            }
        }
        self.heap = entries.into_iter().map(Reverse).collect();
        moved
    }

    fn sorted(&self) -> Vec<&AgendaEntry> {
        let mut entries: Vec<&AgendaEntry> = self.heap.iter().map(|Reverse(entry)| entry).collect();
        entries.sort_unstable();
        entries
    }
}

impl ArrivalWindow {
    /// The usual time alone.
    pub fn point(at: Time) -> Self {
        Self { earliest: at, latest: at }
    }

    /// So far from its time as `slack` says, else from half to twice the span until it comes.
    pub fn new(now: Time, at: Time, slack: Option<ArrivalSlack>) -> Self {
        match slack {
            Some(ArrivalSlack { earlier, later }) => Self { earliest: now.max(Time(at.0.saturating_sub(earlier.0))), latest: at + later },
            None => Self::around(now, at),
        }
    }

    fn around(now: Time, at: Time) -> Self {
        let span = at.since(now);
        let latest = if span == Micros::ZERO { at + OF_NO_TIME } else { at + span };
        Self { earliest: now + Micros(span.0 / 2), latest }
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
