//! The findings of an exploration, and its size.

use super::super::budget::ExploreBudget;
use super::super::fingerprint::Fingerprint;
use super::choice::ExploreStep;
use super::expansion::{ExploreTransition, ExploreTransitionOutcome};
use super::path::ExploredPath;
use reenact_engine::time::Time;
use reenact_oracle::{QuestionCounts, Violation, run_end};
use reenact_wire::prelude::*;

/// The findings of an exploration, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a finding fails no test by itself: assert that `findings` is empty"]
pub struct ExploreReport {
    /// The budget.
    pub budget: ExploreBudget,
    /// Whether all of it was looked at.
    pub outcome: ExploreOutcome,
    /// Whether equal states were merged: the engine has a key.
    pub is_merged: bool,
    /// How many states there are.
    pub states: usize,
    /// How many decisions were made.
    pub transitions: u64,
    /// How many of them led to a state that was known.
    pub merged: u64,
    /// How many arrivals the longest run has.
    pub levels: usize,
    /// At how many states another arrival could come first.
    pub swaps: u64,
    /// How many faults were tried.
    pub faults: u64,
    /// How many inputs were tried.
    pub inputs: u64,
    /// How often each oracle was asked.
    pub asked: QuestionCounts,
    /// How the run ends as it is; `None` when it panics.
    pub usual_end: Option<Arc<str>>,
    /// The findings, each defect once.
    pub findings: Vec<ExploreFinding>,
}

/// Whether an exploration came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExploreOutcome {
    /// All runs within the budget were looked at.
    Finished,
    /// It was stopped: nothing is claimed of what it did not reach.
    Stopped,
}

/// A defect, with the smallest run that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExploreFinding {
    /// The violation that came first.
    pub fingerprint: Fingerprint,
    /// The decisions of the run with the fewest arrivals.
    pub path: ExploredPath,
    /// The broken rules of this run.
    pub violations: Vec<Violation>,
    /// How many decisions led to it.
    pub count: usize,
    /// Further ways to it, the first ones of them.
    pub others: Vec<ExploredPath>,
}

/// A run that comes back to a state in which it was, whatever time passes (O-18).
pub(super) fn endless() -> Violation {
    let text =
        "the run comes back to a state in which it was, and ends never: no fault, no input and no other order is needed for that".into();
    Violation { at: Time::ZERO, oracle: run_end::ORACLE, text }
}

impl ExploreReport {
    pub(super) fn new(budget: ExploreBudget) -> Self {
        Self {
            budget,
            outcome: ExploreOutcome::Finished,
            is_merged: false,
            states: 0,
            transitions: 0,
            merged: 0,
            levels: 0,
            swaps: 0,
            faults: 0,
            inputs: 0,
            asked: QuestionCounts::default(),
            usual_end: None,
            findings: Vec::new(),
        }
    }

    /// Counts the arrival at a state without budget.
    pub(super) fn count_arrival(&mut self, asked: &QuestionCounts) {
        self.asked.add_all(asked);
        self.transitions += 1;
    }

    /// Counts what followed one state.
    pub(super) fn count<E>(&mut self, transitions: &[ExploreTransition<E>], asked: &QuestionCounts) {
        self.asked.add_all(asked);
        self.transitions += transitions.len() as u64;
        let is_deviation = |made: &&ExploreTransition<E>| matches!(made.choice.step, ExploreStep::Deviation(_));
        let is_input = |made: &&ExploreTransition<E>| matches!(made.choice.step, ExploreStep::Input(..) | ExploreStep::LateCompletion(_));
        self.swaps += u64::from(transitions.iter().any(|made| is_deviation(&made)));
        self.faults += transitions.iter().filter(|made| made.choice.fault.is_some()).count() as u64;
        self.inputs += transitions.iter().filter(is_input).count() as u64;
        debug_assert!(transitions.iter().all(|made| !matches!(made.outcome, ExploreTransitionOutcome::Known(_)) || self.is_merged));
    }
}
