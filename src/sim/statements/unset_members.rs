//! Members that a `[[change]]` takes out of requests which do not have them (F-10, S-11): it is misspelt, or does nothing.

use super::evidence::did_you_mean;
use super::{PlayedRun, StatementProblem, is_judged_elsewhere};
use reenact_engine::session::prompt::RequestFrame;
use reenact_scenario::parse::nearest::nearest;
use reenact_scenario::statement::{PathStep, StatementPath};
use reenact_wire::prelude::*;

/// The members that are taken out in vain in some run.
pub(super) fn problems(runs: &[PlayedRun<'_>]) -> Vec<StatementProblem> {
    runs.iter().flat_map(run_problems).collect()
}

/// The changes hold one after another, so each is asked about what those before it have left.
fn run_problems(run: &PlayedRun<'_>) -> Vec<StatementProblem> {
    let changes = &run.setup.scenario.settings.session.changes;
    let mut problems = Vec::new();
    if changes.iter().all(|change| change.unset.is_empty()) {
        return problems;
    }
    let environment = &run.setup.environment;
    let mut frame = RequestFrame::from_environment(environment);
    for (nth, change) in changes.iter().enumerate() {
        let there = frame.members();
        for (at, name) in change.unset.iter().enumerate().filter(|(_, name)| !there.iter().any(|there| *there == ***name)) {
            let path: StatementPath = vec![PathStep::Key("change"), PathStep::Nth(nth), PathStep::Key("unset"), PathStep::Nth(at)];
            if is_judged_elsewhere(run.places, &path) {
                continue;
            }
            let near = nearest(name, there.iter().map(String::as_str));
            let message = format!("`{name}` is in no request at that point, so nothing is removed{}", did_you_mean(near));
            let help = format!("members at that point: {}; name one of them, or remove this", there.join(", "));
            problems.push(StatementProblem::at(run.places, &path, message, help));
        }
        frame = frame.with_change(environment, change);
    }
    problems
}
