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
mod masked_effect;
mod path;
mod report;
mod state_table;
mod states;
mod states_ahead;
mod waiting_states;

pub(super) use choice::StepOutcome;
pub use choice::{ExploreChoice, ExploreStep};
pub(super) use faults::faults_of;
pub use faults::{fault_list, faults_at};
pub use graph::ExploredGraph;
pub use key_audit::EqualStates;
pub use path::{ExploredPath, PathDecision, replay};
pub use report::{ExploreFinding, ExploreOutcome, ExploreReport};

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;

use super::PanicGuard;
use super::budget::ExploreBudget;
use super::fingerprint::Fingerprint;
use super::verdict::announced_end;
use expansion::{ExpandedState, Expansion, ExploreTransition, ExploreTransitionOutcome, ForgottenRun, FrontierState, RunsAhead};
pub(super) use expansion::{ExploredRun, new_run, state_key};
use reenact_engine::contract::{Engine, KeySink};
use reenact_engine::key::StateKey;
use reenact_oracle::Violation;
use reenact_transcript::event::RunEnd;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;
use state_table::StateIndex;
use states::{ExploredStates, Successor};
pub use states_ahead::key_violation;
use states_ahead::{AheadOutcome, AheadState, KnownStates, StatesAhead};
use waiting_states::{WaitingState, WaitingStates};

/// Gives work to threads: pure rooms have none. An item is work for some milliseconds. What comes back is in the order of the items, however many threads
/// there are.
pub trait Workers {
    /// The results of `work` for each item, in order.
    fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R>;
}

/// So many states are a piece of work for a thread, where there are many.
const PIECE: usize = 4;

/// Where there are few, they are cut into so many pieces, as far as they go: to leave one state may take long, and no thread is to wait.
const PIECES_MIN: usize = 16;

/// So many pieces are worked off before what follows is merged: more take more memory, fewer leave threads waiting.
const BATCH: usize = 128;

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

/// How an exploration goes on from a batch of states to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplorePace {
    /// As it is.
    Usual,
    /// With no more runs in memory than there are: further states are made again when they are left.
    Sparing,
    /// Not at all: what was not looked at stays so.
    Stopped,
}

/// The things that an exploration keeps beside its report.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExploreOptions {
    /// So many merges are kept for an audit of the keys, if there are as many, and at most twice as many: every n-th one.
    pub audited: usize,
    /// All states and decisions, for a certificate.
    pub keeps_graph: bool,
    /// A hole: these steps are never tried. A certificate of such an exploration is to be refused.
    #[doc(hidden)]
    pub hole: Option<fn(&ExploreStep) -> bool>,
    /// A hole: runs without an end are not found.
    #[doc(hidden)]
    pub is_blind_to_circles: bool,
}

/// An exploration that is over.
#[derive(Clone, Debug)]
pub struct FinishedExploration {
    /// The report.
    pub report: ExploreReport,
    /// The merged states that are audited.
    pub equal_states: Vec<EqualStates>,
    /// All states and decisions, if they were to be kept and the exploration was finished and merged equal states. A decision that breaks a rule is an end.
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
    let mut pace = |progress| if goes_on(progress) { ExplorePace::Usual } else { ExplorePace::Stopped };
    explore_with(setup, engine, budget, guard, workers, (ExploreOptions::default(), &mut pace)).report
}

/// The same with options, and with a pace that is asked now and then.
pub fn explore_with<E: Engine + Send>(
    setup: &Arc<RunSetup>,
    engine: &E,
    budget: ExploreBudget,
    guard: &(impl PanicGuard + Sync),
    workers: &impl Workers,
    (options, pace): (ExploreOptions, &mut dyn FnMut(ExploreProgress) -> ExplorePace),
) -> FinishedExploration {
    let run = Box::new(new_run(setup, engine, options.keeps_graph));
    let usual_end = guard.run(|| run.clone().finish().end).ok().and_then(|end| announced_end(setup, end));
    let expansion = Expansion::new(setup, guard, usual_end, options.hole);
    let mut exploration = Exploration {
        first: run.clone(),
        states: ExploredStates::default(),
        ahead: StatesAhead::default(),
        runs_ahead: BTreeMap::new(),
        keyless_runs: BTreeMap::new(),
        frontier: WaitingStates::new(),
        findings: BTreeMap::new(),
        audit: MergeSample { every: 1, size: options.audited, merges: Vec::new() },
        graph: options.keeps_graph.then(ExploredGraph::default),
        report: ExploreReport::new(budget),
    };
    exploration.begin(run, budget);
    while exploration.frontier.len() > 0 {
        if !exploration.leave_level(&expansion, workers, pace) {
            exploration.report.outcome = ExploreOutcome::Stopped;
            break;
        }
    }
    exploration.finish(&expansion, options.is_blind_to_circles)
}

/// The last decision on the way to a state: the state before it, the decision, and its number among all decisions there.
type LastDecision = (StateIndex, ExploreChoice, u32);

