//! `--write-plan`: the run as a scenario that needs no seed (F-11).

use std::path::Path;

use super::super::Exit;
use super::super::output::complain;
use super::Arguments;
use crate::engine::contract::Engine;
use crate::explore::plan::planned;
use crate::files::plan;
use crate::files::scenario::{Loaded, load};
use crate::prelude::*;
use crate::runner::Catching;
use crate::sim::Run;
use crate::transcript::json;
use crate::world::setup::Setup;

/// Writes the run, interrupted where the arguments say so, and sees whether the file makes the same run with another seed.
pub(super) fn write<E: Engine>(path: &Path, arguments: &Arguments, loaded: &Loaded, engine: &E) -> Exit {
    let interrupt = arguments.interrupt_at.map(|boundary| (boundary, arguments.interrupt_kind));
    let scenario = planned(&loaded.setup, engine, interrupt, &Catching);
    let other_seed = !scenario.seed.0;
    let known = digest(&Arc::new(Setup { scenario: scenario.clone(), ..Setup::clone(&loaded.setup) }), engine);
    if let Err(error) = plan::write(path, loaded, scenario) {
        complain(&format!("{}: cannot write the plan: {error}", path.display()));
        return Exit::WrongInput;
    }
    match load(path, &[(String::from("seed"), format!("\"{other_seed}\""))]) {
        Ok(written) if digest(&written.setup, engine) == known => Exit::Fine,
        Ok(_) => {
            complain(&format!("{}: with another seed this is another run: a choice is missing in its plan", path.display()));
            Exit::Failed
        }
        Err(error) => {
            complain(&format!("{}: what was written cannot be read: {error}", path.display()));
            Exit::Failed
        }
    }
}

/// Of a transcript, or the words of a panic.
fn digest<E: Engine>(setup: &Arc<Setup>, engine: &E) -> String {
    let run = || Run::new(setup.clone(), engine.clone()).without_oracles().to_end().transcript;
    crate::explore::Guard::run(&Catching, run).map_or_else(|panic| panic, |transcript| json::digest(&transcript))
}
