//! A scenario is run once before it is written: a replay that will fail is announced by a note in it and by what the import prints (K-4).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{ImportedRecording, PackedExchange};
use reenact_engine::agent_loop::AgentLoop;
use reenact_scenario::derive::DerivedScenario;
use reenact_scenario::language::scenario_text;
use reenact_scenario::parse;
use reenact_sim::Run;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// A run holds all that is different in the requests of a thread, and its answers, several times over. In a recording of more bytes than this that
/// has to be little against the whole: an import takes no more memory than its file has bytes.
const BYTES_MAX: usize = 8 << 20;

/// How many times over, with room to spare.
const TIMES_HELD: usize = 16;

/// How many of the problems are named.
const NAMED: usize = 2;

/// Rules about what requests say. A replay sends what was recorded, so the recorded client breaks them, and a note in the scenario reports it.
const OF_REQUESTS: [&str; 3] = ["O-1", "O-6", "O-10"];

/// The departure of a replay from the scenario, a sentence; `None` when it goes well.
pub(super) fn problem(derived: &mut DerivedScenario, recording: &ImportedRecording) -> Option<String> {
    if !is_light(recording, &derived.thread) {
        return Some(String::from("The recording is too large for a trial replay during the import, so a replay may fail."));
    }
    let failures = match replay(derived, recording) {
        Ok(replay) if replay.failures.is_empty() => return None,
        Ok(replay) if breaks_as_recorded(derived, recording, &replay.broken) => return None,
        Ok(replay) => replay.failures,
        Err(refusal) => return Some(format!("This version cannot run it: {refusal}")),
    };
    let (first, others) = failures.split_at(failures.len().min(NAMED));
    let more = if others.is_empty() { String::new() } else { format!("; and {} more", others.len()) };
    Some(format!("A replay fails: {}{more}.", first.join("; ")))
}

/// Whether a replay takes little memory, as it does where each request repeats those before it.
fn is_light(recording: &ImportedRecording, thread: &str) -> bool {
    let of_thread = || recording.exchanges.iter().filter(|exchange| &*exchange.outline().thread == thread);
    let longest = of_thread().map(PackedExchange::request_bytes).max().unwrap_or(0);
    let different = longest + of_thread().map(PackedExchange::answer_bytes).sum::<usize>();
    let all: usize = recording.exchanges.iter().map(|exchange| exchange.request_bytes() + exchange.answer_bytes()).sum();
    all <= BYTES_MAX || different.saturating_mul(TIMES_HELD) <= all
}

/// The result of a run.
struct RehearsalOutcome {
    failures: Vec<String>,
    /// The rules that it breaks.
    broken: Vec<&'static str>,
}

/// Whether nothing else is wrong than that requests break rules as the recorded ones did; then the scenario expects it.
fn breaks_as_recorded(derived: &mut DerivedScenario, recording: &ImportedRecording, broken: &[&'static str]) -> bool {
    if broken.is_empty() || !broken.iter().all(|rule| OF_REQUESTS.contains(rule)) {
        return false;
    }
    derived.scenario.expect.breaks = broken.iter().map(|rule| String::from(*rule)).collect();
    let is_all = replay(derived, recording).is_ok_and(|replay| replay.failures.is_empty());
    match is_all {
        true => derived.notes.push(format!("The recorded client breaks {}, and so does a replay.", broken.join(", "))),
        false => derived.scenario.expect.breaks.clear(),
    }
    is_all
}

/// Reads the scenario as it is written, and runs it; what came of it, or why it does not run.
fn replay(derived: &DerivedScenario, recording: &ImportedRecording) -> Result<RehearsalOutcome, String> {
    let text = scenario_text(&derived.scenario, &derived.notes);
    let parsed = parse::scenario("the imported scenario", &text, &[]).map_err(|faults| faults.to_string())?;
    let setup = RunSetup::with_recording(parsed.scenario, Some(recording)).map_err(|error| error.to_string())?;
    setup.check_results().map_err(|error| error.to_string())?;
    let run = Run::new(Arc::new(setup), AgentLoop::default());
    let report = catch_unwind(AssertUnwindSafe(|| run.to_end())).map_err(|_| String::from("the engine panicked"))?;
    let mut broken: Vec<&'static str> = report.violations.iter().flatten().map(|violation| violation.oracle).collect();
    broken.sort_unstable();
    broken.dedup();
    Ok(RehearsalOutcome { failures: report.failures, broken })
}
