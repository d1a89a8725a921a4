//! Gate 3 of the museum: what `explore` finds in an exhibit becomes a small scenario with the injection of the exhibit's card, and is explained by the
//! outermost runs that fail and one that passes (E-5).

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

use reenact::engine::contract::Engine;
use reenact::explore::budget::ExploreBudget;
use reenact::explore::explain::{Explanation, explain};
use reenact::explore::explorer::explore;
use reenact::explore::fingerprint::Fingerprint;
use reenact::explore::shrink::{EngineProbe, PlanInjection, ScenarioProbe, ShrunkRun, shrink};
use reenact::files::scenario::{LoadOptions, LoadedScenario, ScenarioVariants, load_with};
use reenact::runner::PanicCatcher;
use reenact::runner::explore::Threads;
use reenact::scenario::language::scenario_text;
use reenact::scenario::plan::{Plan, PlannedInterruptKind};
use reenact::scenario::single_fault::{FaultReach, SingleFault, SingleFaultKind};
use reenact::scenario::types::Scenario;
use reenact_museum::exhibits::{CARDS, MuseumLoop};

/// The budget and the injection of each card.
const INJECTIONS: [(&str, ExploreBudget, &str); 14] = [
    ("dropped-call", ExploreBudget::new(0, 0, 1), "cancel"),
    ("same-message", ExploreBudget::new(0, 0, 1), "cancel"),
    ("told-not-run", ExploreBudget::new(0, 0, 1), "cancel"),
    ("completion-order", ExploreBudget::new(1, 0, 0), "tool # ends"),
    ("first-question", ExploreBudget::new(1, 0, 0), "permission for tool #"),
    ("stream-by-flag", ExploreBudget::new(0, 0, 1), "message"),
    ("lost-wake-up", ExploreBudget::new(1, 0, 0), "an arrival of an agent"),
    ("two-endings", ExploreBudget::new(0, 0, 1), "cancel"),
    ("kept-buffer", ExploreBudget::new(0, 1, 0), "a fault of request 1"),
    ("run-again", ExploreBudget::new(0, 1, 0), "a fault of request 2"),
    ("stripped-copy", ExploreBudget::new(0, 1, 0), "a fault of request 2"),
    ("old-window", ExploreBudget::new(0, 1, 0), "a fault of request 2"),
    ("last-hook-wins", ExploreBudget::new(1, 0, 0), "a hook"),
    ("orphan-agent", ExploreBudget::new(0, 0, 1), "cancel"),
];

struct SmallFinding {
    loaded: LoadedScenario,
    engine: MuseumLoop,
    fingerprint: Fingerprint,
    planned: Scenario,
    shrunk: ShrunkRun,
    explanation: Explanation,
}

/// The first finding of an exhibit by an oracle of its card, made small.
fn small(name: &str, budget: ExploreBudget) -> SmallFinding {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    let loaded = load_with(&file, &LoadOptions::default()).unwrap();
    let engine = MuseumLoop::find(name).unwrap();
    let seen = CARDS.iter().find(|card| card.name == name).unwrap().seen();
    let threads = Threads(NonZeroUsize::new(2).unwrap());
    let report = explore(&loaded.setup, &engine, budget, &PanicCatcher, &threads, &mut |_| true);
    let found = report.findings.iter().find(|finding| seen.contains(&finding.fingerprint.oracle)).unwrap();
    let planned = found.path.setup(&loaded.setup, &engine, &PanicCatcher);
    let variants = ScenarioVariants::new(&loaded).unwrap();
    let ready = |scenario| variants.ready(scenario);
    let mut probe = EngineProbe::new(&engine, &PanicCatcher, &ready);
    let shrunk = shrink(&planned.scenario, &found.fingerprint, &mut probe).unwrap();
    let explanation = explain(&shrunk, &found.fingerprint, &mut probe);
    SmallFinding { fingerprint: found.fingerprint.clone(), planned: planned.scenario.clone(), loaded, engine, shrunk, explanation }
}

fn fingerprints<E: Engine>(loaded: &LoadedScenario, engine: &E, scenario: &Scenario, plan: &Plan) -> BTreeSet<Fingerprint> {
    let variants = ScenarioVariants::new(loaded).unwrap();
    let ready = |scenario| variants.ready(scenario);
    let mut probe = EngineProbe::new(engine, &PanicCatcher, &ready);
    let plain = Scenario { plan: plan.without_injections(), ..scenario.clone() };
    let end = probe.run(&plain, None).unwrap().end;
    let run = probe.run(&Scenario { plan: plan.clone(), ..scenario.clone() }, end.as_deref()).unwrap();
    run.violations.iter().map(Fingerprint::from).collect()
}

