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
mod graph;
mod key_audit;
mod path;
mod report;
mod states;

pub(super) use choice::StepOutcome;
pub use choice::{ExploreChoice, ExploreStep};
pub use faults::fault_list;
pub(super) use faults::faults_of;
pub use graph::ExploredGraph;
pub use key_audit::EqualStates;
pub use path::{ExploredPath, PathDecision, replay};
pub use report::{ExploreFinding, ExploreOutcome, ExploreReport};

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;

use super::PanicGuard;
use super::budget::ExploreBudget;
use super::fingerprint::Fingerprint;
use expansion::{ExpandedState, Expansion, ExploreTransition, ExploreTransitionOutcome, FrontierState};
pub(super) use expansion::{ExploredRun, new_run, state_key};
use reenact_engine::contract::{Engine, KeySink};
use reenact_engine::key::StateKey;
use reenact_oracle::Violation;
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
const BATCH: usize = 1024;

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

/// The things that an exploration keeps beside its report.
#[derive(Clone, Copy, Debug)]
pub struct ExploreOptions {
    /// The ways to every n-th merged state, for an audit of the keys.
    pub audit_every: u64,
    /// All states and decisions, for a certificate.
    pub keeps_graph: bool,
    /// A hole: these steps are never tried. A certificate of such an exploration is to be refused.
    #[doc(hidden)]
    pub hole: Option<fn(&ExploreStep) -> bool>,
}

impl Default for ExploreOptions {
    fn default() -> Self {
        Self { audit_every: u64::MAX, keeps_graph: false, hole: None }
    }
}

/// An exploration that is over.
#[derive(Clone, Debug)]
pub struct FinishedExploration {
    /// The report.
    pub report: ExploreReport,
    /// The merged states that are audited.
    pub equal_states: Vec<EqualStates>,
    /// All states and decisions, if they were to be kept and the exploration was finished, merged equal states, and found nothing.
    pub graph: Option<ExploredGraph>,
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
    explore_with(setup, engine, budget, guard, workers, (ExploreOptions::default(), goes_on)).report
}

/// The same with options.
pub fn explore_with<E: Engine + Send>(
    setup: &Arc<RunSetup>,
    engine: &E,
    budget: ExploreBudget,
    guard: &(impl PanicGuard + Sync),
    workers: &impl Workers,
    (options, goes_on): (ExploreOptions, &mut dyn FnMut(ExploreProgress) -> bool),
) -> FinishedExploration {
    let run = new_run(setup, engine, options.keeps_graph);
    let usual_end = guard.run(|| run.clone().finish().end).ok();
    let expansion = Expansion::new(setup, guard, usual_end, options.hole);
    let mut exploration = Exploration {
        states: ExploredStates::default(),
        frontier: Vec::new(),
        findings: BTreeMap::new(),
        audit: MergeSample { every: options.audit_every, merges: Vec::new() },
        graph: options.keeps_graph.then(ExploredGraph::default),
        report: ExploreReport::new(budget),
    };
    exploration.begin(run.into(), budget);
    while !exploration.frontier.is_empty() {
        if !exploration.leave_level(&expansion, workers, goes_on) {
            exploration.report.outcome = ExploreOutcome::Stopped;
            break;
        }
    }
    exploration.finish(&expansion)
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
    graph: Option<ExploredGraph>,
    report: ExploreReport,
}

struct FoundViolation {
    from: StateIndex,
    last: Option<ExploreChoice>,
    violations: Vec<Violation>,
    count: usize,
    others: Vec<(StateIndex, Option<ExploreChoice>)>,
}

/// So many further ways to a finding are kept.
const OTHERS_MAX: usize = 31;

impl<E: Engine + Send> Exploration<E> {
    fn begin(&mut self, run: Box<ExploredRun<E>>, budget: ExploreBudget) {
        let key = state_key(&run, budget, &mut KeySink::default());
        self.report.is_merged = key.is_some();
        self.graph = self.graph.take().filter(|_| key.is_some());
        let index = self.add(key, None);
        self.frontier.push(FrontierState { index, run, left: budget });
    }

    fn add(&mut self, key: Option<StateKey>, from: Option<(StateIndex, ExploreChoice, u32)>) -> StateIndex {
        if let (Some(graph), Some(key)) = (&mut self.graph, key) {
            graph.add_state(key, from.as_ref());
        }
        self.states.add(key, from.map(|(place, choice, _)| (place, choice)))
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
        let mut next = NextLevel::new(self.states.len());
        let mut waiting = level.len();
        while waiting > 0 {
            let progress = ExploreProgress { states: self.states.len() + next.states.len(), transitions: self.report.transitions, waiting };
            if !goes_on(progress) {
                return false;
            }
            let batch: Vec<_> = level.by_ref().take(BATCH).collect();
            waiting -= batch.len();
            let all = workers.map(batch, |state| (state.index, expansion.leave(state, &self.states)));
            for (from, expanded) in all {
                self.take(from, expanded, &mut next);
            }
        }
        for NewState { key, run, left, from } in next.states {
            let index = self.add(key, Some(from));
            self.frontier.push(FrontierState { index, run, left });
        }
        true
    }

