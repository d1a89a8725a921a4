//! The neighbourhood of a run that was recorded: how near it is to a finding (E-3n).
//!
//! Around a boundary log it speaks of the engine that wrote it, which must replay it first. Around a tape it speaks of the engine under test in the recorded session.

use std::path::Path;

use super::super::replay::{LOG_BYTES_MAX, replay};
use super::super::selection::Selection;
use crate::engine::contract::Engine;
use crate::engine::log::{self, LoggedScenario};
use crate::engine::time::Micros;
use crate::explore::explain::explain;
use crate::explore::explorer::{ExploreFinding, ExploredPath};
use crate::explore::shrink::{EngineProbe, unchanged};
use crate::files::scenario::{LoadOptions, LoadedScenario, ScenarioVariants, load_with};
use crate::files::{open, text};
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::sim::Run;

/// A finding's distance from the run as it is.
#[derive(Clone, Debug)]
pub(super) struct FindingDistance {
    /// The changes of time that it takes; `None` where it takes something else as well.
    pub(super) time: Option<Micros>,
    /// The reasons, one for each decision.
    pub(super) reasons: Vec<String>,
    /// The way to this finding.
    pub(super) path: ExploredPath,
}

/// The selection of the scenario that a log was written of; `None` where no log is named.
///
/// # Errors
/// When the engine does not replay the log, or its scenario makes another run today.
pub(super) fn of_log<E: Engine>(selection: &Selection, new_engine: &impl Fn() -> E) -> Result<Option<Selection>, String> {
    let Some(path) = selection.only_path().filter(|path| open::begins_with(path, log::MARK)) else { return Ok(None) };
    let name = path.display();
    if selection.changes_scenarios() {
        return Err(format!("{name}: a log is of one run: leave out --seed, --seeds and --set"));
    }
    let text = text::read_up_to(path, LOG_BYTES_MAX).map_err(|problem| format!("{name}: {problem}"))?;
    replay(&text, new_engine())
        .map_err(|error| format!("{name}: this engine does not do what the log says, so nothing can be said of it: {error}"))?;
    let scenario = log::scenario(&text).map_err(|error| format!("{name}: {error}"))?;
    let Some(LoggedScenario { path: scenario, set }) = scenario else {
        return Err(format!("{name}: the log does not name its scenario: write it anew with `reenact run SCENARIO --log FILE`"));
    };
    let selection = selection.for_scenario(&scenario, set.clone());
    let options = LoadOptions { overrides: set, reach: selection.reach(), ..LoadOptions::default() };
    let loaded = load_with(Path::new(&scenario), &options).map_err(|error| format!("{name}: its scenario: {error}"))?;
    let again = Run::new(loaded.setup, new_engine()).with_log().without_oracles().to_end().log;
    let steps = |text: &str| text.split_once('\n').map(|(_, steps)| String::from(steps)).unwrap_or_default();
    if again.is_none_or(|again| steps(again.as_str()) != steps(&text)) {
        return Err(format!(
            "{name}: a simulated run of {scenario} is another one than that of the log: the scenario was changed, or the run was not a simulated one"
        ));
    }
    Ok(Some(selection))
}

/// The scope of an exploration around a recording, in words.
pub(super) fn scope(scenario: &LoadedScenario) -> Option<String> {
    scenario.tape_file.as_ref().map(|tape| {
        let tape = tape.display();
        format!(
            "this is about the engine here in the session of {tape}; its tools took at most the time between two requests; \
             `reenact drive {tape} --sweep SIGINT -- CLIENT` tries the client that was recorded"
        )
    })
}

/// The distance of the nearest way to a finding that was kept.
pub(super) fn distance<E: Engine>(scenario: &LoadedScenario, engine: &E, finding: &ExploreFinding) -> Option<FindingDistance> {
    let variants = ScenarioVariants::new(scenario).ok()?;
    let ready = |scenario| variants.ready(scenario);
    let ways = std::iter::once(&finding.path).chain(&finding.others);
    let measured = ways.filter_map(|path| {
        let planned = path.setup(&scenario.setup, engine, &PanicCatcher);
        let mut probe = EngineProbe::new(engine, &PanicCatcher, &ready);
        let run = unchanged(&planned.scenario, &finding.fingerprint, &mut probe).ok()?;
        let explanation = explain(&run, &finding.fingerprint, &mut probe);
        let spans: Option<Vec<Micros>> = explanation.choices.iter().map(|choice| choice.distance).collect();
        let time = spans.map(|spans| spans.into_iter().fold(Micros::ZERO, |sum, span| sum + span));
        let reasons = explanation.choices.into_iter().map(|choice| choice.text).collect();
        Some(FindingDistance { time, reasons, path: path.clone() })
    });
    measured.min_by_key(|distance| (distance.time.is_none(), distance.time))
}
