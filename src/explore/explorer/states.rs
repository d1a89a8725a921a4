//! The states that an exploration has reached, and how (E-3).

use super::choice::ExploreChoice;
use super::state_table::{StateIndex, StateTable};
use reenact_engine::key::StateKey;
use reenact_wire::prelude::*;

/// The place behind a state by its next arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Successor {
    /// It was not looked at.
    Unknown,
    /// The run is over, or a finding ends it.
    End,
    State(StateIndex),
}

impl Successor {
    /// Its place, if it is a state.
    pub(super) fn place(self) -> Option<StateIndex> {
        match self {
            Self::State(place) => Some(place),
            Self::End | Self::Unknown => None,
        }
    }
}

/// A state without the run that is in it.
#[derive(Clone, Debug)]
struct ExploredState {
    /// The first way to it; `None` for the beginning.
    from: Option<(StateIndex, ExploreChoice)>,
    next: Successor,
}

/// All states.
#[derive(Clone, Debug, Default)]
pub(super) struct ExploredStates {
    states: Vec<ExploredState>,
    by_key: StateTable,
}

impl ExploredStates {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// The state with this key.
    pub(super) fn find(&self, key: StateKey) -> Option<StateIndex> {
        self.by_key.find(key)
    }

    /// Adds a state. One without a key is known to be no other one.
    pub(super) fn add(&mut self, key: Option<StateKey>, from: Option<(StateIndex, ExploreChoice)>) -> StateIndex {
        self.states.push(ExploredState { from, next: Successor::Unknown });
        self.by_key.add(key)
    }

    /// Sets what follows a state by its next arrival.
    pub(super) fn set_next(&mut self, index: StateIndex, next: Successor) {
        self.states[index as usize].next = next;
    }

    /// The decisions that led to a state.
    pub(super) fn path(&self, mut index: StateIndex) -> Vec<ExploreChoice> {
        let mut path = Vec::new();
        while let Some((before, choice)) = &self.states[index as usize].from {
            path.push(choice.clone());
            index = *before;
        }
        path.reverse();
        path
    }

    /// A state from which no end is reached, whatever time passes (O-18): the first of each circle.
    pub(super) fn circles(&self) -> Vec<StateIndex> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            Fresh,
            Open(StateIndex),
            Closed,
        }
        let mut marks = vec![Mark::Fresh; self.states.len()];
        let mut found = Vec::new();
        for start in 0..self.states.len() {
            let round = StateIndex::try_from(start).unwrap_or(StateIndex::MAX);
            let mut at = start;
            let mut way = Vec::new();
            while marks[at] == Mark::Fresh {
                marks[at] = Mark::Open(round);
                way.push(at);
                match self.states[at].next {
                    Successor::State(next) => at = next as usize,
                    Successor::End | Successor::Unknown => break,
                }
            }
            // A state of the same way is met again: a circle.
            if matches!(self.states[at].next, Successor::State(_)) && marks[at] == Mark::Open(round) {
                found.push(StateIndex::try_from(at).unwrap_or(StateIndex::MAX));
            }
            way.into_iter().for_each(|passed| marks[passed] = Mark::Closed);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(next: &[Option<StateIndex>]) -> Vec<StateIndex> {
        let mut states = ExploredStates::default();
        for _ in next {
            states.add(None, None);
        }
        for (index, next) in (0..).zip(next) {
            states.set_next(index, next.map_or(Successor::End, Successor::State));
        }
        states.circles()
    }

    #[test]
    fn o_18_a_circle_is_found_once_and_an_end_is_none() {
        assert_eq!(circles(&[Some(1), Some(2), None]), Vec::<StateIndex>::new());
        assert_eq!(circles(&[Some(1), Some(2), Some(1)]), [1]);
        assert_eq!(circles(&[Some(0)]), [0]);
        assert_eq!(circles(&[Some(2), Some(2), Some(3), Some(2), None, Some(5)]), [2, 5]);
    }
}
