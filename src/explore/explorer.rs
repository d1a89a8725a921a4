//! The exploration, E-3: all runs within a budget, level by level, equal states merged, all oracles on each transition.
//!
//! ```text
//!   level 0     level 1        level 2             a state: a run with no input due, and the budget that is left
//!     ●──next────●──next────────●
//!     │          ├──deviation───●                  a transition: one decision, and all inputs that come of it
//!     │          └──cancel──────●
//!     └──fault───●──next────────● (known: merged)
//! ```
//!
//! The claim is for the times listed: an arrival that comes out of order comes as early as its window permits, all others at their usual times.

mod choice;
mod expansion;
mod faults;
mod key_audit;
mod path;
mod report;
mod states;

pub use choice::{ExploreChoice, ExploreStep};
pub use key_audit::EqualStates;
pub use path::{ExploredPath, PathDecision, replay};
pub use report::{ExploreFinding, ExploreOutcome, ExploreReport};

use alloc::collections::BTreeMap;

use super::PanicGuard;
use super::budget::ExploreBudget;
use super::fingerprint::Fingerprint;
use expansion::{Expansion, ExploreTransition, ExploreTransitionOutcome, ExploreWatch, ExploredRun, FrontierState, state_key};
use reenact_engine::contract::{Engine, KeySink};
use reenact_engine::key::StateKey;
use reenact_oracle::Violation;
use reenact_sim::{Run, rules};
use reenact_transcript::event::RunEnd;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;
use states::{ExploredStates, StateIndex, Successor};

/// Gives work to threads: pure rooms have none. What comes back is in the order of the items, however many threads there are.
pub trait Workers {
    /// The results of `work` for each item, in order.
    fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R>;
}

/// So many states are left at once before what follows them is merged: more take more memory, fewer leave threads waiting.
const BATCH: usize = 512;

/// How far an exploration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExploreProgress {
    /// How many states were reached.
    pub states: usize,
    /// How many decisions were made.
    pub transitions: u64,
    /// How many states wait.
    pub waiting: usize,
}

/// Explores all runs of a scenario within a budget. `engine` is the engine under test in its first state. `goes_on` is asked now and then; where it says
/// no, the report says that nothing is finished.
pub fn explore<E: Engine + Send>(
    setup: &Arc<RunSetup>,
    engine: &E,
    budget: ExploreBudget,
    guard: &(impl PanicGuard + Sync),
    workers: &impl Workers,
    goes_on: &mut dyn FnMut(ExploreProgress) -> bool,
) -> ExploreReport {
    explore_with_audit(setup, engine, budget, guard, workers, (u64::MAX, goes_on)).0
}

/// The same, with the ways to every n-th merged state, for an audit of the keys.
pub fn explore_with_audit<E: Engine + Send>(
    setup: &Arc<RunSetup>,
    engine: &E,
    budget: ExploreBudget,
    guard: &(impl PanicGuard + Sync),
    workers: &impl Workers,
    (every, goes_on): (u64, &mut dyn FnMut(ExploreProgress) -> bool),
) -> (ExploreReport, Vec<EqualStates>) {
    let mut run = Run::watched(setup.clone(), engine.clone(), ExploreWatch::new(rules::oracles(setup)));
    run.expect_injections();
    let usual_end = guard.run(|| run.clone().finish().end).ok();
    let expansion = Expansion::new(setup, guard, usual_end);
    let mut exploration = Exploration {
        states: ExploredStates::default(),
        frontier: Vec::new(),
        findings: BTreeMap::new(),
        audit: MergeSample { every, merges: Vec::new() },
        report: ExploreReport::new(budget),
    };
    exploration.begin(run.into(), budget);
    while !exploration.frontier.is_empty() {
        if !exploration.leave_level(&expansion, workers, goes_on) {
            exploration.report.outcome = ExploreOutcome::Stopped;
            break;
        }
    }
    let equal = exploration.equal_states();
    (exploration.finish(&expansion), equal)
}

/// Every n-th merge of an exploration.
struct MergeSample {
    every: u64,
    /// The state that was kept, and the last decision of the way that was merged into it.
    merges: Vec<(StateIndex, StateIndex, ExploreChoice)>,
}

struct Exploration<E> {
    states: ExploredStates,
    /// The states of the present level, by their keys.
    frontier: Vec<FrontierState<E>>,
    /// The findings by fingerprint: where the smallest is, its violations, and how many there are.
    findings: BTreeMap<Fingerprint, FoundViolation>,
    audit: MergeSample,
    report: ExploreReport,
}

struct FoundViolation {
    from: StateIndex,
    last: Option<ExploreChoice>,
    violations: Vec<Violation>,
    count: usize,
}

impl<E: Engine + Send> Exploration<E> {
    fn begin(&mut self, run: Box<ExploredRun<E>>, budget: ExploreBudget) {
        let key = state_key(&run, budget, &mut KeySink::default());
        self.report.is_merged = key.is_some();
        let index = self.states.add(key, None);
        self.frontier.push(FrontierState { index, run, left: budget });
    }

