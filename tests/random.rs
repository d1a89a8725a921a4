//! Scenarios that nobody would write: contexts of any size under any compaction settings, and batches of any tools. Whatever comes of them, no oracle
//! has anything to say, and the engine's own tables hold.
//!
//! Each is made from its number alone, so the same ones are run everywhere; one that fails is shown whole, and is a scenario.

#[path = "random/batches.rs"]
mod batches;
#[path = "random/contexts.rs"]
mod contexts;
#[path = "random/dice.rs"]
mod dice;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use dice::Dice;
use reenact::engine::agent_loop::AgentLoop;
use reenact::explore::verdict::violations_of;
use reenact::scenario::parse::scenario;
use reenact::sim::Run;
use reenact::transcript::event::RunEnd;
use reenact::world::setup::RunSetup;

/// How many of each kind are run; the variable says another number.
#[expect(clippy::disallowed_methods, reason = "the variable is documented in CONTRIBUTING.md, and changes no case, only their number")]
fn count() -> u64 {
    std::env::var("REENACT_RANDOM").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

/// The failures of a scenario's run; empty when all is well.
fn problems(text: &str) -> Vec<String> {
    let parsed = match scenario("random.toml", text, &[]) {
        Ok(parsed) => parsed,
        Err(faults) => return vec![format!("it is no scenario: {faults}")],
    };
    let setup = match RunSetup::new(parsed.scenario, None) {
        Ok(setup) => Arc::new(setup),
        Err(error) => return vec![format!("it cannot be set up: {error}")],
    };
    let report = match catch_unwind(AssertUnwindSafe(|| Run::new(setup.clone(), AgentLoop::default()).to_end())) {
        Ok(report) => report,
        Err(panic) => return vec![format!("the engine panicked: {}", panic.downcast_ref::<String>().map_or("", String::as_str))],
    };
    // An answer that nobody wrote, or a limit, may end it; that it gets stuck may not.
    let accepted = Some(report.end.as_str()).filter(|_| report.end != RunEnd::Stalled);
    violations_of(&setup, &report.transcript, accepted).iter().map(ToString::to_string).collect()
}

/// Runs scenarios by their numbers; shows what goes wrong, and the first scenario that shows it.
fn check(kind: &str, write: impl Fn(&mut Dice) -> String) {
    let run = |number| (number, problems(&write(&mut Dice::new(number))));
    let failed: Vec<(u64, Vec<String>)> = (0..count()).map(run).filter(|(_, problems)| !problems.is_empty()).collect();
    let list: Vec<String> = failed.iter().map(|(number, problems)| format!("{kind} {number}: {}", problems.join("; "))).collect();
    if let Some((number, _)) = failed.first() {
        panic!("{}\n\n{}", list.join("\n"), write(&mut Dice::new(*number)));
    }
}

#[test]
fn o_12_and_c_8a_no_context_under_any_settings_breaks_an_oracle() {
    check("context", contexts::scenario);
}

#[test]
fn t_20_and_t_4_no_batch_of_any_tools_breaks_an_oracle() {
    check("batch", batches::scenario);
}
