//! The plan of a run is the whole of its choices (F-11): every scenario of the repository, as it is and interrupted, is written with its plan,
//! read back with another seed, and gives the same transcript. A draw that is in no plan is thereby found.

use std::fmt::Write as _;
use std::path::Path;

use super::shipped::shipped;
use super::{Catching, in_parallel, threads_available};
use crate::engine::agent_loop::AgentLoop;
use crate::engine::log;
use crate::engine::random::Seed;
use crate::explore::interrupt::{Boundary, Kind, Side};
use crate::explore::plan::planned;
use crate::explore::verdict::look;
use crate::files::scenario::{Loaded, load};
use crate::files::{plan, schema};
use crate::scenario::types::Scenario;
use crate::sim::Run;
use crate::transcript::event::Transcript;
use crate::transcript::json;

const OTHER_SEED: u64 = 0xfeed_5eed;

fn run(loaded: &Loaded) -> Transcript {
    Run::new(loaded.setup.clone(), AgentLoop::default()).to_end().transcript
}

/// Writes the run with its plan, and reads that with another seed.
fn through_a_file(folder: &Path, loaded: &Loaded, interrupt: Option<(Boundary, Kind)>) -> Loaded {
    let file = folder.join(format!("{}.toml", loaded.name.replace(['/', '@', '=', ','], "-")));
    let scenario = planned(&loaded.setup, &AgentLoop::default(), interrupt, &Catching);
    plan::write(&file, loaded, scenario.clone()).unwrap();
    let read = |overrides: &[_]| load(&file, overrides).unwrap_or_else(|error| panic!("{}: {error}", loaded.name));
    let back = &read(&[]).setup.scenario;
    let paths = Scenario { tape: back.tape.clone(), prices: back.prices.clone(), ..scenario };
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
        for (divisor, side, kind) in [(6, Side::After, Kind::Cancel), (9, Side::Before, Kind::Interrupt)] {
            let boundary = Boundary { event: 1 + events / divisor, side };
            let Ok(looked) = look(&loaded.setup, &AgentLoop::default(), boundary, kind, &Catching) else { continue };
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