    fn take(&mut self, from: StateIndex, expanded: ExpandedState<E>, next: &mut NextLevel<E>) {
        let ExpandedState { transitions, asked } = expanded;
        self.report.count(&transitions, &asked);
        if let Some(graph) = &mut self.graph {
            graph.begin_state();
        }
        for (event, ExploreTransition { choice, outcome, hash }) in (0..).zip(transitions) {
            let successor = match outcome {
                ExploreTransitionOutcome::Known(index) => {
                    self.count_merge(index, from, &choice);
                    Successor::State(index)
                }
                ExploreTransitionOutcome::End => Successor::End,
                ExploreTransitionOutcome::Finding(violations) => {
                    self.find(from, Some(choice), violations);
                    Successor::End
                }
                ExploreTransitionOutcome::State { run, key, left } => {
                    let (index, is_new) = next.place_of(key);
                    if is_new {
                        next.states.push(NewState { key, run, left, from: (from, choice, event) });
                    } else {
                        self.count_merge(index, from, &choice);
                    }
                    Successor::State(index)
                }
            };
            if let Some(graph) = &mut self.graph {
                graph.add_decision(hash, successor.place());
            }
            // The first decision is the next arrival.
            if event == 0 {
                self.states.set_next(from, successor);
            }
        }
    }

    /// Counts a merge, and keeps every n-th one for the audit.
    fn count_merge(&mut self, kept: StateIndex, from: StateIndex, choice: &ExploreChoice) {
        self.report.merged += 1;
        if self.report.merged.is_multiple_of(self.audit.every) {
            self.audit.merges.push((kept, from, choice.clone()));
        }
    }

    fn find(&mut self, from: StateIndex, last: Option<ExploreChoice>, violations: Vec<Violation>) {
        let Some(first) = violations.iter().min_by_key(|violation| violation.at) else { return };
        let found = match self.findings.entry(Fingerprint::from(first)) {
            Entry::Occupied(known) => {
                let known = known.into_mut();
                if known.others.len() < OTHERS_MAX {
                    known.others.push((from, last));
                }
                known
            }
            Entry::Vacant(place) => place.insert(FoundViolation { from, last, violations, count: 0, others: Vec::new() }),
        };
        found.count += 1;
    }

    fn equal_states(&mut self) -> Vec<EqualStates> {
        let merges = core::mem::take(&mut self.audit.merges);
        let way = |(kept, from, last): (StateIndex, StateIndex, ExploreChoice)| EqualStates {
            kept: ExploredPath { choices: self.states.path(kept) },
            merged: ExploredPath { choices: self.states.path(from).into_iter().chain([last]).collect() },
        };
        merges.into_iter().map(way).collect()
    }

    fn finish<G: PanicGuard>(mut self, expansion: &Expansion<'_, G>) -> FinishedExploration {
        let equal_states = self.equal_states();
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
                let FoundViolation { from, last, violations, count, others } = found;
                let path = |from, last| ExploredPath { choices: states.path(from).into_iter().chain(last).collect() };
                let others = others.into_iter().map(|(from, last)| path(from, last)).collect();
                ExploreFinding { fingerprint, path: path(from, last), violations, count, others }
            })
            .collect();
        let is_clean = self.report.outcome == ExploreOutcome::Finished && self.report.findings.is_empty();
        FinishedExploration { graph: self.graph.filter(|_| is_clean), report: self.report, equal_states }
    }
}

/// The states of the next level, in the order in which they are reached.
struct NextLevel<E> {
    states: Vec<NewState<E>>,
    by_key: BTreeMap<StateKey, StateIndex>,
    /// The place of the first.
    first: usize,
}

/// A state of the next level.
struct NewState<E> {
    key: Option<StateKey>,
    run: Box<ExploredRun<E>>,
    left: ExploreBudget,
    /// The state that it follows, the decision, and the number of that among all decisions there.
    from: (StateIndex, ExploreChoice, u32),
}

impl<E> NextLevel<E> {
    fn new(first: usize) -> Self {
        Self { states: Vec::new(), by_key: BTreeMap::new(), first }
    }

    /// The place of the state with this key, and whether it is a new one.
    fn place_of(&mut self, key: Option<StateKey>) -> (StateIndex, bool) {
        let fresh = StateIndex::try_from(self.first + self.states.len()).unwrap_or(StateIndex::MAX);
        let place = key.map_or(fresh, |key| *self.by_key.entry(key).or_insert(fresh));
        (place, place == fresh)
    }
}
