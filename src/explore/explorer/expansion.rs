//! From one state to all that may follow: each decision on a copy of its run, all oracles on each (E-3).

use core::hash::{Hash as _, Hasher as _};

use super::super::PanicGuard;
use super::super::budget::ExploreBudget;
use super::super::fuzz::BehaviourWatch;
use super::super::interrupt::content;
use super::super::verdict::{accepted_end, judge_counting, panicked};
use super::choice::{ExploreChoice, ExploreStep, StepOutcome};
use super::faults::faults_of;
use super::masked_effect::masked;
use super::state_table::StateIndex;
use super::states::ExploredStates;
use super::states_ahead::{AHEAD_MAX, AheadOutcome, AheadState, KnownStates, StatesAhead};
use reenact_engine::contract::{Agent, Block, Effect, Engine, Input, KeySink, RequestId, Time};
use reenact_engine::key::StateKey;
use reenact_oracle::{Oracles, QuestionCounts, Violation, repeated_requests};
use reenact_scenario::single_fault::SingleFault;
use reenact_sim::{Run, rules};
use reenact_transcript::event::{EventKind, RunEnd};
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// A run of an exploration.
pub(crate) type ExploredRun<E> = Run<E, ExploreWatch>;

/// The watcher of such a run: the oracles, and the requests and effects of the last decision.
#[derive(Clone, Debug)]
pub(crate) struct ExploreWatch {
    pub(crate) oracles: Oracles,
    pub(crate) requests: Vec<(Agent, RequestId)>,
    /// Where they are wanted.
    effects: Option<Vec<(Agent, Effect)>>,
    /// Where they are wanted.
    pub(crate) behaviours: Option<BehaviourWatch>,
}

/// A state with its run, before it is left.
pub(super) struct FrontierState<E> {
    pub(super) index: StateIndex,
    /// It is some kilobytes large, and is handed on often.
    pub(super) run: Box<ExploredRun<E>>,
    pub(super) left: ExploreBudget,
}

/// A state whose run is made again before it is left.
pub(super) struct ForgottenRun<E> {
    pub(super) index: StateIndex,
    pub(super) left: ExploreBudget,
    /// The run that has not begun.
    pub(super) first: Box<ExploredRun<E>>,
}

/// The runs behind states that were left ahead.
pub(super) struct RunsAhead<E> {
    /// Of states that were not left, by their keys.
    pub(super) waiting: Vec<(StateKey, Box<ExploredRun<E>>)>,
    /// Of states without a key, by the keys of the states before them.
    pub(super) keyless: Vec<(StateKey, Box<ExploredRun<E>>)>,
}

/// One decision at a state, and its outcome.
pub(super) struct ExploreTransition<E> {
    pub(super) choice: ExploreChoice,
    pub(super) outcome: ExploreTransitionOutcome<E>,
    /// Of the decision and its effects, where these are wanted.
    pub(super) hash: u64,
}

/// All decisions at one state.
pub(super) struct ExpandedState<E> {
    pub(super) transitions: Vec<ExploreTransition<E>>,
    /// How often each oracle was asked because of them.
    pub(super) asked: QuestionCounts,
}

/// Where a decision led.
pub(super) enum ExploreTransitionOutcome<E> {
    /// To a state that was reached or left before.
    Known(StateKey),
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
    /// Steps that are never tried.
    pub(super) hole: Option<fn(&ExploreStep) -> bool>,
}

/// A run that has not begun, with all oracles on and ready for injections.
pub(crate) fn new_run<E: Engine>(setup: &Arc<RunSetup>, engine: &E, keeps_effects: bool) -> ExploredRun<E> {
    let mut run = Run::watched(setup.clone(), engine.clone(), ExploreWatch::new(rules::oracles(setup), keeps_effects));
    run.expect_injections();
    run
}

impl ExploreWatch {
    fn new(oracles: Oracles, keeps_effects: bool) -> Self {
        Self { oracles, requests: Vec::new(), effects: keeps_effects.then(Vec::new), behaviours: None }
    }

