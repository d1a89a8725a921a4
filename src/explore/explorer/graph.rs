//! The states and decisions of a whole exploration: what a certificate is made of (E-3c).

use core::ops::Range;

use super::choice::ExploreChoice;
use super::path::ExploredPath;
use super::state_table::StateIndex;
use super::states::Successor;
use reenact_engine::key::StateKey;
use reenact_wire::prelude::*;

/// All states that were reached, in the order in which that happened, with all decisions at each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExploredGraph {
    /// The keys.
    pub keys: Vec<StateKey>,
    /// The parent of each, and the number of the decision that leads from it.
    pub parents: Vec<Option<(u64, u32)>>,
    /// The last decision on the way to each.
    choices: Vec<Option<ExploreChoice>>,
    decisions: Vec<GraphDecision>,
    /// Where the decisions of each state are.
    places: Vec<Range<usize>>,
}

/// A decision: a hash of it and of its effects, and the place that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GraphDecision {
    hash: u64,
    to: Option<StateIndex>,
}

impl ExploredGraph {
    pub(super) fn add_state(&mut self, key: StateKey, from: Option<&(StateIndex, ExploreChoice, u32)>) {
        self.keys.push(key);
        self.parents.push(from.map(|(place, _, event)| ((*place).into(), *event)));
        self.choices.push(from.map(|(_, choice, _)| choice.clone()));
        self.places.push(0..0);
    }

    /// The decisions that lead to a state.
    pub fn path(&self, mut place: usize) -> ExploredPath {
        let mut choices = Vec::new();
        while let (Some(Some((parent, _))), Some(Some(choice))) = (self.parents.get(place), self.choices.get(place)) {
            choices.push(choice.clone());
            place = usize::try_from(*parent).unwrap_or(usize::MAX);
        }
        choices.reverse();
        ExploredPath { choices }
    }

    /// Adds the decisions at a state: a hash of each, and the place that it leads to.
    pub(super) fn add_decisions(&mut self, state: StateIndex, decisions: &[(u64, Successor)]) {
        let start = self.decisions.len();
        self.decisions.extend(decisions.iter().map(|(hash, to)| GraphDecision { hash: *hash, to: to.place() }));
        self.places[state as usize] = start..self.decisions.len();
    }

    /// The decisions at a state: a hash of each, and the place that it leads to; `None` is an end.
    pub fn transitions(&self, place: usize) -> impl Iterator<Item = (u64, Option<u64>)> + '_ {
        let decisions = self.places.get(place).and_then(|range| self.decisions.get(range.clone())).unwrap_or_default();
        decisions.iter().map(|decision| (decision.hash, decision.to.map(u64::from)))
    }

    /// How many decisions there are.
    pub fn transition_count(&self) -> u64 {
        self.decisions.len() as u64
    }
}
