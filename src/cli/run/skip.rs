//! Scenarios that `--level network` does not run: those that say so, those whose plan names
//! events of a simulated run, and those that take longer than a network can be simulated (M-11). Each is named
//! with its reason, and none is counted as run.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::output::complain;
use super::{RunArguments, level};
use crate::engine::contract::Engine;
use crate::engine::time::Time;
use crate::files::scenario::LoadedScenario;
use crate::live::clock::TimeScale;
use crate::live::simulation::NETWORK_TIME_MAX;
use crate::prelude::*;
use crate::runner::run_each;
use crate::sim::Run;
use crate::transcript::event::RunEnd;

/// The files that are not run, by the reason.
pub(super) type SkippedFiles = BTreeMap<String, Vec<String>>;

/// Takes out what the level does not run, and adds the files to `reasons`. Returns how many runs that are.
pub(super) fn take_out<E: Engine + Send + 'static>(
    arguments: &RunArguments,
    scenarios: &mut Vec<LoadedScenario>,
    new_engine: &(impl Fn() -> E + Sync),
    reasons: &mut SkippedFiles,
) -> usize {
    let Some(scale) = arguments.level.network_scale() else { return 0 };
    let ends =
        run_each(scenarios, arguments.selection.threads(), |scenario| Run::new(scenario.setup.clone(), new_engine()).without_oracles());
    let mut ends = ends.into_iter();
    let before = scenarios.len();
    scenarios.retain(|scenario| {
        // What never ends is no matter of length: it is run, and fails.
        let ended = ends.next().and_then(Result::ok).filter(|report| !matches!(report.end, RunEnd::LimitReached { .. }));
        let end = ended.and_then(|report| report.transcript.events.last().map(|event| event.at));
        let reason = declared(scenario).or_else(|| too_long(end?, scale));
        let is_run = reason.is_none();
        let files = reason.map(|reason| reasons.entry(reason).or_default());
        let file = scenario.file.display().to_string();
        files.into_iter().filter(|files| !files.contains(&file)).for_each(|files| files.push(file.clone()));
        is_run
    });
    before - scenarios.len()
}

/// A note for each reason.
pub(super) fn tell(reasons: &SkippedFiles) {
    for (reason, files) in reasons {
        complain(&format!("note: not run at this level ({reason}): {}", level::named(files)));
    }
}

/// The reason that is in the scenario.
fn declared(scenario: &LoadedScenario) -> Option<String> {
    let scenario = &scenario.setup.scenario;
    let by_plan = scenario.plan.has_injections().then(|| String::from("its [plan] names events of a simulated run"));
    scenario.network.as_ref().and_then(|network| network.skip.clone()).or(by_plan)
}

/// The reason to skip a run that takes too long: it takes no less with a network than without. `end` is when the simulated run was over.
fn too_long(end: Time, scale: TimeScale) -> Option<String> {
    let longest = scale.span(Duration::from_micros(NETWORK_TIME_MAX.0));
    let takes = end.since(Time::ZERO);
    (takes > longest).then(|| {
        let percent = NETWORK_TIME_MAX.scaled(100, takes.0).0.max(1);
        let help = if scale.percent() > 1 { format!("; --scale {percent}% makes it short enough") } else { String::new() };
        format!("it takes longer than {longest}, the limit of a simulated network{help}")
    })
}