fn is_of_card(injection: &PlanInjection, wanted: &str) -> bool {
    match injection {
        PlanInjection::Interrupt(planned) => match planned.kind {
            PlannedInterruptKind::Cancel => wanted == "cancel",
            PlannedInterruptKind::Interrupt(_) => wanted == "message",
            PlannedInterruptKind::Heal => false,
        },
        PlanInjection::Deviation(planned) => match wanted {
            "an arrival of an agent" => planned.arrival.contains("toolu_"),
            "a hook" => planned.arrival.contains("hook"),
            named => planned
                .arrival
                .split_whitespace()
                .filter(|word| !word.contains('1'))
                .eq(named.split_whitespace().filter(|word| *word != "#")),
        },
        PlanInjection::Fault(fault) => wanted == format!("a fault of request {}", fault.request),
        PlanInjection::Late(_) => false,
    }
}

#[test]
fn e_5_each_exhibit_becomes_a_small_scenario_with_the_injection_of_its_card_and_is_explained() {
    let mut runs = Vec::new();
    for (name, budget, wanted) in INJECTIONS {
        let SmallFinding { loaded, engine, fingerprint, shrunk, explanation, .. } = small(name, budget);
        let text = scenario_text(&shrunk.scenario, &[]);
        assert!(matches!(&shrunk.injections[..], [only] if is_of_card(only, wanted)), "{name}: {:#?}", shrunk.injections);
        assert!(shrunk.is_complete && shrunk.removed >= 3, "{name}: {} of {} runs\n{text}", shrunk.removed, shrunk.runs);
        let written = scenario_text(&loaded.setup.scenario, &[]);
        assert!(text.len() < written.len() + 100, "{name}:\n{text}\nfrom\n{written}");
        let shown = |plan: &Plan| fingerprints(&loaded, &engine, &shrunk.scenario, plan);
        assert!(shown(&shrunk.scenario.plan).contains(&fingerprint), "{name}:\n{text}");
        runs.push(shrunk.runs);
        println!("{name:<18} {:>3} runs, {:>2} parts taken out\n{text}\n{explanation:#?}", shrunk.runs, shrunk.removed);
        // The outermost runs fail, and the nearest other one passes.
        for (place, plan) in explanation.choices.iter().flat_map(|choice| &choice.borders) {
            assert!(shown(plan).contains(&fingerprint), "{name}: the run at the border {place} does not fail");
        }
        let nearest = explanation.nearest.unwrap_or_else(|| panic!("{name} has no run that passes"));
        assert_eq!(shown(&nearest.plan), BTreeSet::new(), "{name}: {}", nearest.text);
        assert!(nearest.parting.is_some(), "{name}: two runs of which one fails differ somewhere");
    }
    assert!(runs.iter().all(|runs| *runs <= 200), "{runs:?}");
}

/// The same finding with a fault that it does not need: the first request fails once, and the cancel comes so many events later.
fn with_fault(plan: &Plan, later: u64) -> Plan {
    let mut plan = plan.clone();
    let fault = SingleFault { request: "1".into(), kind: SingleFaultKind::Overloaded, after_event: 0, reach: FaultReach::Once };
    plan.single_faults.push(fault);
    plan.interrupts.iter_mut().for_each(|interrupt| interrupt.boundary.event += later);
    plan
}

#[test]
fn e_5_an_injection_that_is_not_needed_is_taken_out() {
    let mut tried = 0;
    for (name, budget, wanted) in INJECTIONS.into_iter().filter(|(_, _, wanted)| *wanted == "cancel") {
        let SmallFinding { loaded, engine, fingerprint, planned, .. } = small(name, budget);
        let shows = |plan: &Plan| fingerprints(&loaded, &engine, &planned, plan).contains(&fingerprint);
        let Some(plan) = (0..12).map(|later| with_fault(&planned.plan, later)).find(shows) else { continue };
        let scenario = Scenario { plan, ..planned };
        let variants = ScenarioVariants::new(&loaded).unwrap();
        let ready = |scenario| variants.ready(scenario);
        let again = shrink(&scenario, &fingerprint, &mut EngineProbe::new(&engine, &PanicCatcher, &ready)).unwrap();
        assert!(matches!(&again.injections[..], [only] if is_of_card(only, wanted)), "{name}: {:#?}", again.injections);
        tried += 1;
    }
    assert!(tried >= 3, "only {tried} findings were tried with a fault beside them");
}

