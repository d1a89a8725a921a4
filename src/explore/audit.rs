//! O-15 and O-16 in a sweep, the rules that compare two runs.
//!
//! O-15: the run as it is, made again with its answers cut into other chunks.
//!
//! O-16: at some boundaries, the interrupted copy is held against the same run made again from the start, event by event.
//!
//! The sweep itself continues from copies, so it would not see that copies share something, or that a run depends on more than its
//! inputs. Making every run twice would cost many times what the sweep costs; a few places spread over the run find it as well,
//! because shared data is shared everywhere. The copied run itself continues to its end too: copies must not disturb it.

use super::PanicGuard;
use super::finding::SweepFinding;
use super::interrupt::{BoundaryPlace, BoundarySide, InjectionKind, RunBoundary, content, inject, interrupt_at};
use reenact_engine::contract::Engine;
use reenact_oracle::{rechunked_runs, repeated_requests};
use reenact_scenario::types::Chunking;
use reenact_sim::Run;
use reenact_transcript::event::Transcript;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// At how many boundaries runs are repeated.
const PLACES: u64 = 6;

/// Repeats runs at a few of the `boundaries`, kinds in turns, and the run without an interrupt. Returns how many runs that were, and
/// what differed. Runs that panic are left to the sweep.
pub fn audit<E: Engine>(
    setup: &Arc<RunSetup>,
    engine: &E,
    kinds: &[InjectionKind],
    boundaries: usize,
    guard: &impl PanicGuard,
) -> (usize, Vec<SweepFinding>) {
    let new_run = || Run::new(setup.clone(), engine.clone());
    let mut run = new_run();
    let mut findings = Vec::new();
    let mut runs = 0;
    for (boundary, kind) in places(boundaries).into_iter().zip(kinds.iter().cycle()) {
        let Some(place) = bring(&mut run, boundary) else { break };
        runs += 2;
        let copied = || {
            let mut copy = run.clone();
            inject(&mut copy, *kind, &content());
            copy.to_transcript()
        };
        let repeated = || {
            let mut again = new_run();
            interrupt_at(&mut again, boundary, *kind).ok().map(|()| again.to_transcript())
        };
        let both = guard.run(copied).ok().zip(guard.run(repeated).ok());
        if let Some((copied, repeated)) = both {
            findings.extend(finding(Some((place, *kind)), &copied, repeated.as_ref()));
        }
    }
    runs += 2;
    let both = guard.run(|| run.to_transcript()).ok().zip(guard.run(|| new_run().to_transcript()).ok());
    if let Some((copied, repeated)) = both {
        runs += 1;
        // A run that is another one each time says nothing about chunks.
        let found = finding(None, &copied, Some(&repeated)).or_else(|| in_other_chunks(setup, engine, &repeated, guard));
        findings.extend(found);
    }
    (runs, findings)
}

/// How often each of the two rules was asked in so many runs: each comparison takes two (O-16), and one more the run in other chunks (O-15).
pub fn asked(runs: usize) -> [(&'static str, u64); 2] {
    [(repeated_requests::ORACLE, runs as u64 / 2), (rechunked_runs::ORACLE, runs as u64 % 2)]
}

/// The run as it is, held against the same run in other chunks (O-15).
fn in_other_chunks<E: Engine>(setup: &RunSetup, engine: &E, usual: &Transcript, guard: &impl PanicGuard) -> Option<SweepFinding> {
    let other = guard.run(|| Run::new(rechunked(setup), engine.clone()).to_transcript()).ok()?;
    let violation = rechunked_runs::compare(usual, &other)?;
    Some(SweepFinding { interrupt: None, before: None, violations: vec![violation], runs: 1 })
}

/// The same scenario with its answers cut into other chunks.
#[doc(hidden)]
pub fn rechunked(setup: &RunSetup) -> Arc<RunSetup> {
    let mut other = setup.clone();
    other.scenario.chunking = if setup.scenario.chunking == Chunking::Bytes { Chunking::Every(7) } else { Chunking::Bytes };
    Arc::new(other)
}

/// Some boundaries, spread evenly, on both sides of their events.
fn places(boundaries: usize) -> Vec<RunBoundary> {
    let events = boundaries as u64 / 2;
    let count = PLACES.min(events);
    let place = |nth: u64| RunBoundary {
        event: 1 + nth * events / count,
        side: if (nth / 2).is_multiple_of(2) { BoundarySide::After } else { BoundarySide::Before },
    };
    (0..count).map(place).collect()
}

/// Brings the run to a boundary that is not behind it; `None` when it is over before.
fn bring<E: Engine>(run: &mut Run<E>, boundary: RunBoundary) -> Option<BoundaryPlace> {
    let mut input = None;
    while run.events() < boundary.event {
        if run.reach().is_some() {
            return None;
        }
        input = run.next_input().cloned();
        if run.events() + 1 == boundary.event && boundary.side == BoundarySide::Before {
            break;
        }
        if run.advance().is_some() {
            return None;
        }
    }
    Some(BoundaryPlace::new(boundary, run.now(), &input?))
}

fn finding(interrupt: Option<(BoundaryPlace, InjectionKind)>, copied: &Transcript, repeated: Option<&Transcript>) -> Option<SweepFinding> {
    let nothing = Transcript { header: copied.header.clone(), events: [].into() };
    let violation = repeated_requests::compare(repeated.unwrap_or(&nothing), copied)?;
    Some(SweepFinding { interrupt, before: None, violations: vec![violation], runs: 1 })
}
