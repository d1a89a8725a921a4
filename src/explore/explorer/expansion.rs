//! From one state to all that may follow: each decision on a copy of its run, all oracles on each (E-3).

use core::hash::Hash as _;

use super::super::PanicGuard;
use super::super::budget::ExploreBudget;
use super::super::interrupt::content;
use super::super::verdict::{judge, may_end_as_usual, panicked};
use super::choice::{ExploreChoice, ExploreStep, StepOutcome};
use super::faults::faults_of;
use super::states::{ExploredStates, StateIndex};
use reenact_engine::contract::{Agent, Block, Effect, Engine, Input, KeySink, RequestId, Time};
use reenact_engine::key::StateKey;
use reenact_oracle::{Oracles, Violation};
use reenact_scenario::single_fault::SingleFault;
use reenact_sim::{Run, rules};
use reenact_transcript::event::{EventKind, RunEnd};
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// A run of an exploration.
pub(super) type ExploredRun<E> = Run<E, ExploreWatch>;

/// The watcher of such a run: the oracles, and the requests of the last decision.
#[derive(Clone, Debug)]
pub(super) struct ExploreWatch {
    pub(super) oracles: Oracles,
    pub(super) requests: Vec<(Agent, RequestId)>,
}

/// A state with its run, before it is left.
pub(super) struct FrontierState<E> {
    pub(super) index: StateIndex,
    /// It is some kilobytes large, and is handed on often.
    pub(super) run: Box<ExploredRun<E>>,
    pub(super) left: ExploreBudget,
}

/// One decision at a state, and its outcome.
pub(super) struct ExploreTransition<E> {
    pub(super) choice: ExploreChoice,
    pub(super) outcome: ExploreTransitionOutcome<E>,
}

/// Where a decision led.
pub(super) enum ExploreTransitionOutcome<E> {
    /// To a state that was reached before.
    Known(StateIndex),
    /// To another one.
    State { run: Box<ExploredRun<E>>, key: Option<StateKey>, left: ExploreBudget },
    /// To a good end.
    End,
    /// To the violation of a rule.
    Finding(Vec<Violation>),
}

/// The facts that all expansions share.
pub(super) struct Expansion<'a, G> {
    pub(super) setup: &'a RunSetup,
    pub(super) guard: &'a G,
    /// How the run ends as it is: others may end so as well.
    pub(super) usual_end: Option<RunEnd>,
    pub(super) words: Arc<[Block]>,
}

impl ExploreWatch {
    pub(super) fn new(oracles: Oracles) -> Self {
        Self { oracles, requests: Vec::new() }
    }
}

impl TranscriptWatch for ExploreWatch {
    fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        self.oracles.input(at, agent, input);
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        if let Effect::Request { id, .. } = effect {
            self.requests.push((agent.clone(), *id));
        }
        self.oracles.effect(at, agent, effect);
    }

    fn note(&mut self, at: Time, agent: &Agent, what: &EventKind) {
        self.oracles.note(at, agent, what);
    }
}

impl<'a, G: PanicGuard> Expansion<'a, G> {
    pub(super) fn new(setup: &'a RunSetup, guard: &'a G, usual_end: Option<RunEnd>) -> Self {
        Self { setup, guard, usual_end, words: content() }
    }

    /// All that may follow a state, in a fixed order. The first is the next arrival.
    pub(super) fn transitions<E: Engine>(&self, state: FrontierState<E>, known: &ExploredStates) -> Vec<ExploreTransition<E>> {
        let FrontierState { run, left, .. } = state;
        let mut sink = KeySink::default();
        let mut found = Vec::new();
        let deviations = if left.deviations > 0 { run.deviations() } else { Vec::new() };
        let inputs: &[ExploreStep] = if left.inputs > 0 { &ExploreStep::INPUTS } else { &[] };
        let late = if left.inputs > 0 { run.stopping_tools().len() } else { 0 };
        let late = (0..late).map(ExploreStep::LateCompletion);
        let others = inputs.iter().copied().chain(late).chain(deviations.into_iter().map(ExploreStep::Deviation));
        let mut attempt = |run: Box<ExploredRun<E>>, step, fault: Option<Arc<SingleFault>>| {
            let choice = ExploreChoice { step, fault };
            let (outcome, faults) = self.carry_out(run, left, &choice, known, &mut sink)?;
            Some((ExploreTransition { choice, outcome }, faults))
        };
        let mut with_faults = Vec::new();
        for step in others {
            let Some((transition, faults)) = attempt(run.clone(), step, None) else { continue };
            with_faults.push(transition);
            with_faults.extend(faults.into_iter().filter_map(|fault| Some(attempt(run.clone(), step, Some(fault))?.0)));
        }
        if left.faults == 0 {
            // Most states have no budget left, and one thing that follows: no copy is needed.
            found.extend(attempt(run, ExploreStep::Next, None).map(|(transition, _)| transition));
        } else if let Some((transition, faults)) = attempt(run.clone(), ExploreStep::Next, None) {
            found.push(transition);
            found.extend(faults.into_iter().filter_map(|fault| Some(attempt(run.clone(), ExploreStep::Next, Some(fault))?.0)));
        }
        found.append(&mut with_faults);
        found
    }