#[test]
fn e_5_a_run_that_does_not_show_the_violation_is_not_made_small() {
    let SmallFinding { loaded, fingerprint, shrunk, .. } = small("dropped-call", ExploreBudget::new(0, 0, 1));
    let variants = ScenarioVariants::new(&loaded).unwrap();
    let ready = |scenario| variants.ready(scenario);
    let honest = MuseumLoop::find("honest").unwrap();
    let refused = shrink(&shrunk.scenario, &fingerprint, &mut EngineProbe::new(&honest, &PanicCatcher, &ready)).unwrap_err();
    assert!(refused.contains("does not show this: O-2"), "{refused}");
}

/// Runs the program of the museum in a folder: what it prints, what it complains of, and its exit code.
fn museum(at: &Path, arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_reenact-museum")).current_dir(at).args(arguments).output().unwrap();
    let [shown, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (shown, said, output.status.code())
}

#[test]
fn e_5_the_small_scenario_is_a_regression_test() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("scenarios")).unwrap();
    for name in ["_base.toml", "dropped-call.toml"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
        std::fs::copy(from, at.join("scenarios").join(name)).unwrap();
    }
    let found = museum(at, &["dropped-call", "explore", "scenarios", "--budget", "0,0,1", "--shrink"]);
    assert_eq!(found.2, Some(1), "{found:?}");
    let file = "scenarios/regressions/o-2-dropped-call.toml";
    assert!(found.1.contains(&format!("small: O-2: tool use # of answer # has no result at the end\n  {file}: ")), "{}", found.1);
    let text = std::fs::read_to_string(at.join(file)).unwrap();
    assert!(
        text.starts_with("# A small run that breaks O-2. Made from dropped-call.\n") && text.contains("# fails while the cancel comes"),
        "{text}"
    );
    assert!(at.join("snapshots/regressions/o-2-dropped-call.snap").exists());
    let failing = museum(at, &["dropped-call", "run", file, "--snapshots"]);
    assert!(failing.2 == Some(1) && failing.1.contains("O-2 at"), "{failing:?}");
    let corrected = museum(at, &["honest", "run", file]);
    assert_eq!(corrected.2, Some(0), "{corrected:?}");

    // The small run can be made smaller again; a file of somebody else stays.
    let (shown, said, code) = museum(at, &["dropped-call", "shrink", file, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}{said}"));
    let schema = serde_json::from_str(include_str!("../../src/cli/report/schema.json")).unwrap();
    let errors: Vec<String> = jsonschema::validator_for(&schema).unwrap().iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty() && code == Some(0), "{errors:?}\n{shown}");
    assert_eq!(document["shrunk"][0]["without"][0], "(0,0,0)", "{shown}");
    std::fs::write(at.join("other.toml"), "title = 'mine'").unwrap();
    let (_, said, code) = museum(at, &["dropped-call", "shrink", file, "--out", "other.toml"]);
    assert!(code == Some(2) && said.contains("this file exists and says something else"), "{said}");
    let (_, said, code) = museum(at, &["honest", "shrink", "scenarios/dropped-call.toml"]);
    assert!(code == Some(2) && said.contains("breaks no rule"), "{said}");
}

/// Runs a printed command in a folder; its exit code and its messages.
fn shell(at: &Path, command: &str) -> (Option<i32>, String) {
    let output = Command::new("sh").args(["-c", command]).current_dir(at).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn e_5_the_printed_commands_do_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("scenarios")).unwrap();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, at.join("scenarios").join(path.file_name().unwrap())).unwrap();
    }
    let mut runs = 0;
    for (name, budget, _) in INJECTIONS {
        let (scenario, budget) = (format!("scenarios/{name}.toml"), budget.to_string());
        let arguments = [name, "explore", &scenario, "--budget", &budget, "--shrink", "--format", "json"];
        let (shown, said, _) = museum(at, &arguments);
        let document: serde_json::Value = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{name}: {error}\n{shown}{said}"));
        for finding in document["explorations"][0]["findings"].as_array().unwrap() {
            let small = &finding["shrunk"];
            let rule = small["oracle"].as_str().unwrap_or_else(|| panic!("{name}: it was not made small: {said}"));
            let borders = small["choices"].as_array().unwrap().iter().flat_map(|choice| choice["borders"].as_array().unwrap());
            for border in borders {
                let (code, said) = shell(at, border["command"].as_str().unwrap());
                assert!(code == Some(1) && said.contains(&format!("{rule} at ")), "{name}: {border}\n{said}");
                runs += 1;
            }
            let command = small["nearest"]["command"].as_str().unwrap();
            let (code, said) = shell(at, command);
            assert_eq!(code, Some(0), "{name}: {command}\n{said}");
        }
    }
    assert!(runs > 14, "{runs}");
}