    /// Forgets the requests and effects so far.
    pub(crate) fn begin_decision(&mut self) {
        self.requests.clear();
        self.effects.iter_mut().for_each(Vec::clear);
        self.behaviours.iter_mut().for_each(BehaviourWatch::begin_decision);
    }

    /// A hash of a decision that was made at an instant, and of its effects; 0 where these are not kept.
    pub(crate) fn hash_decision(&self, at: Time, choice: &ExploreChoice, sink: &mut KeySink) -> u64 {
        let Some(effects) = &self.effects else { return 0 };
        sink.reset(at);
        (choice, effects).hash(sink);
        sink.finish()
    }
}

impl TranscriptWatch for ExploreWatch {
    fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        self.behaviours.iter_mut().for_each(|behaviours| behaviours.input(input));
        self.oracles.input(at, agent, input);
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        if let Effect::Request { id, .. } = effect {
            self.requests.push((agent.clone(), *id));
        }
        if let Some(effects) = &mut self.effects {
            effects.push((agent.clone(), masked(at, effect.clone())));
        }
        self.behaviours.iter_mut().for_each(|behaviours| behaviours.effect(effect));
        self.oracles.effect(at, agent, effect);
    }

    fn note(&mut self, at: Time, agent: &Agent, what: &EventKind) {
        self.oracles.note(at, agent, what);
    }
}

impl<'a, G: PanicGuard> Expansion<'a, G> {
    pub(super) fn new(setup: &'a RunSetup, guard: &'a G, usual_end: Option<RunEnd>, hole: Option<fn(&ExploreStep) -> bool>) -> Self {
        Self { setup, guard, usual_end, words: content(), hole }
    }

