//! O-16 in a sweep: at some boundaries, the interrupted copy is held against the same run made again from the start, event by event.
//!
//! The sweep itself goes on from copies, so it would not see that copies share something, or that a run depends on more than its
//! inputs. Making every run twice would cost many times what the sweep costs; a few places spread over the run find it as well,
//! because whatever is shared is shared everywhere. The copied run itself goes on to its end too: copies must not disturb it.

use super::Guard;
use super::interrupt::{Boundary, Kind, Place, Side, content, describe, inject, interrupt_at};
use super::sweep::Finding;
use crate::engine::contract::Engine;
use crate::oracle::repeat;
use crate::prelude::*;
use crate::sim::Run;
use crate::transcript::event::Transcript;
use crate::world::setup::Setup;

/// At how many boundaries runs are repeated.
const PLACES: u64 = 6;

/// Repeats runs at a few of the `boundaries`, kinds in turns, and the run without an interrupt. Returns how many runs that were, and
/// what differed. Runs that panic are left to the sweep.
pub fn audit<E: Engine>(setup: &Arc<Setup>, engine: &E, kinds: &[Kind], boundaries: usize, guard: &impl Guard) -> (usize, Vec<Finding>) {
    let new_run = || Run::new(setup.clone(), engine.clone()).without_oracles();
    let mut run = new_run();
    let mut findings = Vec::new();
    let mut runs = 0;
    for (boundary, kind) in places(boundaries).into_iter().zip(kinds.iter().cycle()) {
        let Some(place) = bring(&mut run, boundary) else { break };
        runs += 2;
        let copied = || {
            let mut copy = run.clone();
            inject(&mut copy, *kind, &content());
            copy.to_end().transcript
        };
        let repeated = || {
            let mut again = new_run();
            interrupt_at(&mut again, boundary, *kind).ok().map(|()| again.to_end().transcript)
        };
        let both = guard.run(copied).ok().zip(guard.run(repeated).ok());
        if let Some((copied, repeated)) = both {
            findings.extend(finding(Some((place, *kind)), &copied, repeated.as_ref()));
        }
    }
    runs += 2;
    let both = guard.run(|| run.to_end().transcript).ok().zip(guard.run(|| new_run().to_end().transcript).ok());
    if let Some((copied, repeated)) = both {
        findings.extend(finding(None, &copied, Some(&repeated)));
    }
    (runs, findings)
}

/// Some boundaries, spread evenly, on both sides of their events.
fn places(boundaries: usize) -> Vec<Boundary> {
    let events = boundaries as u64 / 2;
    let count = PLACES.min(events);
    let place =
        |nth: u64| Boundary { event: 1 + nth * events / count, side: if (nth / 2).is_multiple_of(2) { Side::After } else { Side::Before } };
    (0..count).map(place).collect()
}

/// Brings the run to a boundary that is not behind it; `None` when it is over before.
fn bring<E: Engine>(run: &mut Run<E>, boundary: Boundary) -> Option<Place> {
    let mut event = String::new();
    while run.events() < boundary.event {
        if run.reach().is_some() {
            return None;
        }
        event = run.next_input().map(describe).unwrap_or_default();
        if run.events() + 1 == boundary.event && boundary.side == Side::Before {
            break;
        }
        if run.advance().is_some() {
            return None;
        }
    }
    Some(Place { boundary, at: run.now(), event })
}

fn finding(interrupt: Option<(Place, Kind)>, copied: &Transcript, repeated: Option<&Transcript>) -> Option<Finding> {
    let nothing = Transcript { header: copied.header.clone(), events: [].into() };
    let violation = repeat::compare(repeated.unwrap_or(&nothing), copied)?;
    Some(Finding { interrupt, violations: vec![violation] })
}