/// Every n-th merge of an exploration.
struct MergeSample {
    every: u64,
    /// So many are wanted.
    size: usize,
    /// The state that was kept, and the last decision of the way that was merged into it.
    merges: Vec<(StateIndex, StateIndex, ExploreChoice)>,
}

impl MergeSample {
    /// Takes the `nth` merge, if its turn has come. Where there are twice as many as are wanted, every second one goes.
    fn take(&mut self, nth: u64, kept: StateIndex, (from, choice): (StateIndex, &ExploreChoice)) {
        if self.size == 0 || !nth.is_multiple_of(self.every) {
            return;
        }
        self.merges.push((kept, from, choice.clone()));
        if self.merges.len() / 2 == self.size {
            let mut number = 0;
            self.merges.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.every *= 2;
        }
    }
}

struct Exploration<E> {
    /// The run that has not begun.
    first: Box<ExploredRun<E>>,
    states: ExploredStates,
    ahead: StatesAhead,
    /// The runs of states behind those that were left ahead, by their keys.
    runs_ahead: BTreeMap<StateKey, Box<ExploredRun<E>>>,
    /// Those of states without a key, by the keys of the states before them.
    keyless_runs: BTreeMap<StateKey, Box<ExploredRun<E>>>,
    /// The states of the next level.
    frontier: WaitingStates<E>,
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
        let index = self.add(key, None);
        self.frontier.push(WaitingState::Run(FrontierState { index, run, left: budget }));
    }

    fn add(&mut self, key: Option<StateKey>, from: Option<LastDecision>) -> StateIndex {
        // A certificate is of states with keys alone.
        self.graph = self.graph.take().filter(|_| key.is_some());
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
        pace: &mut dyn FnMut(ExploreProgress) -> ExplorePace,
    ) -> bool {
        self.report.levels += 1;
        let mut level = self.frontier.take_level().into_iter();
        while level.len() > 0 {
            let waiting = level.len() + self.frontier.len();
            match pace(ExploreProgress { states: self.states.len(), transitions: self.report.transitions, waiting }) {
                ExplorePace::Usual => (),
                ExplorePace::Sparing => self.frontier.limit_runs(),
                ExplorePace::Stopped => return false,
            }
            self.leave_batch(level.by_ref().take(PIECE * BATCH).collect(), expansion, workers);
        }
        true
    }

    /// Leaves some states of a level.
    fn leave_batch<G: PanicGuard + Sync>(&mut self, batch: Vec<WaitingState<E>>, expansion: &Expansion<'_, G>, workers: &impl Workers) {
        let (mut states, mut order) = (Vec::new(), Vec::new());
        for state in batch {
            match state {
                WaitingState::Ahead(index, state) => order.push((index, Some(state))),
                WaitingState::Run(state) => {
                    self.frontier.take_run();
                    order.push((state.index, None));
                    states.push(Ok(state));
                }
                WaitingState::Place(index, left) => {
                    order.push((index, None));
                    states.push(Err(ForgottenRun { index, left, first: self.first.clone() }));
                }
            }
        }
        let size = (states.len() / PIECES_MIN).clamp(1, PIECE);
        let mut states = states.into_iter();
        let piece = || Some(states.by_ref().take(size).collect()).filter(|piece: &Vec<_>| !piece.is_empty());
        let pieces = core::iter::from_fn(piece).collect();
        let leave = |piece: Vec<Result<FrontierState<E>, ForgottenRun<E>>>| {
            let mut known = KnownStates { reached: &self.states, ahead: &self.ahead, own: StatesAhead::default() };
            let (mut runs, mut sink) = (RunsAhead { waiting: Vec::new(), keyless: Vec::new() }, KeySink::default());
            let leave_one = |state| match state {
                Ok(state) => expansion.leave(state, (&mut known, &mut sink), &mut runs),
                Err(forgotten) => expansion.leave_again(forgotten, (&mut known, &mut sink), &mut runs),
            };
            let expanded: Vec<_> = piece.into_iter().map(leave_one).collect();
            (expanded, known.own, runs)
        };
        let mut all = Vec::new();
        for (expanded, ahead, runs) in workers.map(pieces, leave) {
            all.extend(expanded);
            self.ahead.add_all(ahead);
            self.runs_ahead.extend(runs.waiting);
            self.keyless_runs.extend(runs.keyless);
        }
        let mut all = all.into_iter();
        for (index, state_ahead) in order {
            match state_ahead {
                Some(state) => self.take_ahead(index, *state),
                None => all.next().into_iter().for_each(|expanded| self.take(index, expanded)),
            }
        }
    }

    /// Takes in what follows a state.
    fn take(&mut self, from: StateIndex, expanded: ExpandedState<E>) {
        let ExpandedState { transitions, asked } = expanded;
        self.report.count(&transitions, &asked);
        let mut decisions = Vec::new();
        for (event, ExploreTransition { choice, outcome, hash }) in (0..).zip(transitions) {
            let successor = match outcome {
                ExploreTransitionOutcome::Known(key) => self.reach((from, choice, event), Some(key), None),
                ExploreTransitionOutcome::State { run, key, left } => self.reach((from, choice, event), key, Some((run, left))),
                ExploreTransitionOutcome::End => Successor::End,
                ExploreTransitionOutcome::Finding(violations) => {
                    self.find(from, Some(choice), violations);
                    Successor::End
                }
            };
            decisions.push((hash, successor));
        }
        self.set_decisions(from, &decisions);
    }

    /// Takes in the arrival at a state that was left ahead.
    fn take_ahead(&mut self, from: StateIndex, AheadState { hash, asked, outcome }: AheadState) {
        self.report.count_arrival(&asked);
        let arrival = ExploreChoice { step: ExploreStep::Next, fault: None };
        let successor = match outcome {
            AheadOutcome::State(key) => self.reach((from, arrival, 0), Some(key), None),
            AheadOutcome::Keyless(before) => {
                let Some(run) = self.keyless_runs.remove(&before) else { unreachable!("a state is left once") };
                self.reach((from, arrival, 0), None, Some((run, ExploreBudget::NONE)))
            }
            AheadOutcome::End => Successor::End,
            AheadOutcome::Finding(violations) => {
                self.find(from, Some(arrival), violations);
                Successor::End
            }
        };
        self.set_decisions(from, &[(hash, successor)]);
    }

    /// The state that a decision leads to. One that is new waits for its level.
    fn reach(&mut self, last: LastDecision, key: Option<StateKey>, run: Option<(Box<ExploredRun<E>>, ExploreBudget)>) -> Successor {
        if let Some(index) = key.and_then(|key| self.states.find(key)) {
            self.count_merge(index, last.0, &last.1);
            return Successor::State(index);
        }
        let index = self.add(key, Some(last));
        let run_ahead = key.and_then(|key| self.runs_ahead.remove(&key));
        let waiting = match (key.and_then(|key| self.ahead.take(key)), run) {
            (Some(state), _) => WaitingState::Ahead(index, state),
            (None, Some((run, left))) => WaitingState::Run(FrontierState { index, run, left }),
            (None, None) => {
                let Some(run) = run_ahead else { unreachable!("a known state was reached or left, or its run waits") };
                WaitingState::Run(FrontierState { index, run, left: ExploreBudget::NONE })
            }
        };
        self.frontier.push(waiting);
        Successor::State(index)
    }

    /// Sets where the decisions at a state lead. The first is the next arrival.
    fn set_decisions(&mut self, state: StateIndex, decisions: &[(u64, Successor)]) {
        if let Some((_, next)) = decisions.first() {
            self.states.set_next(state, *next);
        }
        if let Some(graph) = &mut self.graph {
            graph.add_decisions(state, decisions);
        }
    }

    /// Counts a merge, and keeps every n-th one for the audit.
    fn count_merge(&mut self, kept: StateIndex, from: StateIndex, choice: &ExploreChoice) {
        self.report.merged += 1;
        self.audit.take(self.report.merged, kept, (from, choice));
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

    fn finish<G: PanicGuard>(mut self, expansion: &Expansion<'_, G>, is_blind_to_circles: bool) -> FinishedExploration {
        let equal_states = self.equal_states();
        if self.report.outcome == ExploreOutcome::Finished && !is_blind_to_circles {
            for circle in self.states.circles() {
                self.find(circle, None, vec![report::endless()]);
            }
        }
        self.report.states = self.states.len();
        let is_all_taken = self.ahead.is_empty() && self.runs_ahead.is_empty() && self.keyless_runs.is_empty();
        // Behind states with one key that go on otherwise nothing is looked at.
        let is_cut = self.report.outcome == ExploreOutcome::Stopped || self.findings.contains_key(&Fingerprint::from(&key_violation()));
        let graph = self.graph.filter(|_| !is_cut);
        assert!(is_cut || is_all_taken, "a state that was left ahead was never reached");
        self.report.usual_end = expansion.usual_end.clone().map(|end: RunEnd| end.as_str().into());
        let states = &self.states;
        self.report.findings = self
            .findings
            .into_iter()
            .map(|(fingerprint, found)| {
                let FoundViolation { from, last, violations, count, others } = found;
                let path = |from, last| ExploredPath { choices: states.path(from).into_iter().chain(last).collect() };
                let others = others.into_iter().map(|(from, last)| path(from, last)).collect();
                let path = path(from, last);
                let again = expansion.violations_of(&self.first, &path.choices, self.report.budget, &violations);
                let violations = again.unwrap_or(violations);
                ExploreFinding { fingerprint, path, violations, count, others }
            })
            .collect();
        FinishedExploration { graph, report: self.report, equal_states }
    }
}
