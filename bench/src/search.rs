//! `certify` beside the exploration that it checks, and `fuzz` beside plain runs.

use std::num::NonZeroUsize;

use reenact::engine::agent_loop::AgentLoop;
use reenact::explore::budget::ExploreBudget;
use reenact::explore::certificate::{Certificate, CertificateClaim};
use reenact::explore::certify::{CertifyPart, certify};
use reenact::explore::explorer::{ExploreOptions, ExplorePace, Workers as _, explore_with};
use reenact::explore::fuzz::{FuzzGround, FuzzIsland, FuzzStrategy};
use reenact::oracle::Oracles;
use reenact::runner::PanicCatcher;
use reenact::runner::explore::Threads;
use reenact::sim::Run;

use super::outcome::{BarLimit, ReportLine, TIMES, count, time};
use super::{rounds, session};

/// A fault at every place and an input at every boundary of a run with two requests and one tool.
const BUDGET: ExploreBudget = ExploreBudget::new(0, 1, 1);

/// Both sides take long, and so does a round.
const ROUNDS: usize = 5;

/// So many cases each island makes in a round.
const CASES: usize = 20;

/// So many threads.
pub(crate) fn threads(count: usize) -> Threads {
    Threads(NonZeroUsize::new(count).expect("there are threads"))
}

/// The check of a certificate beside the exploration that has written it, on one thread.
pub(crate) fn certificates() -> Vec<ReportLine> {
    let setup = session::of_one_tool();
    let options = || ExploreOptions { keeps_graph: true, ..ExploreOptions::default() };
    let explored =
        || explore_with(&setup, &AgentLoop::default(), BUDGET, &PanicCatcher, &threads(1), (options(), &mut |_| ExplorePace::Usual));
    let exploration = explored();
    let report = &exploration.report;
    let certificate =
        Certificate::new(CertificateClaim::new(report, &setup.scenario.explore), exploration.graph.as_ref().expect("it was asked for"));
    let checked = || {
        let report = certify(&certificate, &setup, &AgentLoop::default(), &PanicCatcher, (CertifyPart::All, &mut |_| true));
        report.expect("the certificate holds")
    };
    assert_eq!(checked().checked, report.states, "each state is checked");
    let rounds = rounds::in_turns_of(
        ROUNDS,
        std::time::Duration::from_millis(4),
        [&mut || rounds::used(checked()), &mut || rounds::used(explored())],
    );
    vec![
        ReportLine::Bar {
            name: "certify",
            ours: format!("check {}", time(rounds.median(0))),
            theirs: format!("exploration {}", time(rounds.median(1))),
            figure: rounds.ratio(0, 1),
            unit: TIMES,
            limit: BarLimit::AtMost(1.5),
        },
        ReportLine::Orientation {
            name: "bytes of a certificate by state",
            figure: format!("{:.1}", count(certificate.encode().len()) / count(report.states)),
        },
    ]
}

/// An event of a random case beside one of a plain run, with all oracles; and two threads beside one.
pub(crate) fn cases() -> Vec<ReportLine> {
    let setup = session::of_one_tool();
    let engine = AgentLoop::default();
    let ground = FuzzGround::new(&setup, &engine, &PanicCatcher);
    let fuzzed = |on: usize| -> usize {
        let island = |number: u64| {
            let mut island = FuzzIsland::new(number);
            let case = |_| {
                let strategy = FuzzStrategy::ALL[usize::try_from(island.next_number()).expect("few cases") % FuzzStrategy::ALL.len()];
                island.advance((&ground, &setup, &engine.clone()), (strategy, 1), &PanicCatcher).0.path.choices.len()
            };
            (0..CASES).map(case).sum::<usize>()
        };
        threads(on).map((0..FuzzIsland::COUNT).collect(), island).into_iter().sum()
    };
    let events = fuzzed(1);
    assert_eq!(events, fuzzed(2), "the same on one thread and on two");
    let run = || Run::watched(setup.clone(), AgentLoop::default(), Oracles::new(&setup.environment));
    let mut plain = run();
    while plain.advance().is_none() {}
    let plain_events = usize::try_from(plain.events()).expect("events are few");
    let rounds = rounds::in_turns_of(
        ROUNDS,
        std::time::Duration::from_millis(4),
        [&mut || rounds::used(fuzzed(1)), &mut || rounds::used(fuzzed(2)), &mut || rounds::used(run().finish())],
    );
    vec![
        ReportLine::Bar {
            name: "fuzz",
            ours: format!("event {}", time(rounds.median(0) / count(events))),
            theirs: format!("event of a run {}", time(rounds.median(2) / count(plain_events))),
            figure: rounds.ratio(0, 2) * count(plain_events) / count(events),
            unit: TIMES,
            limit: BarLimit::AtMost(2.0),
        },
        ReportLine::Bar {
            name: "fuzz on two threads",
            ours: format!("two {}", time(rounds.median(1))),
            theirs: format!("one {}", time(rounds.median(0))),
            figure: rounds.ratio(0, 1),
            unit: TIMES,
            limit: BarLimit::AtLeast(1.7),
        },
    ]
}
