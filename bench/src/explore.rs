//! `explore`: what a transition of an exploration costs, beside an event of a run that all oracles watch.

use std::sync::Arc;

use reenact::engine::agent_loop::AgentLoop;
use reenact::explore::budget::ExploreBudget;
use reenact::explore::explorer::{ExploreReport, explore};
use reenact::files::scenario::load;
use reenact::oracle::Oracles;
use reenact::runner::PanicCatcher;
use reenact::sim::Run;
use reenact::world::setup::RunSetup;

use super::outcome::{BarLimit, ReportLine, TIMES, count, time};
use super::{rounds, search, session};

/// A fault at every place and an input at every boundary of a run with two requests and one tool.
const BUDGET: ExploreBudget = ExploreBudget::new(0, 1, 1);

/// Of a scenario with a session of more states.
const LARGE_BUDGET: ExploreBudget = ExploreBudget::new(0, 1, 2);

/// An exploration takes long, and so does a round.
const ROUNDS: usize = 5;

/// A large one takes some ten seconds.
const LARGE_ROUNDS: usize = 3;

fn explored(setup: &Arc<RunSetup>, budget: ExploreBudget, threads: usize) -> ExploreReport {
    explore(setup, &AgentLoop::default(), budget, &PanicCatcher, &search::threads(threads), &mut |_| true)
}

/// Two threads beside one, where there are 200,000 states and more.
pub(crate) fn two_threads() -> Vec<ReportLine> {
    let scenario = load(&super::root().join("scenarios/query/pause-then-tools.toml"), &[]).expect("a shipped scenario is in order");
    let setup = scenario.setup;
    let (one, two) = (explored(&setup, LARGE_BUDGET, 1), explored(&setup, LARGE_BUDGET, 2));
    assert_eq!(one, two, "the same on one thread and on two");
    assert!(one.states >= 200_000, "{} states are too few", one.states);
    let rounds = rounds::in_turns_of(
        LARGE_ROUNDS,
        std::time::Duration::from_millis(4),
        [&mut || rounds::used(explored(&setup, LARGE_BUDGET, 1)), &mut || rounds::used(explored(&setup, LARGE_BUDGET, 2))],
    );
    vec![
        ReportLine::Bar {
            name: "explore on two threads",
            ours: format!("two {}", time(rounds.median(1))),
            theirs: format!("one {}", time(rounds.median(0))),
            figure: rounds.ratio(0, 1),
            unit: TIMES,
            limit: BarLimit::AtLeast(1.6),
        },
        ReportLine::Orientation { name: "states, transitions", figure: format!("{}, {}", one.states, one.transitions) },
    ]
}

/// A transition of an exploration beside an event of a run.
pub(crate) fn transitions() -> Vec<ReportLine> {
    let setup = session::of_one_tool();
    let one = explored(&setup, BUDGET, 1);
    assert!(one.findings.is_empty(), "{:?}", one.findings);
    let run = || Run::watched(setup.clone(), AgentLoop::default(), Oracles::new(&setup.environment));
    let mut plain = run();
    while plain.advance().is_none() {}
    let events = usize::try_from(plain.events()).expect("events are few");
    let rounds = rounds::in_turns_of(
        ROUNDS,
        std::time::Duration::from_millis(4),
        [&mut || rounds::used(explored(&setup, BUDGET, 1)), &mut || rounds::used(run().finish())],
    );
    let transitions = usize::try_from(one.transitions).expect("transitions are few");
    let by_transition = rounds.median(0) / count(transitions);
    let by_event = rounds.median(1) / count(events);
    vec![
        ReportLine::Bar {
            name: "explore",
            ours: format!("transition {}", time(by_transition)),
            theirs: format!("event {}", time(by_event)),
            figure: rounds.ratio(0, 1) * count(events) / count(transitions),
            unit: TIMES,
            limit: BarLimit::AtMost(8.0),
        },
        ReportLine::Orientation {
            name: "transitions and states a second",
            figure: format!("{:.0}, {:.0}", 1e9 / by_transition, count(one.states) * 1e9 / rounds.median(0)),
        },
        ReportLine::Orientation { name: "states, transitions", figure: format!("{}, {}", one.states, one.transitions) },
    ]
}
