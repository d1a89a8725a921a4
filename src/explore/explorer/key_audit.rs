//! The audit of keys (E-3): two runs in states with one key must do the same from there on, but for figures.
//!
//! A merged state is looked at once. If its key lacks something that matters, what the other run would do is never seen, and nothing else tells.

use super::super::PanicGuard;
use super::super::interrupt::content;
use super::choice::{ExploreChoice, ExploreStep, StepOutcome};
use super::path::ExploredPath;
use reenact_engine::contract::Engine;
use reenact_sim::Run;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// Two ways to states with one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EqualStates {
    /// The way that was kept.
    pub kept: ExploredPath,
    /// The way that was merged into it.
    pub merged: ExploredPath,
}

impl EqualStates {
    /// Makes both runs again and lets them run on to their ends. Returns how many events were compared.
    ///
    /// # Errors
    /// The first event in which they differ, in both runs.
    pub fn compare<E: Engine>(&self, setup: &Arc<RunSetup>, engine: &E, guard: &impl PanicGuard) -> Result<usize, String> {
        let [kept, merged] = [&self.kept, &self.merged].map(|path| continuation(path, setup, engine, guard));
        let missing = String::from("(nothing)");
        for place in 0..kept.len().max(merged.len()) {
            let [one, other] = [&kept, &merged].map(|events| events.get(place).unwrap_or(&missing));
            if one != other {
                return Err(format!("event {place} after the merge\n  kept:   {one}\n  merged: {other}"));
            }
        }
        Ok(kept.len())
    }
}

/// The events of a run after its decisions, with `#` in the place of figures.
fn continuation<E: Engine>(path: &ExploredPath, setup: &Arc<RunSetup>, engine: &E, guard: &impl PanicGuard) -> Vec<String> {
    let mut run = Run::new(setup.clone(), engine.clone());
    run.expect_injections();
    let words = content();
    for choice in &path.choices {
        if !matches!(guard.run(|| choice.make(&mut run, &words)), Ok(StepOutcome::Running)) {
            break;
        }
    }
    let events = |run: &Run<E>| run.watcher().clone().into_transcript(&None, setup.scenario.seed).events;
    let before = events(&run).len();
    let next = ExploreChoice { step: ExploreStep::Next, fault: None };
    while let Ok(StepOutcome::Running) = guard.run(|| next.make(&mut run, &words)) {}
    events(&run).iter().skip(before).map(|event| masked(&format!("{:?} {:?}", event.agent, event.what))).collect()
}

/// Each run of digits as one sign.
fn masked(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_ascii_digit() {
            true if masked.ends_with('#') => (),
            true => masked.push('#'),
            false => masked.push(letter),
        }
    }
    masked
}
