//! `copy`, `sweep-step` and `sweep-130`: what it costs to interrupt a run everywhere, beside running it once.

use std::hint::black_box;
use std::sync::Arc;

use reenact::engine::agent_loop::AgentLoop;
use reenact::explore::NoPanicGuard;
use reenact::explore::interrupt::{InjectionKind, content, inject};
use reenact::explore::sweep::sweep;
use reenact::oracle::Oracles;
use reenact::sim::Run;
use reenact::world::setup::RunSetup;

use super::outcome::{BarLimit, MICROSECONDS, ReportLine, TIMES, count, time};
use super::run::{chunks_through_a_channel, runtime};
use super::{rounds, session};

type WatchedRun = Run<AgentLoop, Oracles>;

/// The usual session, longer: one prompt, three answers with a tool and a last one, some 130 events.
pub(crate) fn setup() -> Arc<RunSetup> {
    session::of_turns(3)
}

fn watched(setup: &Arc<RunSetup>) -> WatchedRun {
    let mut run = Run::watched(setup.clone(), AgentLoop::default(), Oracles::new(&setup.environment));
    run.expect_injections();
    run
}

/// The run at each of its boundaries, as a sweep copies it.
fn at_each_boundary(setup: &Arc<RunSetup>) -> Vec<WatchedRun> {
    let mut run = watched(setup);
    let mut boundaries = Vec::new();
    loop {
        let is_new = run.next_input().is_none();
        if run.reach().is_some() {
            return boundaries;
        }
        if is_new {
            boundaries.push(run.clone());
        }
        assert_eq!(run.advance(), None, "the run ends when nothing is left, not within an event");
        boundaries.push(run.clone());
    }
}

/// Copies of engine, world and oracles, and of a run that keeps its transcript.
pub(crate) fn copies() -> Vec<ReportLine> {
    let setup = setup();
    let boundaries = at_each_boundary(&setup);
    let mut costs: Vec<f64> = boundaries.iter().map(cost_of_copy).collect();
    costs.sort_unstable_by(f64::total_cmp);
    let median = costs[costs.len() / 2];
    let mut recorded = Run::new(setup, AgentLoop::default());
    while recorded.events() < 65 {
        assert_eq!(recorded.advance(), None, "the run is not over at its middle");
    }
    vec![
        ReportLine::Bar {
            name: "copy",
            ours: time(median),
            theirs: format!("{} boundaries", boundaries.len()),
            figure: median / 1e3,
            unit: MICROSECONDS,
            limit: BarLimit::AtMost(1.0),
        },
        ReportLine::Orientation { name: "cheapest and dearest", figure: format!("{}, {}", time(costs[0]), time(costs[costs.len() - 1])) },
        ReportLine::Orientation { name: "with its transcript, half-way", figure: time(cost_of_copy(&recorded)) },
    ]
}

fn cost_of_copy<T: Clone>(run: &T) -> f64 {
    let sample = std::time::Duration::from_micros(100);
    rounds::in_turns_of(5, sample, [&mut || rounds::used(black_box(run).clone())]).median(0)
}

/// The whole sweep beside plain replays: by event that was stepped, and as a whole.
pub(crate) fn sweeps() -> Vec<ReportLine> {
    let setup = setup();
    let report = sweep(&setup, &AgentLoop::default(), &InjectionKind::OF_USER, &NoPanicGuard);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let plain = || Run::new(setup.clone(), AgentLoop::default()).without_oracles();
    let events = usize::try_from(watched_to_end(watched(&setup))).expect("events are few");
    assert!((120..=150).contains(&events), "the scenario has some 130 events, not {events}");
    let chunks = u32::try_from(events).expect("events are few");
    let steps = events + steps_after_interrupts(&setup);
    let rounds = rounds::in_turns([
        &mut || rounds::used(sweep(&setup, &AgentLoop::default(), &InjectionKind::OF_USER, &NoPanicGuard)),
        &mut || rounds::used(plain().to_end()),
        &mut || rounds::used(watched(&setup).finish()),
        &mut || chunks_through_a_channel(&runtime(), chunks),
    ]);
    let by_step = |way: usize, steps: usize| rounds.median(way) / count(steps);
    vec![
        ReportLine::Bar {
            name: "sweep-step",
            ours: format!("step {}", time(by_step(0, steps))),
            theirs: format!("replayed {}", time(by_step(1, events))),
            figure: rounds.ratio(0, 1) * count(events) / count(steps),
            unit: TIMES,
            limit: BarLimit::AtMost(1.5),
        },
        ReportLine::Bar {
            name: "sweep-130",
            ours: time(rounds.median(0)),
            theirs: format!("paused tokio {}", time(rounds.median(3))),
            figure: rounds.ratio(0, 3),
            unit: TIMES,
            limit: BarLimit::AtMost(75.0),
        },
        ReportLine::Orientation {
            name: "events, boundaries, runs, merged",
            figure: format!("{events}, {}, {}, {}", report.boundaries, report.runs, report.merged),
        },
        ReportLine::Orientation {
            name: "a run watched by all oracles",
            figure: format!("{} ({:.2}x)", time(rounds.median(2)), rounds.ratio(2, 1)),
        },
    ]
}

/// How many events the interrupted copies take after their interrupts.
fn steps_after_interrupts(setup: &Arc<RunSetup>) -> usize {
    let mut steps = 0;
    for run in at_each_boundary(setup) {
        for kind in InjectionKind::OF_USER {
            let mut copy = run.clone();
            inject(&mut copy, kind, &content());
            steps += watched_to_end(copy) - run.events();
        }
    }
    usize::try_from(steps).expect("steps are few")
}

fn watched_to_end(mut run: WatchedRun) -> u64 {
    while run.advance().is_none() {}
    run.events()
}
