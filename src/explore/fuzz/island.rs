//! Islands: cases that learn from their own past alone (E-4, E-6).
//!
//! ```text
//!   case 0  1  2 … 15 | 16 17 …         case n belongs to island n % 16
//!        │              └── island 0 again: it may change what case 0 showed
//!        └── island 0
//! ```
//!
//! A guided case depends on what was kept before. So that a search divided over threads or machines makes the same cases as one that is not, an island
//! learns from no other one, and an island is never divided.

use alloc::collections::BTreeMap;
use alloc::collections::BTreeSet;

use super::super::PanicGuard;
use super::super::explorer::ExploreStep;
use super::{FuzzBehaviour, FuzzCase, FuzzGround, FuzzStrategy};
use reenact_engine::contract::Engine;
use reenact_scenario::single_fault::SingleFault;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// A case that showed something new, as others are made from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCase {
    /// Its number.
    pub number: u64,
    /// The new behaviours.
    pub behaviours: BTreeSet<FuzzBehaviour>,
    pub(super) faults: Vec<SingleFault>,
    /// The steps other than the next arrival, at their places.
    pub(super) steps: BTreeMap<u64, ExploreStep>,
    /// How many steps it took.
    pub(super) arrivals: u64,
    /// The last step that showed something new for the first time.
    pub(super) new_at: u64,
}

/// One island.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzIsland {
    number: u64,
    /// How many cases it made.
    cases: u64,
    known: BTreeSet<FuzzBehaviour>,
    kept: Vec<KeptCase>,
}

impl FuzzIsland {
    /// How many there are.
    pub const COUNT: u64 = 16;

    /// An island without a case.
    pub fn new(number: u64) -> Self {
        Self { number, cases: 0, known: BTreeSet::new(), kept: Vec::new() }
    }

    /// Its number, below [`Self::COUNT`].
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How many cases it made.
    pub fn cases(&self) -> u64 {
        self.cases
    }

    /// The number of its next case, among those of all islands.
    pub fn next_number(&self) -> u64 {
        self.cases * Self::COUNT + self.number
    }

    /// The cases that showed something new, in order.
    pub fn kept(&self) -> &[KeptCase] {
        &self.kept
    }

    /// All behaviours that it showed.
    pub fn behaviours(&self) -> &BTreeSet<FuzzBehaviour> {
        &self.known
    }

    /// Makes its next case; the second value says whether the case was kept.
    pub fn advance<E: Engine>(
        &mut self,
        (ground, setup, engine): (&FuzzGround, &Arc<RunSetup>, &E),
        (strategy, seed): (FuzzStrategy, u64),
        guard: &impl PanicGuard,
    ) -> (FuzzCase, bool) {
        let case = ground.case(setup, engine, (strategy, seed, self.next_number()), &self.kept, guard);
        self.cases += 1;
        let new: BTreeMap<FuzzBehaviour, u64> = case
            .behaviours
            .iter()
            .filter(|(behaviour, _)| !self.known.contains(*behaviour))
            .map(|(behaviour, at)| (*behaviour, *at))
            .collect();
        let is_new = !new.is_empty();
        if is_new {
            self.known.extend(new.keys());
            let steps = (0..).zip(&case.path.choices).map(|(place, choice)| (place, choice.step));
            self.kept.push(KeptCase {
                number: case.number,
                faults: case.faults.clone(),
                steps: steps.filter(|(_, step)| *step != ExploreStep::Next).collect(),
                arrivals: case.path.choices.len() as u64,
                new_at: new.values().copied().max().unwrap_or_default(),
                behaviours: new.into_keys().collect(),
            });
        }
        (case, is_new)
    }

    /// Passes over cases that another search made, up to one of them: they showed nothing new.
    pub fn pass_to(&mut self, cases: u64) {
        self.cases = self.cases.max(cases);
    }
}
