//! States that were left ahead of their level (E-3).
//!
//! Most states have no budget left, and one thing follows them: the next arrival. Such states are left one after the other as soon as the first of them is
//! reached. Then the run is in the processor's caches, and needs no memory afterwards.
//!
//! ```text
//!   level 7   ●──cancel──▶ 8 ──▶ 9 ──▶ … ──▶ end        carried out at once
//!                          a     b     c                 and kept by key, until their levels come
//! ```
//!
//! The exploration goes level by level all the same. When it reaches a state, it finds by its key what follows. So how far some part of it went ahead
//! changes no result.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;

use super::super::fingerprint::Fingerprint;
use super::states::ExploredStates;
use reenact_engine::key::StateKey;
use reenact_engine::time::Time;
use reenact_oracle::{QuestionCounts, Violation, repeated_requests};
use reenact_wire::prelude::*;

/// So many states are left at once, one after the other.
pub(super) const AHEAD_MAX: usize = 64;

/// The next arrival at a state without budget.
pub(super) struct AheadState {
    /// Of the arrival and its effects, where these are wanted.
    pub(super) hash: u64,
    /// How often each oracle was asked because of it.
    pub(super) asked: QuestionCounts,
    pub(super) outcome: AheadOutcome,
}

/// Where such an arrival leads.
#[derive(PartialEq)]
pub(super) enum AheadOutcome {
    /// To a state that was reached or left before, or whose run waits.
    State(StateKey),
    /// To a state without a key: its run waits by the key of the state that was left, which is this.
    Keyless(StateKey),
    /// To a good end.
    End,
    /// To the violation of a rule.
    Finding(Vec<Violation>),
}

/// Two runs in states with one key that do not go on alike (O-16). The time is told by the run that is made again.
pub fn key_violation() -> Violation {
    let text = "two runs in states with one key do not go on alike: the engine's key leaves out something that changes what it does";
    Violation { at: Time::ZERO, oracle: repeated_requests::ORACLE, text: text.into() }
}

impl AheadOutcome {
    /// Violations of the same rules may have other times and figures.
    fn is_alike(&self, other: &Self) -> bool {
        let fingerprints = |outcome: &Self| outcome.violations().iter().map(Fingerprint::from).collect::<Vec<_>>();
        self == other || !self.violations().is_empty() && fingerprints(self) == fingerprints(other)
    }

    fn violations(&self) -> &[Violation] {
        if let Self::Finding(violations) = self { violations } else { &[] }
    }
}

/// The states that were left and whose level has not come, by their keys. A tree moves its entries often, so they are small.
#[derive(Default)]
pub(super) struct StatesAhead {
    by_key: BTreeMap<StateKey, Box<AheadState>>,
}

impl StatesAhead {
    pub(super) fn has(&self, key: StateKey) -> bool {
        self.by_key.contains_key(&key)
    }

    /// Another part of the exploration may have left the same state. If something else followed it there, the key lacks what makes the difference.
    pub(super) fn add(&mut self, key: StateKey, state: Box<AheadState>) {
        match self.by_key.entry(key) {
            Entry::Vacant(place) => {
                place.insert(state);
            }
            Entry::Occupied(mut known) => {
                let (one, other) = (&known.get().outcome, &state.outcome);
                if !one.is_alike(other) && !one.violations().contains(&key_violation()) {
                    let violations = [&[key_violation()], one.violations(), other.violations()].concat();
                    known.get_mut().outcome = AheadOutcome::Finding(violations);
                }
            }
        }
    }

    pub(super) fn add_all(&mut self, others: Self) {
        others.by_key.into_iter().for_each(|(key, state)| self.add(key, state));
    }

    pub(super) fn take(&mut self, key: StateKey) -> Option<Box<AheadState>> {
        self.by_key.remove(&key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

/// The states that a piece of work knows: those of all pieces before, and its own.
pub(super) struct KnownStates<'a> {
    pub(super) reached: &'a ExploredStates,
    pub(super) ahead: &'a StatesAhead,
    pub(super) own: StatesAhead,
}

impl KnownStates<'_> {
    pub(super) fn has(&self, key: StateKey) -> bool {
        self.own.has(key) || self.reached.find(key).is_some() || self.ahead.has(key)
    }
}
