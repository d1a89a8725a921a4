//! Runs of pairs of scenarios: each two as one session, with all oracles.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::{PanicCatcher, in_parallel};
use reenact_engine::contract::{Effect, Emission, Engine, Input};
use reenact_engine::random::Seed;
use reenact_engine::time::Time;
use reenact_explore::PanicGuard;
use reenact_explore::verdict::{panicked, violations_of};
use reenact_files::scenario::LoadedScenario;
use reenact_files::schema;
use reenact_oracle::Violation;
use reenact_scenario::pair::{FirstRunFacts, PairForm, PairPart, joined};
use reenact_scenario::types::Scenario;
use reenact_sim::Run;
use reenact_transcript::event::{EventKind, RunEnd, Transcript};
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// The pairs of scenarios that can be one session.
#[derive(Debug)]
pub struct ScenarioPairs {
    parts: BTreeMap<usize, (PairPart, FirstRunFacts)>,
}

/// Two scenarios, by their positions in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScenarioPair {
    /// The one that begins.
    pub first: usize,
    /// The other one.
    pub second: usize,
    /// Where the other one begins.
    pub form: PairForm,
}

/// The run of a pair.
#[derive(Clone, Debug)]
pub struct PairRun {
    /// The pair.
    pub pair: ScenarioPair,
    /// The reason of its end; `None` after a panic.
    pub end: Option<RunEnd>,
    /// How many events it has.
    pub events: usize,
    /// The broken rules, in the order in which they were seen.
    pub violations: Vec<Violation>,
}

impl ScenarioPairs {
    /// Finds out which scenarios can be part of a pair. Each of them is run once.
    pub fn new<E: Engine>(scenarios: &[LoadedScenario], threads: NonZeroUsize, new_engine: &(impl Fn() -> E + Sync)) -> Self {
        let numbered: Vec<(usize, &LoadedScenario)> = scenarios.iter().enumerate().collect();
        let parts = in_parallel(&numbered, threads, |(number, scenario)| {
            let part = PairPart::new(&scenario.setup.scenario)?;
            let run = || Run::new(scenario.setup.clone(), new_engine()).without_oracles().to_end();
            let report = PanicCatcher.run(run).ok().filter(|report| report.end == RunEnd::Idle)?;
            Some((*number, (part, facts(&report.transcript))))
        });
        Self { parts: parts.into_iter().flatten().collect() }
    }

    /// How many scenarios can be part of a pair.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// How many pairs there are.
    pub fn possible(&self) -> usize {
        PairForm::ALL.len() * self.count() * self.count()
    }

    /// All pairs, or so many of them, drawn from this seed.
    pub fn drawn(&self, most: usize, seed: Seed) -> Vec<ScenarioPair> {
        let numbers: Vec<usize> = self.parts.keys().copied().collect();
        let pair = |at: usize| {
            let (form, at) = (PairForm::ALL[at % PairForm::ALL.len()], at / PairForm::ALL.len());
            ScenarioPair { first: numbers[at / numbers.len()], second: numbers[at % numbers.len()], form }
        };
        let possible = self.possible();
        if possible <= most {
            return (0..possible).map(pair).collect();
        }
        let mut draws = seed.draws("pairs", "");
        (0..most).map(|_| pair(draws.below(possible as u64) as usize)).collect()
    }

    /// The scenario of a pair; `None` where the two cannot stand beside each other.
    pub fn scenario(&self, pair: ScenarioPair) -> Option<Scenario> {
        let ((first, run), (second, _)) = (self.parts.get(&pair.first)?, self.parts.get(&pair.second)?);
        joined(first, run, second, pair.form)
    }

    /// Runs pairs. Those that cannot stand beside each other have no run.
    pub fn run<E: Engine>(&self, pairs: &[ScenarioPair], threads: NonZeroUsize, new_engine: &(impl Fn() -> E + Sync)) -> Vec<PairRun> {
        let runs = in_parallel(pairs, threads, |pair| self.look(*pair, new_engine).map(|(run, _)| run));
        runs.into_iter().flatten().collect()
    }

    /// Runs one pair; the transcript is there unless the engine panicked. `None` as with [`Self::scenario`].
    pub fn look<E: Engine>(&self, pair: ScenarioPair, new_engine: &impl Fn() -> E) -> Option<(PairRun, Option<Transcript>)> {
        let mut setup = RunSetup::new(self.scenario(pair)?, None).ok()?;
        schema::attach(&mut setup.environment);
        let setup = Arc::new(setup);
        let run = || Run::new(setup.clone(), new_engine()).without_oracles().to_end();
        Some(match PanicCatcher.run(run) {
            Ok(report) => {
                let violations = violations_of(&setup, &report.transcript, Some(report.end.as_str()));
                let run = PairRun { pair, end: Some(report.end), events: report.transcript.events.len(), violations };
                (run, Some(report.transcript))
            }
            Err(panic) => (PairRun { pair, end: None, events: 0, violations: vec![panicked(Time::ZERO, &panic)] }, None),
        })
    }
}

/// The facts of this run that the second scenario of a pair depends on.
fn facts(transcript: &Transcript) -> FirstRunFacts {
    let mut facts = FirstRunFacts::default();
    for event in transcript.events.iter() {
        facts.end = event.at.since(Time::ZERO);
        match &event.what {
            EventKind::Input(Input::Stream { event, .. }) => *facts.stream_events.entry(event.name().into()).or_default() += 1,
            EventKind::Effect(Effect::Emit(Emission::User(_))) => facts.results += 1,
            EventKind::Effect(Effect::Finished { .. }) if event.agent.is_root() => facts.terminals += 1,
            _ => (),
        }
    }
    facts
}
