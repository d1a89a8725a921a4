//! The canaries of a certificate (E-3c): each oracle that it names must still catch what it is there to catch. A weakened one cannot be seen from a version.

use std::collections::BTreeSet;

use crate::engine::agent_loop::AgentLoop;
use crate::explore::canary::{CANARY_TRIALS, Canary, CanaryTrial, Saboteur};
use crate::explore::sweep::sweep;
use crate::files::scenario::from_text;
use crate::prelude::*;
use crate::runner::{PanicCatcher, in_parallel, threads_available};

/// The shipped scenarios in which canaries are caught.
macro_rules! scenarios {
    ($($name:literal),+ $(,)?) => {
        const SCENARIOS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))),+];
    };
}

scenarios![
    "budget/max-turns",
    "budget/spent-by-agents",
    "call/overloaded",
    "call/prompt-too-long",
    "compaction/a-hook-prevents-it",
    "compaction/auto",
    "compaction/microcompact-local",
    "compaction/reactive",
    "compaction/task-budget",
    "compaction/three-failures-open-the-breaker",
    "executor/arrival-results",
    "executor/batches",
    "executor/cap",
    "executor/context-change",
    "executor/progress",
    "fallback/streaming",
    "fallback/three-529s",
    "hook/adds-context",
    "hook/asks",
    "hook/denies",
    "hook/slow",
    "hook/stops-the-turn-before-its-end",
    "permission/mode-plan",
    "permission/refused",
    "permission/rules",
    "pipeline/stored",
    "query/output-limit",
    "query/output-limit-escalated",
    "query/output-limit-recovered",
    "query/read-one-file",
    "query/refusal",
    "query/stop-hook-blocking",
    "query/stop-hook-context",
    "query/stop-hook-prevented",
    "retry/outage-without-end",
    "retry/ten-retries",
    "session/hello",
    "session/structured-output",
    "session/two-messages-wait",
    "session/two-prompts",
    "world/faults/cut-after-content",
    "world/faults/rate-limited",
];

/// Lets each oracle catch its canaries. Returns how many there are.
///
/// # Errors
/// The oracles that missed one, and which.
pub(super) fn check() -> Result<usize, String> {
    let outcomes = in_parallel(CANARY_TRIALS, threads_available(), missed);
    let missed: BTreeSet<String> = outcomes.into_iter().flatten().collect();
    if missed.is_empty() {
        return Ok(CANARY_TRIALS.len());
    }
    Err(format!("oracles do not see what they are there to see: {}", missed.into_iter().collect::<Vec<_>>().join("; ")))
}

/// The problem of a trial, if it has one.
fn missed(CanaryTrial { canary: name, scenario, kinds }: &CanaryTrial) -> Option<String> {
    let Some(canary) = Canary::named(name) else { return Some(format!("there is no canary {name}")) };
    let order = [(String::from("engine.result_order"), String::from("tool_use"))];
    let text = SCENARIOS.iter().find(|(name, _)| name == scenario).map(|(_, text)| *text);
    let setup = text.and_then(|text| from_text(scenario, text, &order).ok());
    let Some(setup) = setup else { return Some(format!("the scenario {scenario} of the canary {name} cannot be run")) };
    let report = sweep(&setup, &Saboteur::new(AgentLoop::default(), canary), kinds, &PanicCatcher);
    let is_caught = report.findings.iter().flat_map(|finding| &finding.violations).any(|violation| violation.oracle == canary.oracle);
    (!is_caught).then(|| format!("{} misses the canary {name}", canary.oracle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_3c_each_trial_has_its_scenario_here() {
        let missing: Vec<&str> =
            CANARY_TRIALS.iter().map(|trial| trial.scenario).filter(|name| !SCENARIOS.iter().any(|(known, _)| known == name)).collect();
        assert_eq!(missing, [""; 0]);
    }
}