    /// Makes one decision. Also returns the faults of the requests that were made because of it; `None` when it cannot be made here.
    fn carry_out<E: Engine>(
        &self,
        mut run: Box<ExploredRun<E>>,
        left: ExploreBudget,
        choice: &ExploreChoice,
        known: &ExploredStates,
        sink: &mut KeySink,
    ) -> Option<(ExploreTransitionOutcome<E>, Vec<Arc<SingleFault>>)> {
        let at = run.now();
        let before = run.watcher().oracles.violations().len();
        run.watcher_mut().requests.clear();
        let outcome = match self.guard.run(|| choice.make(&mut run, &self.words)) {
            Ok(outcome) => outcome,
            // The time of a panic is told by the run that is made again.
            Err(panic) => return Some((ExploreTransitionOutcome::Finding(vec![panicked(at, &panic)]), Vec::new())),
        };
        if matches!(outcome, StepOutcome::Impossible) {
            return None;
        }
        let left = left_after(left, choice);
        let requests = &run.watcher().requests;
        let faults = if left.faults > 0 && choice.fault.is_none() {
            requests.iter().flat_map(|(agent, id)| faults_of(agent, *id, run.count_answer_events(agent, *id))).collect()
        } else {
            Vec::new()
        };
        let violations = self.unannounced(&run.watcher().oracles.violations()[before..]);
        if !violations.is_empty() {
            return Some((ExploreTransitionOutcome::Finding(violations), faults));
        }
        let outcome = match outcome {
            StepOutcome::Over(end) => self.judged(*run, end, before),
            _ => {
                let key = state_key(&run, left, sink);
                match key.and_then(|key| known.find(key)) {
                    Some(index) => ExploreTransitionOutcome::Known(index),
                    None => ExploreTransitionOutcome::State { run, key, left },
                }
            }
        };
        Some((outcome, faults))
    }

    fn judged<E: Engine>(&self, run: ExploredRun<E>, end: RunEnd, before: usize) -> ExploreTransitionOutcome<E> {
        let finished = run.finished(end);
        let usual = self.usual_end.as_ref().map(RunEnd::as_str);
        let accepted = usual.filter(|_| may_end_as_usual(None, &finished.end, finished.faults));
        let violations = judge(self.setup, finished.watcher.oracles, before, (&finished.end, finished.at), accepted);
        let violations = self.unannounced(&violations);
        if violations.is_empty() { ExploreTransitionOutcome::End } else { ExploreTransitionOutcome::Finding(violations) }
    }

    /// Without the violations of which the scenario says that they come.
    fn unannounced(&self, violations: &[Violation]) -> Vec<Violation> {
        violations.iter().filter(|violation| !rules::shows(&self.setup.scenario.expect, violation.oracle)).cloned().collect()
    }
}

/// The key of a state: engine, world, oracles, and the budget that is left. `None` where the engine has none.
pub(super) fn state_key<E: Engine>(run: &ExploredRun<E>, left: ExploreBudget, sink: &mut KeySink) -> Option<StateKey> {
    sink.reset(run.now());
    left.hash(sink);
    run.watcher().oracles.hash(sink);
    if left.deviations > 0 {
        run.hash_windows(sink);
    }
    run.key(sink).then(|| sink.key())
}

fn left_after(left: ExploreBudget, choice: &ExploreChoice) -> ExploreBudget {
    let is = |spent: bool| u8::from(spent);
    ExploreBudget {
        deviations: left.deviations - is(matches!(choice.step, ExploreStep::Deviation(_))),
        faults: left.faults - is(choice.fault.is_some()),
        inputs: left.inputs - is(matches!(choice.step, ExploreStep::Input(..) | ExploreStep::LateCompletion(_))),
    }
}
