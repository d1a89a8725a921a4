//! A scenario is run once before it is written: a replay that will fail is announced by a note in it and by what the import prints (K-4).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::engine::agent_loop::AgentLoop;
use crate::prelude::*;
use crate::scenario::derive::Derived;
use crate::scenario::parse;
use crate::scenario::tape::Tape;
use crate::scenario::write::toml;
use crate::sim::Run;
use crate::world::setup::Setup;

/// A run holds all requests of a tape at once: of larger tapes than this, in bytes of their bodies, nobody asks that of an import.
const BYTES_MAX: usize = 16 << 20;

/// How many of the problems are named.
const NAMED: usize = 2;

/// What a replay of the scenario will not do, a sentence; `None` when it goes well.
pub(super) fn problem(derived: &Derived, tape: &Tape) -> Option<String> {
    let bytes: usize = tape.exchanges.iter().map(|exchange| exchange.body.len()).sum();
    if bytes > BYTES_MAX {
        return Some(String::from("The recording is too large to be replayed while it is imported: whether a replay fails is not known."));
    }
    let failures = match replay(derived, tape) {
        Ok(failures) => failures,
        Err(refusal) => return Some(format!("This version cannot run it: {refusal}")),
    };
    let (first, others) = failures.split_at(failures.len().min(NAMED));
    let more = if others.is_empty() { String::new() } else { format!("; and {} more", others.len()) };
    (!first.is_empty()).then(|| format!("A replay fails: {}{more}.", first.join("; ")))
}

/// Reads the scenario as it is written, and runs it; what fails, or why it does not run.
fn replay(derived: &Derived, tape: &Tape) -> Result<Vec<String>, String> {
    let text = toml(&derived.scenario, &derived.notes);
    let parsed = parse::scenario("the imported scenario", &text, &[]).map_err(|faults| faults.to_string())?;
    let setup = Setup::new(parsed.scenario, Some(tape)).map_err(|error| error.to_string())?;
    setup.check_results().map_err(|error| error.to_string())?;
    let run = Run::new(Arc::new(setup), AgentLoop::default());
    let report = catch_unwind(AssertUnwindSafe(|| run.to_end())).map_err(|_| String::from("the engine panicked"))?;
    Ok(report.failures)
}
