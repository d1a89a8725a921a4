//! Parts of a tool's run that would come after its end (F-10, M-7): progress and a question come at its end at the latest, and not at their own
//! times.

use super::{PlayedRun, StatementProblem, is_judged_elsewhere};
use reenact_engine::time::Micros;
use reenact_scenario::latency::Latency;
use reenact_scenario::statement::{PathStep, StatementPath, tool_uses};
use reenact_scenario::types::{ScriptedOutcome, ToolEnding, TurnBlock};
use reenact_wire::prelude::*;

/// Progress that comes too late in some run. With a drawn latency this is not known.
pub(super) fn problems(runs: &[PlayedRun<'_>]) -> Vec<StatementProblem> {
    runs.iter().flat_map(run_problems).collect()
}

fn run_problems(run: &PlayedRun<'_>) -> Vec<StatementProblem> {
    let scenario = &run.setup.scenario;
    let mut problems = Vec::new();
    for tool_use in tool_uses(scenario) {
        if let TurnBlock::Tool { outcome: Some(outcome), .. } = tool_use.block {
            problems.extend(outcome_problems(run, &tool_use.path, outcome));
        }
    }
    for (id, outcome) in &scenario.results {
        problems.extend(outcome_problems(run, &[PathStep::Key("result"), PathStep::Where("tool_use", id.clone())], outcome));
    }
    problems
}

fn outcome_problems(run: &PlayedRun<'_>, owner: &[PathStep], outcome: &ScriptedOutcome) -> Vec<StatementProblem> {
    let (Some(Latency::Fixed(end)), false) = (&outcome.latency, outcome.ending == ToolEnding::Hangs) else { return Vec::new() };
    let progress = outcome
        .progress
        .iter()
        .enumerate()
        .map(|(nth, progress)| ("progress", progress.at, vec![PathStep::Key("progress"), PathStep::Nth(nth)]));
    let question = outcome.asks.iter().map(|asks| ("question", asks.after, vec![PathStep::Key("asks"), PathStep::Key("after")]));
    let late = progress.chain(question).filter(|(_, at, _)| at > end);
    let problem = |(what, at, steps): (&str, Micros, Vec<PathStep>)| {
        let path: StatementPath = owner.iter().cloned().chain(steps).collect();
        let message = format!("this {what} is set to {at} after the tool's start, and the tool ends after {end}");
        let help = String::from("give it an earlier time, or the tool a longer `latency`");
        (!is_judged_elsewhere(run.places, &path)).then(|| StatementProblem::at(run.places, &path, message, help))
    };
    late.filter_map(problem).collect()
}
