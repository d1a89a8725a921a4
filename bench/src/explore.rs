//! `explore`: what a transition of an exploration costs, beside an event of a run that all oracles watch.

use std::num::NonZeroUsize;
use std::sync::Arc;

use reenact::engine::agent_loop::AgentLoop;
use reenact::explore::budget::ExploreBudget;
use reenact::explore::explorer::{ExploreReport, explore};
use reenact::oracle::Oracles;
use reenact::runner::PanicCatcher;
use reenact::runner::explore::Threads;
use reenact::sim::Run;
use reenact::world::setup::RunSetup;

use super::outcome::{BarLimit, ReportLine, TIMES, count, time};
use super::{rounds, session};

/// A fault at every place and an input at every boundary of a run with two requests and one tool.
const BUDGET: ExploreBudget = ExploreBudget::new(0, 1, 1);

/// An exploration takes long, and so does a round.
const ROUNDS: usize = 5;

/// One thread beside two, and a run beside both.
pub(crate) fn transitions() -> Vec<ReportLine> {
    let setup = Arc::new(RunSetup::new(session::scripted(session::TOOL), None).expect("a scripted scenario needs no tape"));
    let explored = |threads: usize| -> ExploreReport {
        let threads = Threads(NonZeroUsize::new(threads).expect("there are threads"));
        explore(&setup, &AgentLoop::default(), BUDGET, &PanicCatcher, &threads, &mut |_| true)
    };
    let (one, two) = (explored(1), explored(2));
    assert!(one.findings.is_empty(), "{:?}", one.findings);
    assert_eq!(one, two, "the same on one thread and on two");
    let run = || Run::watched(setup.clone(), AgentLoop::default(), Oracles::new(&setup.environment));
    let mut plain = run();
    while plain.advance().is_none() {}
    let events = usize::try_from(plain.events()).expect("events are few");
    let rounds = rounds::in_turns_of(
        ROUNDS,
        std::time::Duration::from_millis(4),
        [&mut || rounds::used(explored(1)), &mut || rounds::used(explored(2)), &mut || rounds::used(run().finish())],
    );
    let transitions = usize::try_from(one.transitions).expect("transitions are few");
    let by_transition = rounds.median(0) / count(transitions);
    let by_event = rounds.median(2) / count(events);
    vec![
        ReportLine::Bar {
            name: "explore",
            ours: format!("transition {}", time(by_transition)),
            theirs: format!("event {}", time(by_event)),
            figure: rounds.ratio(0, 2) * count(events) / count(transitions),
            unit: TIMES,
            limit: BarLimit::AtMost(8.0),
        },
        ReportLine::Orientation {
            name: "transitions and states a second",
            figure: format!("{:.0}, {:.0}", 1e9 / by_transition, count(one.states) * 1e9 / rounds.median(0)),
        },
        ReportLine::Orientation { name: "two threads beside one", figure: format!("{:.2}x", rounds.ratio(0, 1)) },
        ReportLine::Orientation { name: "states, transitions", figure: format!("{}, {}", one.states, one.transitions) },
    ]
}
