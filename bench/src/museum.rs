//! `museum` and `neighbourhood`: how long it takes until a real bug is found and small, and how long to look at all orders around a run.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use reenact::engine::agent_loop::AgentLoop;
use reenact::explore::budget::ExploreBudget;
use reenact::explore::explorer::{ExploreFinding, explore};
use reenact::explore::shrink::{EngineProbe, ShrunkRun, shrink};
use reenact::files::scenario::{LoadOptions, LoadedScenario, ScenarioVariants, load_with};
use reenact::runner::PanicCatcher;
use reenact::runner::explore::Threads;
use reenact::world::setup::RunSetup;
use reenact_museum::exhibits::{CARDS, Card, MuseumLoop};

use super::outcome::{BarLimit, MILLISECONDS, ReportLine, time};
use super::{root, rounds, sweep};

/// The largest budgets in which exhibits are looked for.
const LARGEST: [ExploreBudget; 2] = [ExploreBudget::new(1, 0, 1), ExploreBudget::new(0, 1, 0)];

/// Each exhibit is looked for so often.
const ROUNDS: usize = 5;

/// One exhibit: how long it took until it was found, until the finding was small, and how many runs that were.
struct FoundExhibit {
    found: Duration,
    shrunk: Duration,
    runs: u32,
}

fn one_thread() -> Threads {
    Threads(NonZeroUsize::MIN)
}

/// All exhibits, each found and made small on one thread.
pub(crate) fn exhibits() -> Vec<ReportLine> {
    let mut all = Vec::new();
    for card in CARDS {
        let file = root().join("museum/scenarios").join(format!("{}.toml", card.name));
        let loaded = load_with(&file, &LoadOptions::default()).expect("the museum's scenarios can be read");
        let mut rounds: Vec<FoundExhibit> = (0..ROUNDS).map(|_| exhibit(card, &loaded)).collect();
        rounds.sort_unstable_by_key(|round| round.found + round.shrunk);
        all.push(rounds.swap_remove(ROUNDS / 2));
    }
    let runs = all.iter().map(|exhibit| exhibit.runs).max().unwrap_or_default();
    let found = sorted(all.iter().map(|exhibit| exhibit.found));
    let shrunk = sorted(all.iter().map(|exhibit| exhibit.shrunk));
    let bar = |name, theirs: &str, time: Duration, limit| ReportLine::Bar {
        name,
        ours: format!("{:.1} ms", milliseconds(time)),
        theirs: theirs.into(),
        figure: milliseconds(time),
        unit: MILLISECONDS,
        limit: BarLimit::AtMost(limit),
    };
    vec![
        bar("finding an exhibit", "median", found[found.len() / 2], 50.0),
        bar("finding an exhibit", "longest", found[found.len() - 1], 2_000.0),
        bar("shrinking a finding", "median", shrunk[shrunk.len() / 2], 50.0),
        ReportLine::Bar {
            name: "runs of a shrink",
            ours: format!("{} exhibits", all.len()),
            theirs: String::from("most"),
            figure: f64::from(runs),
            unit: " runs",
            limit: BarLimit::AtMost(200.0),
        },
    ]
}

fn exhibit(card: &Card, loaded: &LoadedScenario) -> FoundExhibit {
    let engine = MuseumLoop::find(card.name).expect("each card has its exhibit");
    let seen = card.seen();
    let budgets = ExploreBudget::RISING.into_iter().filter(|budget| LARGEST.iter().any(|largest| largest.covers(*budget)));
    let finding = |budget| -> Option<ExploreFinding> {
        let report = explore(&loaded.setup, &engine, budget, &PanicCatcher, &one_thread(), &mut |_| true);
        report.findings.into_iter().find(|finding| seen.contains(&finding.fingerprint.oracle))
    };
    let mut first = None;
    let found = rounds::timed(|| first = budgets.filter_map(finding).next());
    let finding = first.expect("each exhibit is found");
    let mut small = None;
    let shrunk = rounds::timed(|| small = Some(shrunk_finding(loaded, &engine, &finding)));
    FoundExhibit { found, shrunk, runs: small.expect("it was made small").runs }
}

fn shrunk_finding(loaded: &LoadedScenario, engine: &MuseumLoop, finding: &ExploreFinding) -> ShrunkRun {
    let planned = finding.path.setup(&loaded.setup, engine, &PanicCatcher);
    let variants = ScenarioVariants::new(loaded).expect("the scenario was loaded");
    let ready = |scenario| variants.ready(scenario);
    let mut probe = EngineProbe::new(engine, &PanicCatcher, &ready);
    shrink(&planned.scenario, &finding.fingerprint, &mut probe).expect("the finding shows itself again")
}

/// All orders with one deviation and with two around a run of some 130 events.
pub(crate) fn neighbourhood() -> Vec<ReportLine> {
    let setup = sweep::setup();
    let explored = |setup: &Arc<RunSetup>, deviations: u8| {
        explore(setup, &AgentLoop::default(), ExploreBudget::new(deviations, 0, 0), &PanicCatcher, &one_thread(), &mut |_| true)
    };
    let [one, two] = [1, 2].map(|deviations| explored(&setup, deviations));
    assert!(one.findings.is_empty() && two.findings.is_empty(), "{:?} {:?}", one.findings, two.findings);
    assert!(one.swaps > 0, "there is something to reorder");
    let sample = Duration::from_millis(4);
    let ways = rounds::in_turns_of(ROUNDS, sample, [&mut || rounds::used(explored(&setup, 1)), &mut || rounds::used(explored(&setup, 2))]);
    let bar = |name, way, report: &reenact::explore::explorer::ExploreReport, limit| ReportLine::Bar {
        name,
        ours: time(ways.median(way)),
        theirs: format!("{} states", report.states),
        figure: ways.median(way) / 1e6,
        unit: MILLISECONDS,
        limit: BarLimit::AtMost(limit),
    };
    vec![bar("one deviation", 0, &one, 300.0), bar("two deviations", 1, &two, 60_000.0)]
}

fn sorted(times: impl Iterator<Item = Duration>) -> Vec<Duration> {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
