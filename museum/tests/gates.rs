//! The gates of the museum that hold today: each exhibit is found by the oracles that its card names and behaves well otherwise, and the honest loop and the
//! reference loop are clean on the same scenarios.
//!
//! Where the oracles see something else than a card says, the card lists it as a [`Difference`]. These tests fail when such a line stops being true.

use std::path::PathBuf;
use std::sync::Arc;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::{Engine, Micros};
use reenact::explore::interrupt::InjectionKind;
use reenact::explore::sweep::{InterruptSweepReport, sweep};
use reenact::files::scenario::{LoadOptions, LoadedScenario, load_with};
use reenact::runner::{PanicCatcher, run_file};
use reenact::scenario::fault::{
    AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, CutManner, FaultAnswer, FaultKind, FaultPlace, FaultRule, NumberSpan,
};
use reenact::sim::Run;
use reenact::sim::report::RunReport;
use reenact::transcript::event::RunEnd;
use reenact::transcript::text::DetailLevel;
use reenact::world::setup::RunSetup;
use reenact_museum::exhibits::{CARDS, Card, Difference, MuseumLoop};

/// The two scenarios of an exhibit.
const ENDINGS: [&str; 2] = ["", "-trigger"];

fn path(card: &Card, ending: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{}{ending}.toml", card.name))
}

fn museum_loop(name: &str) -> MuseumLoop {
    MuseumLoop::find(name).unwrap_or_else(|| panic!("there is no exhibit `{name}`"))
}

fn run<E: Engine>(card: &Card, ending: &str, engine: E) -> RunReport<E> {
    run_file(path(card, ending), engine).unwrap_or_else(|error| panic!("{error}"))
}

