//! `--write-plan`: the run as a scenario that needs no seed (F-11).

use std::path::Path;

use super::super::CommandExit;
use super::super::output::{complain, wrong_input};
use super::RunArguments;
use crate::engine::contract::Engine;
use crate::explore::plan::planned;
use crate::files::plan;
use crate::files::scenario::{FileReach, LoadOptions, LoadedScenario, load_with};
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::sim::Run;
use crate::transcript::json;
use crate::world::setup::RunSetup;

/// Writes the run, interrupted where the arguments say so, and sees whether the file makes the same run with another seed.
pub(super) fn write<E: Engine>(path: &Path, arguments: &RunArguments, loaded: &LoadedScenario, engine: &E) -> CommandExit {
    let interrupt = arguments.interrupt_at.map(|boundary| (boundary, arguments.interrupt_kind));
    let scenario = planned(&loaded.setup, engine, interrupt, &PanicCatcher);
    let other_seed = !scenario.seed.0;
    let known = digest(&Arc::new(loaded.setup.with_scenario(scenario.clone())), engine);
    if let Err(error) = plan::write(path, loaded, scenario) {
        return wrong_input(&format!("{}: cannot write the plan: {error}", path.display()));
    }
    // The plan was written here, and names what the scenario names.
    let options = LoadOptions {
        overrides: vec![(String::from("seed"), format!("\"{other_seed}\""))],
        reach: FileReach::Anywhere,
        ..LoadOptions::default()
    };
    match load_with(path, &options) {
        Ok(written) if digest(&written.setup, engine) == known => CommandExit::Fine,
        Ok(_) => {
            complain(&format!("{}: another seed gives another run: the plan lacks a choice", path.display()));
            CommandExit::Failed
        }
        Err(error) => {
            complain(&format!("{}: the written plan cannot be read: {error}", path.display()));
            CommandExit::Failed
        }
    }
}

/// Of a transcript, or the words of a panic.
fn digest<E: Engine>(setup: &Arc<RunSetup>, engine: &E) -> String {
    let run = || Run::new(setup.clone(), engine.clone()).without_oracles().to_end().transcript;
    crate::explore::PanicGuard::run(&PanicCatcher, run).map_or_else(|panic| panic, |transcript| json::digest(&transcript))
}