    /// All that may follow a state, in a fixed order. The first is the next arrival.
    pub(super) fn leave<E: Engine>(
        &self,
        state: FrontierState<E>,
        (known, sink): (&mut KnownStates<'_>, &mut KeySink),
        runs: &mut RunsAhead<E>,
    ) -> ExpandedState<E> {
        let FrontierState { run, left, .. } = state;
        let mut asked = QuestionCounts::default();
        let deviations = if left.deviations > 0 { run.deviations() } else { Vec::new() };
        let inputs: &[ExploreStep] = if left.inputs > 0 { &ExploreStep::INPUTS } else { &[] };
        let late = if left.inputs > 0 { run.stopping_tools().len() } else { 0 };
        let late = (0..late).map(ExploreStep::LateCompletion);
        let others = inputs.iter().copied().chain(late).chain(deviations.into_iter().map(ExploreStep::Deviation));
        let others = others.filter(|step| !self.hole.is_some_and(|hole| hole(step)));
        let mut attempt = |run: Box<ExploredRun<E>>, step, fault: Option<Arc<SingleFault>>| {
            let (mut transition, faults) = self.carry_out(run, left, ExploreChoice { step, fault }, known, (&mut *sink, &mut asked))?;
            if let ExploreTransitionOutcome::State { run, key: Some(key), left: ExploreBudget::NONE } = transition.outcome {
                self.run_ahead((run, key), known, runs, sink);
                transition.outcome = ExploreTransitionOutcome::Known(key);
            }
            Some((transition, faults))
        };
        let mut with_faults = Vec::new();
        for step in others {
            let Some((transition, faults)) = attempt(run.clone(), step, None) else { continue };
            with_faults.push(transition);
            with_faults.extend(faults.into_iter().filter_map(|fault| Some(attempt(run.clone(), step, Some(fault))?.0)));
        }
        let mut transitions = Vec::new();
        if left.faults == 0 {
            // No copy is needed for the last decision.
            transitions.extend(attempt(run, ExploreStep::Next, None).map(|(transition, _)| transition));
        } else if let Some((transition, faults)) = attempt(run.clone(), ExploreStep::Next, None) {
            transitions.push(transition);
            transitions.extend(faults.into_iter().filter_map(|fault| Some(attempt(run.clone(), ExploreStep::Next, Some(fault))?.0)));
        }
        transitions.append(&mut with_faults);
        ExpandedState { transitions, asked }
    }

    /// Makes the run of a state again, and leaves it. An engine that does not come to the same state again is found.
    pub(super) fn leave_again<E: Engine>(
        &self,
        state: ForgottenRun<E>,
        (known, sink): (&mut KnownStates<'_>, &mut KeySink),
        runs: &mut RunsAhead<E>,
    ) -> ExpandedState<E> {
        let ForgottenRun { index, left, first: mut run } = state;
        let is_made = |choice: &ExploreChoice| matches!(self.guard.run(|| choice.make(&mut run, &self.words)), Ok(StepOutcome::Running));
        let path = known.reached.path(index);
        if path.iter().all(is_made) {
            return self.leave(FrontierState { index, run, left }, (known, sink), runs);
        }
        let text = "the same decisions led to a state that goes on, and do not lead to it again";
        let violation = Violation { oracle: repeated_requests::ORACLE, at: run.now(), text: text.into() };
        let outcome = ExploreTransitionOutcome::Finding(vec![violation]);
        let choice = ExploreChoice { step: ExploreStep::Next, fault: None };
        ExpandedState { transitions: vec![ExploreTransition { choice, outcome, hash: 0 }], asked: QuestionCounts::default() }
    }

    /// Leaves a state without budget, and those behind it while they are unknown.
    fn run_ahead<E: Engine>(
        &self,
        (mut run, mut key): (Box<ExploredRun<E>>, StateKey),
        known: &mut KnownStates<'_>,
        runs: &mut RunsAhead<E>,
        sink: &mut KeySink,
    ) {
        for _ in 0..AHEAD_MAX {
            let mut asked = QuestionCounts::default();
            let choice = ExploreChoice { step: ExploreStep::Next, fault: None };
            let made = self.carry_out(run, ExploreBudget::NONE, choice, known, (sink, &mut asked));
            let Some((ExploreTransition { outcome, hash, .. }, _)) = made else {
                unreachable!("the next arrival comes, or the run is over")
            };
            let (outcome, next) = match outcome {
                ExploreTransitionOutcome::State { run, key: Some(next), .. } => (AheadOutcome::State(next), Some((run, next))),
                ExploreTransitionOutcome::State { run, key: None, .. } => {
                    runs.keyless.push((key, run));
                    (AheadOutcome::Keyless(key), None)
                }
                ExploreTransitionOutcome::Known(next) => (AheadOutcome::State(next), None),
                ExploreTransitionOutcome::Finding(violations) => (AheadOutcome::Finding(violations), None),
                ExploreTransitionOutcome::End => (AheadOutcome::End, None),
            };
            known.own.add(key, Box::new(AheadState { hash, asked, outcome }));
            match next {
                Some(next) => (run, key) = next,
                None => return,
            }
        }
        runs.waiting.push((key, run));
    }

    /// Makes one decision. Also returns the faults of the requests that were made because of it; `None` when it cannot be made here.
    pub(super) fn carry_out<E: Engine>(
        &self,
        mut run: Box<ExploredRun<E>>,
        left: ExploreBudget,
        choice: ExploreChoice,
        known: &KnownStates<'_>,
        (sink, asked): (&mut KeySink, &mut QuestionCounts),
    ) -> Option<(ExploreTransition<E>, Vec<Arc<SingleFault>>)> {
        let at = run.now();
        let oracles = &run.watcher().oracles;
        let (before, asked_before) = (oracles.violations().len(), oracles.question_counts());
        run.watcher_mut().begin_decision();
        let made = match self.guard.run(|| choice.make(&mut run, &self.words)) {
            Ok(made) => made,
            // The time of a panic is told by the run that is made again.
            Err(panic) => {
                let outcome = ExploreTransitionOutcome::Finding(vec![panicked(at, &panic)]);
                return Some((ExploreTransition { choice, outcome, hash: 0 }, Vec::new()));
            }
        };
        if matches!(made, StepOutcome::Impossible) {
            return None;
        }
        let left = left_after(left, &choice);
        let watch = run.watcher();
        let hash = watch.hash_decision(at, &choice, sink);
        let faults = if left.faults > 0 && choice.fault.is_none() {
            let settings = &self.setup.scenario.explore;
            watch.requests.iter().flat_map(|(agent, id)| faults_of(settings, agent, *id, run.count_answer_events(agent, *id))).collect()
        } else {
            Vec::new()
        };
        let violations = self.unannounced(&watch.oracles.violations()[before..]);
        let outcome = if !violations.is_empty() {
            ExploreTransitionOutcome::Finding(violations)
        } else if let StepOutcome::Over(end) = made {
            let (outcome, counts) = self.judged(*run, end, before);
            asked.add_between(&asked_before, &counts);
            return Some((ExploreTransition { choice, outcome, hash }, faults));
        } else {
            asked.add_between(&asked_before, &watch.oracles.question_counts());
            let key = state_key(&run, left, sink);
            match key.filter(|key| known.has(*key)) {
                Some(key) => ExploreTransitionOutcome::Known(key),
                None => ExploreTransitionOutcome::State { run, key, left },
            }
        };
        Some((ExploreTransition { choice, outcome, hash }, faults))
    }

    /// The violations at the end of a way. A state that was left ahead may have been left by another way to it, at another time. Where the run breaks no
    /// rule by itself, `found` has the time of its last decision.
    pub(super) fn violations_of<E: Engine>(
        &self,
        first: &ExploredRun<E>,
        choices: &[ExploreChoice],
        budget: ExploreBudget,
        found: &[Violation],
    ) -> Option<Vec<Violation>> {
        let (last, before) = choices.split_last()?;
        let mut run = Box::new(first.clone());
        for choice in before {
            self.guard.run(|| choice.make(&mut run, &self.words)).ok()?;
        }
        let (states, ahead) = (ExploredStates::default(), StatesAhead::default());
        let known = KnownStates { reached: &states, ahead: &ahead, own: StatesAhead::default() };
        let at = run.now();
        let (transition, _) =
            self.carry_out(run, budget, last.clone(), &known, (&mut KeySink::default(), &mut QuestionCounts::default()))?;
        match transition.outcome {
            ExploreTransitionOutcome::Finding(violations) => Some(violations),
            _ => Some(found.iter().map(|violation| Violation { at, ..violation.clone() }).collect()),
        }
    }

    /// A run that is over, with how often each oracle was asked in all of it.
    fn judged<E: Engine>(&self, run: ExploredRun<E>, end: RunEnd, before: usize) -> (ExploreTransitionOutcome<E>, QuestionCounts) {
        let finished = run.finished(end);
        let accepted = accepted_end(self.usual_end.as_ref(), &finished.end, finished.has_endless_fault);
        let (violations, counts) = judge_counting(self.setup, finished.watcher.oracles, before, (&finished.end, finished.at), accepted);
        let violations = self.unannounced(&violations);
        let outcome = if violations.is_empty() { ExploreTransitionOutcome::End } else { ExploreTransitionOutcome::Finding(violations) };
        (outcome, counts)
    }

    /// Without the violations of which the scenario says that they come.
    fn unannounced(&self, violations: &[Violation]) -> Vec<Violation> {
        violations.iter().filter(|violation| !rules::shows(&self.setup.scenario.expect, violation.oracle)).cloned().collect()
    }
}

/// The key of a state: engine, world, oracles, and the budget that is left. `None` where the engine has none.
pub(crate) fn state_key<E: Engine>(run: &ExploredRun<E>, left: ExploreBudget, sink: &mut KeySink) -> Option<StateKey> {
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
