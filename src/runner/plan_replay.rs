//! The plan of a run is the whole of its choices (F-11): every scenario of the repository, as it is and interrupted, is written with its plan,
//! read back with another seed, and gives the same transcript. A draw that is in no plan is thereby found.

use std::fmt::Write as _;
use std::path::Path;

use super::shipped_scenarios::shipped;
use super::{PanicCatcher, in_parallel, threads_available};
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::log;
use reenact_engine::random::Seed;
use reenact_engine::time::Micros;
use reenact_explore::interrupt::{BoundarySide, InjectionKind, RunBoundary};
use reenact_explore::plan::planned;
use reenact_explore::verdict::look;
use reenact_files::scenario::{FileReach, LoadOptions, LoadedScenario, load, load_with};
use reenact_files::{plan, schema};
use reenact_scenario::plan::{Plan, WaitKind};
use reenact_scenario::types::Scenario;
use reenact_sim::Run;
use reenact_transcript::event::Transcript;
use reenact_transcript::json;
use reenact_world::setup::RunSetup;

const OTHER_SEED: u64 = 0xfeed_5eed;

fn run(loaded: &LoadedScenario) -> Transcript {
    Run::new(loaded.setup.clone(), AgentLoop::default()).to_end().transcript
}

/// Writes the run with its plan, and reads that with another seed.
fn through_a_file(folder: &Path, loaded: &LoadedScenario, interrupt: Option<(RunBoundary, InjectionKind)>) -> LoadedScenario {
    let file = folder.join(format!("{}.toml", loaded.name.replace(['/', '@', '=', ','], "-")));
    let scenario = planned(&loaded.setup, &AgentLoop::default(), interrupt, &PanicCatcher);
    plan::write(&file, loaded, scenario.clone()).unwrap();
    // The plan stands elsewhere, and names the tape of its scenario.
    let options = |overrides: &[_]| LoadOptions { overrides: overrides.to_vec(), reach: FileReach::Anywhere, ..LoadOptions::default() };
    let read = |overrides: &[_]| load_with(&file, &options(overrides)).unwrap_or_else(|error| panic!("{}: {error}", loaded.name));
    let back = &read(&[]).setup.scenario;
    let mut paths = Scenario { tape: back.tape.clone(), prices: back.prices.clone(), windows: back.windows.clone(), ..scenario };
    if let (Some(of_plan), Some(of_file)) = (&mut paths.workspace, &back.workspace) {
        of_plan.dir.clone_from(&of_file.dir);
    }
    assert_eq!(*back, paths, "{}", loaded.name);
    let other = read(&[(String::from("seed"), OTHER_SEED.to_string())]);
    assert_eq!(other.setup.scenario.seed, Seed(OTHER_SEED));
    other
}

/// Where two transcripts part, or nothing.
fn difference(name: &str, known: &Transcript, again: &Transcript) -> String {
    // Equal transcripts have equal digests, and are compared in a tenth of the time.
    if known == again {
        return String::new();
    }
    let (known, again) = (json::to_json_lines(known), json::to_json_lines(again));
    let mut out = format!("{name}: the plan does not hold all choices:\n");
    if let Some((known, again)) = known.lines().zip(again.lines()).find(|(known, again)| known != again) {
        let _ = writeln!(out, "  known: {known:.300}\n  again: {again:.300}");
    }
    out
}

#[test]
fn f_11_every_scenario_with_its_plan_needs_no_seed() {
    let folder = tempfile::tempdir().unwrap();
    let runs = shipped();
    let problems = in_parallel(&runs, threads_available(), |loaded| {
        let again = through_a_file(folder.path(), loaded, None);
        difference(&loaded.name, &run(loaded), &run(&again))
    });
    assert_eq!(problems.concat(), "");
    // Without plans there would be something to see.
    let reseeded = in_parallel(&runs, threads_available(), |loaded| {
        let mut setup = (*loaded.setup).clone();
        setup.environment.seed = Seed(OTHER_SEED);
        setup.scenario.seed = Seed(OTHER_SEED);
        Run::new(setup.into(), AgentLoop::default()).to_end().transcript.events != run(loaded).events
    });
    let changed = reseeded.iter().filter(|changed| **changed).count();
    assert!(changed * 2 > runs.len(), "{changed} of {} depend on their seed", runs.len());
}

#[test]
fn f_11_an_interrupted_run_with_its_plan_is_the_run_of_the_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let runs = shipped();
    let problems = in_parallel(&runs, threads_available(), |loaded| {
        let events = Run::new(loaded.setup.clone(), AgentLoop::default()).to_end().transcript.events.len() as u64;
        let (mut problems, mut compared) = (String::new(), 0);
        for (divisor, side, kind) in [(6, BoundarySide::After, InjectionKind::Cancel), (9, BoundarySide::Before, InjectionKind::Interrupt)]
        {
            let boundary = RunBoundary { event: 1 + events / divisor, side };
            let Ok(looked) = look(&loaded.setup, &AgentLoop::default(), boundary, kind, &PanicCatcher) else { continue };
            let again = through_a_file(folder.path(), loaded, Some((boundary, kind)));
            let name = format!("{} with {kind} at {boundary}", loaded.name);
            problems += &difference(&name, &looked.transcript, &run(&again));
            compared += 1;
        }
        (problems, compared)
    });
    let (problems, compared): (Vec<String>, Vec<usize>) = problems.into_iter().unzip();
    assert_eq!(problems.concat(), "");
    assert!(compared.iter().sum::<usize>() > runs.len(), "{compared:?}");
}

