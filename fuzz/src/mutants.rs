//! Tries mutants of the engine, one after the other: all shipped scenarios that come to the place, until an oracle complains.
//!
//! It is compiled where `cargo xtask mutants --oracles` has changed the engine. A line says that a mutant is tried, the next one what came of it.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::mutant::{ACTIVE, LOOK, MARKS};
use reenact::explore::PanicGuard;
use reenact::explore::verdict::violations_of;
use reenact::files::scenario::{find, load_all};
use reenact::runner::PanicCatcher;
use reenact::sim::Run;
use reenact::transcript::json;
use reenact::world::setup::RunSetup;

/// A scenario, and its run with the engine as it is.
struct KnownRun {
    name: String,
    setup: Arc<RunSetup>,
    seen: MutantRun,
    /// The numbers of the mutants that would change something in it.
    marks: Vec<bool>,
}

struct MutantRun {
    digest: String,
    end: String,
    events: usize,
    /// The oracles that complain, each with its first words.
    violations: Vec<(&'static str, String)>,
}

/// `numbers` are separated by commas.
pub(crate) fn main(numbers: &str) -> ExitCode {
    let mut runs: Vec<KnownRun> = known_runs();
    runs.sort_by_key(|run| run.seen.events);
    for number in numbers.split(',').filter_map(|number| number.parse::<u32>().ok()) {
        println!("tries {number}");
        println!("{number} {}", fate(number, &runs));
    }
    ExitCode::SUCCESS
}

fn known_runs() -> Vec<KnownRun> {
    let (paths, errors) = find(&[crate::root().join("scenarios")]);
    assert!(errors.is_empty(), "{errors:?}");
    let loaded = paths.iter().flat_map(|path| load_all(path, &[]).unwrap_or_else(|error| panic!("{error}")));
    let known = |name: String, setup: Arc<RunSetup>| {
        MARKS.iter().for_each(|mark| mark.store(false, Relaxed));
        let seen = run(&setup, None, LOOK).unwrap_or_else(|panic| panic!("{name}: {panic}"));
        KnownRun { name, setup, seen, marks: MARKS.iter().map(|mark| mark.load(Relaxed)).collect() }
    };
    loaded.map(|scenario| known(scenario.name.to_string(), scenario.setup.clone())).collect()
}

/// A word and what it is about.
fn fate(number: u32, runs: &[KnownRun]) -> String {
    let mut other = None;
    let mut is_reached = false;
    for known in runs.iter().filter(|known| known.marks[number as usize]) {
        is_reached = true;
        let seen = match run(&known.setup, Some(&known.seen.end), number) {
            Ok(seen) => seen,
            Err(panic) => return format!("found panic in {}: {}", known.name, panic.lines().next().unwrap_or_default()),
        };
        let usual: BTreeSet<&str> = known.seen.violations.iter().map(|(oracle, _)| *oracle).collect();
        if let Some((oracle, text)) = seen.violations.iter().find(|(oracle, _)| !usual.contains(oracle)) {
            return format!("found {oracle} in {}: {}", known.name, text.replace('\n', " "));
        }
        if seen.digest != known.seen.digest {
            other.get_or_insert(&known.name);
        }
    }
    match other {
        Some(name) => format!("unseen {name}"),
        None if is_reached => "equal".into(),
        None => "unreached".into(),
    }
}

/// `accepted` is the end that the scenario has with the engine as it is.
fn run(setup: &Arc<RunSetup>, accepted: Option<&str>, mutant: u32) -> Result<MutantRun, String> {
    ACTIVE.store(mutant, Relaxed);
    let ran = PanicCatcher.run(|| Run::new(setup.clone(), AgentLoop::default()).without_oracles().to_end());
    ACTIVE.store(0, Relaxed);
    let report = ran.map_err(|panic| panic.to_string())?;
    let end = String::from(report.end.as_str());
    let found = violations_of(setup, &report.transcript, Some(accepted.unwrap_or(&end)));
    let violations = found.into_iter().map(|violation| (violation.oracle, violation.text)).collect();
    Ok(MutantRun { digest: json::digest(&report.transcript), end, events: report.transcript.events.len(), violations })
}