    /// Leaves all states of a level; `false` when it is to stop.
    fn leave_level<G: PanicGuard + Sync>(
        &mut self,
        expansion: &Expansion<'_, G>,
        workers: &impl Workers,
        goes_on: &mut dyn FnMut(ExploreProgress) -> bool,
    ) -> bool {
        self.report.levels += 1;
        let mut level = core::mem::take(&mut self.frontier).into_iter();
        let mut next: Vec<NewState<E>> = Vec::new();
        let mut by_key = BTreeMap::new();
        let mut waiting = level.len();
        while waiting > 0 {
            let progress = ExploreProgress { states: self.states.len(), transitions: self.report.transitions, waiting };
            if !goes_on(progress) {
                return false;
            }
            let batch: Vec<_> = level.by_ref().take(BATCH).collect();
            waiting -= batch.len();
            let all = workers.map(batch, |state| (state.index, expansion.transitions(state, &self.states)));
            for (from, transitions) in all {
                self.take(from, transitions, &mut next, &mut by_key);
            }
        }
        self.number(next);
        true
    }

    fn take(
        &mut self,
        from: StateIndex,
        transitions: Vec<ExploreTransition<E>>,
        next: &mut Vec<NewState<E>>,
        by_key: &mut BTreeMap<StateKey, usize>,
    ) {
        self.report.count(&transitions);
        for (place, ExploreTransition { choice, outcome }) in transitions.into_iter().enumerate() {
            let is_usual = place == 0;
            let successor = match outcome {
                ExploreTransitionOutcome::Known(index) => {
                    if self.is_audited_merge() {
                        self.audit.merges.push((index, from, choice));
                    }
                    Successor::State(index)
                }
                ExploreTransitionOutcome::End => Successor::End,
                ExploreTransitionOutcome::Finding(violations) => {
                    self.find(from, Some(choice), violations);
                    Successor::End
                }
                ExploreTransitionOutcome::State { run, key, left } => {
                    let known = key.and_then(|key| by_key.get(&key).copied());
                    let at = known.unwrap_or(next.len());
                    if known.is_none() {
                        by_key.extend(key.map(|key| (key, at)));
                        next.push(NewState { key, run, left, from: (from, choice), usual_from: Vec::new(), merged: Vec::new() });
                    } else if self.is_audited_merge() {
                        next[at].merged.push((from, choice));
                    }
                    if is_usual {
                        next[at].usual_from.push(from);
                    }
                    continue;
                }
            };
            if is_usual {
                self.states.set_next(from, successor);
            }
        }
    }

    /// Counts a merge. Returns whether it is one for the audit.
    fn is_audited_merge(&mut self) -> bool {
        self.report.merged += 1;
        self.report.merged.is_multiple_of(self.audit.every)
    }

    /// The states of the next level get their places: by their keys, so that these do not depend on threads.
    fn number(&mut self, mut next: Vec<NewState<E>>) {
        next.sort_by_key(|state| state.key);
        for NewState { key, run, left, from, usual_from, merged } in next {
            let index = self.states.add(key, Some(from));
            self.audit.merges.extend(merged.into_iter().map(|(from, choice)| (index, from, choice)));
            usual_from.into_iter().for_each(|before| self.states.set_next(before, Successor::State(index)));
            self.frontier.push(FrontierState { index, run, left });
        }
    }

    fn find(&mut self, from: StateIndex, last: Option<ExploreChoice>, violations: Vec<Violation>) {
        let Some(first) = violations.iter().min_by_key(|violation| violation.at) else { return };
        let found = FoundViolation { from, last, violations: violations.clone(), count: 0 };
        self.findings.entry(Fingerprint::from(first)).or_insert(found).count += 1;
    }

    fn equal_states(&mut self) -> Vec<EqualStates> {
        let merges = core::mem::take(&mut self.audit.merges);
        let way = |(kept, from, last): (StateIndex, StateIndex, ExploreChoice)| EqualStates {
            kept: ExploredPath { choices: self.states.path(kept) },
            merged: ExploredPath { choices: self.states.path(from).into_iter().chain([last]).collect() },
        };
        merges.into_iter().map(way).collect()
    }

    fn finish<G: PanicGuard>(mut self, expansion: &Expansion<'_, G>) -> ExploreReport {
        if self.report.outcome == ExploreOutcome::Finished {
            for circle in self.states.circles() {
                self.find(circle, None, vec![report::endless()]);
            }
        }
        self.report.states = self.states.len();
        self.report.usual_end = expansion.usual_end.clone().map(|end: RunEnd| end.as_str().into());
        let states = &self.states;
        self.report.findings = self
            .findings
            .into_iter()
            .map(|(fingerprint, found)| {
                let FoundViolation { from, last, violations, count } = found;
                let choices = states.path(from).into_iter().chain(last).collect();
                ExploreFinding { fingerprint, path: ExploredPath { choices }, violations, count }
            })
            .collect();
        self.report
    }
}

/// A state of the next level.
struct NewState<E> {
    key: Option<StateKey>,
    run: Box<ExploredRun<E>>,
    left: ExploreBudget,
    from: (StateIndex, ExploreChoice),
    /// The states that it follows by their next arrival.
    usual_from: Vec<StateIndex>,
    /// Other ways to it that are audited.
    merged: Vec<(StateIndex, ExploreChoice)>,
}
