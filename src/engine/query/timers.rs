//! The timers of a query follow from what it waits for: each rings at the earliest time that something of its kind is up, and none is set that
//! nothing waits for (O-27).
//!
//! Tools that stop share one timer, and hooks share another. So none of them can know whether it is the last one that needs the timer: that is
//! looked at here, once after each step. Calls have timers of their own.

use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, Input, TimerId};
use crate::executor::GRACE_TIMER;
use crate::hook::HOOK_TIMER;
use crate::time::Time;

/// For when each timer is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct QueryTimers {
    pub(super) grace: Option<Time>,
    pub(super) hooks: Option<Time>,
}

impl QueryTimers {
    /// A timer that rings is not set any more; one that rings too early is an older setting of it.
    pub(super) fn hear(&mut self, now: Time, input: &Input) {
        let rung = match input {
            Input::Timer(timer) if *timer == GRACE_TIMER => &mut self.grace,
            Input::Timer(timer) if *timer == HOOK_TIMER => &mut self.hooks,
            _ => return,
        };
        *rung = rung.filter(|at| *at > now);
    }

    /// Sets and cancels what differs from what is wanted.
    pub(super) fn turn_to(&mut self, wanted: Self, effects: &mut AgentEffects) {
        set(&mut self.grace, GRACE_TIMER, wanted.grace, effects);
        set(&mut self.hooks, HOOK_TIMER, wanted.hooks, effects);
    }
}

fn set(is: &mut Option<Time>, timer: TimerId, wanted: Option<Time>, effects: &mut AgentEffects) {
    if *is == wanted {
        return;
    }
    if is.is_some() {
        effects.push(Effect::CancelTimer { timer });
    }
    if let Some(at) = wanted {
        effects.push(Effect::SetTimer { timer, at });
    }
    *is = wanted;
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::prelude::*;

    #[test]
    fn o_27_a_timer_is_set_for_what_is_wanted_and_cancelled_when_nothing_is() {
        let at = |seconds| Some(Time(seconds));
        let mut timers = QueryTimers::default();
        let mut turn = |wanted, input: Option<(u64, TimerId)>| {
            let mut effects = AgentEffects::default();
            if let Some((now, timer)) = input {
                timers.hear(Time(now), &Input::Timer(timer));
            }
            timers.turn_to(QueryTimers { grace: wanted, hooks: None }, &mut effects);
            effects.drain().map(|(_, effect)| effect).collect::<Vec<_>>()
        };
        let (set, cancel) = (|at| Effect::SetTimer { timer: GRACE_TIMER, at: Time(at) }, Effect::CancelTimer { timer: GRACE_TIMER });
        assert_eq!(turn(None, None), []);
        assert_eq!(turn(at(5), None), [set(5)]);
        assert_eq!(turn(at(5), Some((3, GRACE_TIMER))), [], "it rang too early");
        assert_eq!(turn(at(5), Some((5, HOOK_TIMER))), [], "another one rang");
        assert_eq!(turn(at(4), None), [cancel.clone(), set(4)]);
        assert_eq!(turn(at(7), Some((4, GRACE_TIMER))), [set(7)], "what has rung is not cancelled");
        assert_eq!(turn(None, None), [cancel]);
    }
}
