//! The states that are reached and not left (E-3).
//!
//! A run takes some kilobytes, its place in memory a few words. Where memory is scarce, a further state waits without its run, which is made again from its
//! decisions when its level comes.

use super::super::budget::ExploreBudget;
use super::expansion::FrontierState;
use super::state_table::StateIndex;
use super::states_ahead::AheadState;
use reenact_wire::prelude::*;

/// A state that is reached and not left.
pub(super) enum WaitingState<E> {
    /// Its run is at hand.
    Run(FrontierState<E>),
    /// Its run is made again from its decisions.
    Place(StateIndex, ExploreBudget),
    /// It was left ahead.
    Ahead(StateIndex, Box<AheadState>),
}

/// The states of the next level, in the order in which they were reached.
pub(super) struct WaitingStates<E> {
    states: Vec<WaitingState<E>>,
    /// How many runs are at hand, those of the level that is being left included.
    runs: usize,
    /// How many runs may be at hand.
    runs_max: usize,
}

impl<E> WaitingStates<E> {
    pub(super) fn new() -> Self {
        Self { states: Vec::new(), runs: 0, runs_max: usize::MAX }
    }

    pub(super) fn push(&mut self, state: WaitingState<E>) {
        self.states.push(match state {
            WaitingState::Run(FrontierState { index, left, .. }) if self.runs >= self.runs_max => WaitingState::Place(index, left),
            other => other,
        });
        self.runs += usize::from(matches!(self.states.last(), Some(WaitingState::Run(_))));
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// All of them. Their runs are at hand until they are [taken](Self::take_run).
    pub(super) fn take_level(&mut self) -> Vec<WaitingState<E>> {
        core::mem::take(&mut self.states)
    }

    /// A run of the level is used up.
    pub(super) fn take_run(&mut self) {
        self.runs -= 1;
    }

    /// There is not enough memory for more runs than there are.
    pub(super) fn limit_runs(&mut self) {
        self.runs_max = self.runs_max.min(self.runs);
    }
}