#[test]
fn f_11_a_boundary_log_holds_the_waits_that_its_engine_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for loaded in shipped() {
        let again = through_a_file(folder.path(), &loaded, None);
        if again.setup.environment.backoff.is_empty() {
            continue;
        }
        seen += 1;
        let report = Run::new(again.setup.clone(), AgentLoop::default()).with_log().to_end();
        let log = report.log.unwrap();
        let replayed = log::replay_with(log.as_str(), AgentLoop::default(), schema::attach);
        assert!(replayed.is_ok(), "{}: {replayed:?}", loaded.name);
    }
    assert!(seen > 5, "{seen} scenarios wait");
}

/// The scenario in which everything is drawn, lookups too.
fn all_drawn() -> LoadedScenario {
    let path = crate::shipped_scenarios::checkout().join("scenarios/world/all-drawn.toml");
    let set = [("engine.look_up_skills", "true"), ("session.skills_latency", "10ms..50ms")];
    load(&path, &set.map(|(key, value)| (key.into(), value.into()))).unwrap_or_else(|error| panic!("{error}"))
}

/// That scenario, with all of its plan but what `forget` takes out, and with another seed.
fn all_drawn_without(forget: impl Fn(&mut Plan)) -> (Transcript, Transcript) {
    let loaded = all_drawn();
    let folder = tempfile::tempdir().unwrap();
    let again = through_a_file(folder.path(), &loaded, None);
    let mut scenario = again.setup.scenario.clone();
    forget(&mut scenario.plan);
    let mut setup = RunSetup::new(scenario, None).unwrap();
    schema::attach(&mut setup.environment);
    (run(&loaded), Run::new(setup.into(), AgentLoop::default()).to_end().transcript)
}

#[test]
fn f_11_each_choice_of_a_plan_is_needed_and_only_those_that_it_lacks_are_drawn() {
    let (known, whole) = all_drawn_without(|_| ());
    assert_eq!(difference("all of it", &known, &whole), "");
    type Forget = fn(&mut Plan);
    let of_choices: [(&str, Forget); 8] = [
        ("the seed's name", |plan| plan.drawn_from = None),
        ("answers", |plan| plan.answers.clear()),
        ("streams", |plan| plan.streams.clear()),
        ("padding", |plan| plan.streams.values_mut().for_each(|shape| shape.padding.clear())),
        ("pieces", |plan| plan.streams.values_mut().for_each(|shape| shape.pieces.clear())),
        ("request ids", |plan| plan.request_ids.clear()),
        ("backoff", |plan| plan.backoff.clear()),
        ("backoff of agents", |plan| plan.backoff.retain(|request, _| !request.contains('/'))),
    ];
    for (what, forget) in of_choices {
        let (known, without) = all_drawn_without(forget);
        assert_ne!(known, without, "{what} may be left out of the plan");
    }
    for (key, of, _) in WaitKind::ALL {
        let (known, without) = all_drawn_without(|plan| drop(plan.latencies.remove(&of)));
        assert_ne!(known, without, "{key} may be left out of the plan");
    }
    // Chunks are in the plan for the search of defects in the framing of streams; a transcript does not show them (M-6).
    let (known, without) = all_drawn_without(|plan| {
        assert!(!plan.chunks.is_empty());
        plan.chunks.clear();
    });
    assert_eq!(known, without);
    let (known, without) = all_drawn_without(|plan| {
        assert!(plan.faults.values().any(|hits| *hits));
        plan.faults.values_mut().for_each(|hits| *hits = !*hits);
    });
    assert_ne!(known, without, "a fault hits whatever the plan says");
}

#[test]
fn f_11_a_latency_that_a_plan_names_moves_no_other() {
    let loaded = all_drawn();
    let plan_of = |scenario: Scenario| {
        let mut setup = RunSetup::new(scenario, None).unwrap();
        schema::attach(&mut setup.environment);
        planned(&setup, &AgentLoop::default(), None, &PanicCatcher).plan
    };
    let drawn = plan_of(loaded.setup.scenario.clone());
    let (mut wanted, mut scenario) = (drawn.clone(), loaded.setup.scenario.clone());
    let longer = Micros::from_millis(49);
    for plan in [&mut wanted, &mut scenario.plan] {
        plan.latencies.entry(WaitKind::Tool).or_default().insert("toolu_p1t2n1".into(), longer);
    }
    assert_ne!(wanted, drawn);
    assert_eq!(plan_of(scenario), wanted);
}
