//! The places of states by their keys (E-3).
//!
//! Every transition asks for one. A key is spread evenly, so its lowest bits choose a slot, and a slot that is taken sends to the next one. Slots hold numbers
//! alone, the keys are apart: a tree of the keys takes more memory, and at each level it waits for it.

use reenact_engine::key::StateKey;
use reenact_wire::prelude::*;

/// The place of a state among those that were reached.
pub(super) type StateIndex = u32;

/// Stands for the key of a state that has none. A state whose key it is would be looked at twice, and nothing else.
const KEYLESS: StateKey = StateKey(u128::MAX);

/// A slot that holds no place.
const EMPTY: StateIndex = StateIndex::MAX;

/// So many slots there are at first: a power of two.
const SLOTS_MIN: usize = 16;

/// The places of states by their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct StateTable {
    /// A place in `keys`, or [`EMPTY`]: at most half of them are taken.
    slots: Vec<StateIndex>,
    /// The key of each state, by its place.
    keys: Vec<StateKey>,
}

impl StateTable {
    /// The place of the state with this key.
    pub(super) fn find(&self, key: StateKey) -> Option<StateIndex> {
        self.slots.get(self.slot(key)).copied().filter(|place| *place != EMPTY)
    }

    /// Adds a state, whose key is new, and gives it the next place. One without a key is not found.
    pub(super) fn add(&mut self, key: Option<StateKey>) -> StateIndex {
        let place = self.keys.len();
        assert!(place < EMPTY as usize, "an exploration has fewer than 2^32 states");
        self.keys.push(key.unwrap_or(KEYLESS));
        if 2 * self.keys.len() > self.slots.len() {
            self.grow();
        } else {
            self.enter(place);
        }
        index(place)
    }

    fn grow(&mut self) {
        self.slots = vec![EMPTY; (2 * self.slots.len()).max(SLOTS_MIN)];
        (0..self.keys.len()).for_each(|place| self.enter(place));
    }

    fn enter(&mut self, place: usize) {
        let key = self.keys[place];
        if key != KEYLESS {
            let slot = self.slot(key);
            self.slots[slot] = index(place);
        }
    }

    /// The slot of this key, or the empty one that it would take; 0 in a table without slots.
    fn slot(&self, key: StateKey) -> usize {
        let mask = self.slots.len().saturating_sub(1);
        let mut slot = key.0 as usize & mask;
        while self.slots.get(slot).is_some_and(|place| *place != EMPTY && self.keys[*place as usize] != key) {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

fn index(place: usize) -> StateIndex {
    StateIndex::try_from(place).unwrap_or(EMPTY)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;

    /// Keys that fall upon one slot, keys that wrap around, and states without a key.
    #[test]
    fn e_3_a_table_finds_what_a_tree_finds() {
        let (mut table, mut tree) = (StateTable::default(), BTreeMap::new());
        assert_eq!(table.find(StateKey(7)), None);
        let mut number: u128 = 1;
        for round in 0..5000_u32 {
            number = number.wrapping_mul(0x2d99_787e_cb5f_1d2e_92a4_3f0d_7a3b_5e11).wrapping_add(7);
            let key = match round % 4 {
                0 => Some(StateKey(number)),
                1 => Some(StateKey(u128::from(round) << 64 | 15)),
                2 => Some(StateKey(u128::from(round) << 64 | u128::from(u64::MAX))),
                _ => None,
            };
            let place = table.add(key);
            assert_eq!(place, round);
            tree.extend(key.map(|key| (key, place)));
            if round % 500 == 3 {
                assert!(tree.iter().all(|(key, place)| table.find(*key) == Some(*place)), "after {round}");
            }
            assert_eq!(table.find(StateKey(number ^ 1 << 100)), None);
        }
    }
}
