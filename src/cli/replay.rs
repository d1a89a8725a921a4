//! `reenact replay LOG`.

use std::path::PathBuf;

use super::CommandExit;
use super::output::{complain, print_line, wrong_input};
use crate::engine::contract::{Effects, Engine, Input};
use crate::engine::log::{ReplayError, ReplayReport, environment, replay_in};
use crate::engine::time::Time;
use crate::files::{schema, text};
use crate::oracle::{Oracles, Violation};
use crate::prelude::*;
use crate::transcript::watch::TranscriptWatch as _;

#[derive(Debug, clap::Args)]
pub(super) struct ReplayArguments {
    /// A log written by `run SCENARIO --log FILE`
    log: PathBuf,
}

/// A log is held in memory as a whole.
pub(super) const LOG_BYTES_MAX: u64 = 256 << 20;

pub(super) fn run<E: Engine>(arguments: &ReplayArguments, engine: E) -> CommandExit {
    let path = arguments.log.display();
    let text = match text::read_up_to(&arguments.log, LOG_BYTES_MAX) {
        Ok(text) => text,
        Err(problem) => return wrong_input(&format!("{path}: {problem}; `reenact run SCENARIO --log FILE` writes a log")),
    };
    match replay(&text, engine) {
        Ok((ReplayReport { steps: 0, .. }, _)) => {
            complain(&format!("{path}: the log holds no step, so nothing was compared; `reenact run SCENARIO --log {path}` writes one"));
            CommandExit::Failed
        }
        Ok((done, broken)) => {
            let (steps, effects) = (plural(done.steps as u64, "step"), plural(done.effects as u64, "effect"));
            print_line(&format!("{path}: {steps}, {effects}, all equal, until {}", done.until));
            broken.iter().for_each(|violation| complain(&format!("{path}: {violation}")));
            if broken.is_empty() { CommandExit::Fine } else { CommandExit::Failed }
        }
        Err(error @ ReplayError::Differs { .. }) => {
            complain(&format!("{path}: {error}"));
            CommandExit::Failed
        }
        Err(error) => wrong_input(&format!("{path}: {error}")),
    }
}

/// Compares the effects, and asks the oracles. How the run ended is not in the log, so what was left open is not asked for.
pub(super) fn replay<E: Engine>(text: &str, engine: E) -> Result<(ReplayReport, Vec<Violation>), ReplayError> {
    let (mut environment, shows) = environment(text)?;
    schema::attach(&mut environment);
    let mut oracles = Oracles::new(&environment);
    let done = replay_in(text, engine, &environment, |at: Time, input: &Input, effects: &Effects| {
        oracles.input(at, effects.agent(), input);
        effects.iter().for_each(|(agent, effect)| oracles.effect(at, agent, effect));
    })?;
    let is_shown = |violation: &Violation| shows.iter().any(|rule| **rule == *violation.oracle);
    Ok((done, oracles.into_violations().into_iter().filter(|violation| !is_shown(violation)).collect()))
}