/// All combinations of one scenario's file.
fn load(card: &Card, ending: &str) -> LoadedScenario {
    load_with(&path(card, ending), &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn swept<E: Engine>(card: &Card, ending: &str, engine: &E) -> InterruptSweepReport {
    sweep(&load(card, ending).setup, engine, &InjectionKind::ALL, &PanicCatcher)
}

/// The oracles that saw something, sorted, each once.
fn oracles<E>(report: &RunReport<E>) -> Vec<&'static str> {
    let mut seen: Vec<&str> = report.violations.iter().flatten().map(|violation| violation.oracle).collect();
    seen.sort_unstable();
    seen.dedup();
    seen
}

/// Checks all cards, and fails with all that is wrong.
fn each_card(problem: impl Fn(&Card) -> Option<String>) {
    let problems: Vec<String> = CARDS.iter().filter_map(|card| Some(format!("{}: {}", card.name, problem(card)?))).collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

fn failures<E>(report: &RunReport<E>) -> Option<String> {
    let text = || format!("{}\n{}", report.failures.join("\n"), report.text(DetailLevel::Normal));
    (!report.failures.is_empty()).then(text)
}

#[test]
fn museum_gate_1_the_plain_scenario_passes_on_the_exhibit() {
    each_card(|card| failures(&run(card, "", museum_loop(card.name))));
}

#[test]
fn museum_gate_2_the_trigger_is_seen_by_the_oracles_of_the_card() {
    each_card(|card| {
        let report = run(card, "-trigger", museum_loop(card.name));
        let (seen, expected) = (oracles(&report), card.seen());
        (seen != expected)
            .then(|| format!("the oracles see {seen:?}, and the card says {expected:?}\n{}", failures(&report).unwrap_or_default()))
    });
}

#[test]
fn museum_gate_2_differences_from_the_cards_are_named() {
    for card in CARDS {
        for difference in card.differences {
            match difference {
                Difference::Missed(oracle, why) => {
                    assert!(card.oracles.contains(oracle), "{}: the card does not name {oracle}", card.name);
                    println!("DIFFERENCE {}: {oracle} should see it, and does not: {why}", card.name);
                }
                Difference::Further(oracle, why) => {
                    assert!(!card.oracles.contains(oracle), "{}: the card names {oracle}", card.name);
                    println!("DIFFERENCE {}: {oracle} sees it, too: {why}", card.name);
                }
            }
        }
    }
}

#[test]
fn museum_gate_4_the_honest_loop_is_clean() {
    each_card(|card| {
        let runs = ENDINGS.iter().find_map(|ending| Some(format!("{ending}: {}", failures(&run(card, ending, museum_loop("honest")))?)));
        let sweeps = || {
            ENDINGS.iter().find_map(|ending| {
                let report = swept(card, ending, &museum_loop("honest"));
                (!report.findings.is_empty())
                    .then(|| format!("{ending}: {} findings, the first: {:#?}", report.findings.len(), report.findings[0]))
            })
        };
        runs.or_else(sweeps)
    });
}

/// One fault at each request and at every second event of its answer.
#[test]
fn museum_gate_4_the_honest_loop_is_clean_after_one_fault() {
    let runs = std::cell::Cell::new(0);
    each_card(|card| {
        let plain = load(card, "").setup;
        let hits = (1..=3).flat_map(|request| fault_kinds().into_iter().map(move |kind| (request, kind)));
        hits.into_iter().find_map(|(request, kind)| {
            let mut setup = RunSetup::clone(&plain);
            let span = |number| Some(NumberSpan { first: number, last: Some(number) });
            let at = FaultPlace { request: span(request), attempt: span(1), ..FaultPlace::default() };
            let what = format!("{kind} at request {request}");
            setup.scenario.faults.push(FaultRule { at, kind, may: true });
            let report = Run::new(Arc::new(setup), museum_loop("honest")).to_end();
            runs.set(runs.get() + 1);
            let is_clean = report.violations.as_ref().is_some_and(Vec::is_empty);
            // A summary that no turn of the scenario answers ends a run, too.
            let is_over = report.end == RunEnd::Idle || (what.contains("literal body") && report.end.as_str() == "tape_exhausted");
            (!is_clean || !is_over).then(|| format!("{what}: {:?}\n{}", report.violations, report.text(DetailLevel::Normal)))
        })
    });
    println!("{} runs with one fault each", runs.get());
    assert!(runs.get() > 800);
}

fn fault_kinds() -> Vec<FaultKind> {
    let answer = |status, body: Option<&str>, retry_after| {
        FaultKind::Instead(AnswerSubstitute::Answer(FaultAnswer {
            status,
            body: body.map(Into::into),
            retry_after,
            ..FaultAnswer::default()
        }))
    };
    let too_long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let instead = [
        answer(529, None, None),
        answer(500, None, None),
        answer(401, None, None),
        answer(429, None, Some(Micros::from_secs(2))),
        answer(400, Some(too_long), None),
        FaultKind::Instead(AnswerSubstitute::Connection(ConnectFault::Reset)),
    ];
    let changes = (0..=8).step_by(2).flat_map(|after_events| {
        let after = CutAfter::Events(after_events);
        [
            AnswerChange::Cut { after, how: CutManner::Reset },
            AnswerChange::Cut { after, how: CutManner::Close },
            AnswerChange::Stall { after_events, time: None },
            AnswerChange::Insert { after_events, name: "error".into(), data: overloaded.into() },
        ]
    });
    instead.into_iter().chain(changes.map(FaultKind::Change)).collect()
}

#[test]
fn museum_gate_5_the_reference_loop_is_clean() {
    each_card(|card| ENDINGS.iter().find_map(|ending| Some(format!("{ending}: {}", failures(&run(card, ending, AgentLoop::default()))?))));
}

/// How far today's search gets. The table is printed; what is found today must be found tomorrow.
#[test]
fn museum_gate_6_the_sweep_of_the_plain_scenario_finds_what_needs_one_interrupt() {
    let mut found = Vec::new();
    for card in CARDS {
        let report = swept(card, "", &museum_loop(card.name));
        let mut seen: Vec<&str> =
            report.findings.iter().flat_map(|finding| &finding.violations).map(|violation| violation.oracle).collect();
        seen.sort_unstable();
        seen.dedup();
        println!("{:<18} {:>4} runs, {:>3} findings: {}", card.name, report.runs, report.findings.len(), seen.join(", "));
        found.extend((!report.findings.is_empty()).then_some(card.name));
    }
    println!("the sweep finds {} of {} exhibits", found.len(), CARDS.len());
    assert_eq!(found, FOUND_BY_SWEEP, "the sweep finds other exhibits than before");
}

/// The exhibits that need nothing but one interrupt.
const FOUND_BY_SWEEP: &[&str] = &["dropped-call", "same-message", "told-not-run", "stream-by-flag", "two-endings", "orphan-agent"];

#[test]
fn museum_each_exhibit_has_its_card_its_scenarios_and_its_name() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/exhibits");
    let files = std::fs::read_dir(&folder).expect("the exhibits are there").count();
    assert_eq!(files, CARDS.len(), "each file of {} is an exhibit", folder.display());
    for card in CARDS {
        let file = folder.join(format!("{}.rs", card.name.replace('-', "_")));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for (key, value) in [("Report", card.report), ("Oracles", &card.oracles.join(", "))] {
            assert!(text.contains(&format!("//! - {key}: {value}")), "{}: its card does not say `{key}: {value}`", card.name);
        }
        for key in ["Mechanism", "Plain scenario", "Smallest plan that fails", "Budget"] {
            assert!(text.contains(&format!("//! - {key}: ")), "{}: its card lacks `{key}`", card.name);
        }
        let scenarios = ENDINGS.map(|ending| Arc::clone(&load(card, ending).setup));
        assert_ne!(scenarios[0].scenario.title, scenarios[1].scenario.title);
    }
}

#[test]
fn museum_the_page_has_a_row_for_each_card() {
    let page = include_str!("../README.md");
    for Card { name, report, oracles, differences } in CARDS {
        let row = page.lines().find(|line| line.starts_with(&format!("| [{name}]("))).unwrap_or_else(|| panic!("README.md lacks {name}"));
        assert!(
            row.contains(report) && row.contains(&format!("| {} |", oracles.join(", "))),
            "README.md: the row of {name} is not its card"
        );
        let row = page.lines().find(|line| line.starts_with(&format!("| {name} | ")));
        assert_eq!(row.is_some(), !differences.is_empty(), "README.md: the differences of {name}");
        for Difference::Missed(oracle, _) | Difference::Further(oracle, _) in *differences {
            assert!(row.is_some_and(|row| row.contains(oracle)), "README.md: the differences of {name} lack {oracle}");
        }
    }
    assert!(FOUND_BY_SWEEP.iter().all(|name| page.split("How far the search gets").nth(1).is_some_and(|text| text.contains(name))));
}

#[test]
fn museum_the_loop_uses_the_public_interface_alone() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the manifest is there");
    let rooms = manifest.lines().filter(|line| line.starts_with("reenact"));
    assert_eq!(rooms.count(), 1, "the museum depends on `reenact`, and on none of its rooms");
    for folder in ["src", "src/mini_loop", "src/exhibits"] {
        for file in std::fs::read_dir(root.join(folder)).expect("the folder is there").flatten().filter(|file| file.path().is_file()) {
            let text = std::fs::read_to_string(file.path()).expect("a source file is text");
            assert!(!text.contains("agent_loop"), "{}: the reference loop has no place in the museum's loop", file.path().display());
        }
    }
}
