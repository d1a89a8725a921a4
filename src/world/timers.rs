//! Timers that are set and have not rung.
//!
//! A timer may be set again under the same name before it has rung, and then rings twice. Each setting has a number, so that cancelling
//! takes back those that there are and not those that come.

use crate::engine::contract::TimerId;
use crate::prelude::*;

/// What is set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Timers {
    /// There are a few at most: a list is searched faster than a map.
    open: Vec<(u32, TimerId)>,
    last: u32,
}

impl Timers {
    /// Sets a timer; returns the number of this setting.
    pub(crate) fn set(&mut self, timer: TimerId) -> u32 {
        self.last += 1;
        self.open.push((self.last, timer));
        self.last
    }

    /// Takes back every setting of this name.
    pub(crate) fn cancel(&mut self, timer: TimerId) {
        self.open.retain(|(_, set)| *set != timer);
    }

    /// Whether this setting is still to ring.
    pub(crate) fn is_set(&self, serial: u32) -> bool {
        self.open.iter().any(|(set, _)| *set == serial)
    }

    /// Lets it ring.
    pub(crate) fn ring(&mut self, serial: u32) -> Option<TimerId> {
        let at = self.open.iter().position(|(set, _)| *set == serial)?;
        Some(self.open.remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_11_a_cancelled_timer_does_not_ring_and_one_that_is_set_again_does() {
        let timer = TimerId { id: 3, generation: 1 };
        let mut timers = Timers::default();
        let first = timers.set(timer);
        timers.cancel(timer);
        let second = timers.set(timer);
        assert!(!timers.is_set(first) && timers.is_set(second));
        assert_eq!((timers.ring(first), timers.ring(second), timers.ring(second)), (None, Some(timer), None));
    }
}
