//! Timers that are set and have not rung.
//!
//! A timer may be set again under the same name before it has rung, and then rings twice. Each setting has a number, so that cancelling
//! takes back those that there are and not those that come.

use core::hash::{Hash, Hasher};

use reenact_engine::contract::{Agent, TimerId};
use reenact_wire::prelude::*;

/// The timers that are set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TimerTable {
    /// There are a few at most: a list is searched faster than a map.
    open: Vec<(u32, Agent, TimerId)>,
    last: u32,
}

/// The numbers of settings are names of the table's own: no part of a state's key (E-3).
impl Hash for TimerTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.open.len().hash(state);
        self.open.iter().for_each(|(_, agent, timer)| (agent, timer).hash(state));
    }
}

impl TimerTable {
    /// Which of the open settings this is.
    pub(crate) fn place(&self, serial: u32) -> Option<usize> {
        self.open.iter().position(|(set, ..)| *set == serial)
    }

    /// The agent and the name of an open setting.
    pub(crate) fn name(&self, serial: u32) -> Option<(&Agent, TimerId)> {
        self.open.iter().find(|(set, ..)| *set == serial).map(|(_, agent, timer)| (agent, *timer))
    }

    /// Sets a timer; returns the number of this setting.
    pub(crate) fn set(&mut self, agent: &Agent, timer: TimerId) -> u32 {
        self.last += 1;
        self.open.push((self.last, agent.clone(), timer));
        self.last
    }

    /// Takes back every setting of this name.
    pub(crate) fn cancel(&mut self, agent: &Agent, timer: TimerId) {
        self.open.retain(|(_, of, set)| (of, *set) != (agent, timer));
    }

    /// Whether this setting is still to ring.
    pub(crate) fn is_set(&self, serial: u32) -> bool {
        self.open.iter().any(|(set, ..)| *set == serial)
    }

    /// Lets it ring.
    pub(crate) fn ring(&mut self, serial: u32) -> Option<(Agent, TimerId)> {
        let at = self.open.iter().position(|(set, ..)| *set == serial)?;
        let (_, agent, timer) = self.open.remove(at);
        Some((agent, timer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_11_a_cancelled_timer_does_not_ring_and_one_that_is_set_again_does() {
        let timer = TimerId { id: 3, generation: 1 };
        let mut timers = TimerTable::default();
        let first = timers.set(&Agent::ROOT, timer);
        timers.cancel(&Agent::child("toolu_1"), timer);
        assert!(timers.is_set(first), "another agent's timer of the same name");
        timers.cancel(&Agent::ROOT, timer);
        let second = timers.set(&Agent::ROOT, timer);
        assert!(!timers.is_set(first) && timers.is_set(second));
        assert_eq!((timers.ring(first), timers.ring(second), timers.ring(second)), (None, Some((Agent::ROOT, timer)), None));
    }
}
