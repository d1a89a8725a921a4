//! Timers at one instant (O-19).

use super::*;
use crate::livelock::TIMERS_MAX;
use reenact_engine::contract::TimerId;

/// The same inputs again and again, `step` apart.
fn rings(count: u32, step: Micros, between: Option<Input>) -> usize {
    let mut oracles = Oracles::new(&environment(|_| ()));
    let mut at = Time::ZERO;
    for _ in 0..count {
        oracles.input(at, &Agent::ROOT, &Input::Timer(TimerId { id: 5, generation: 1 }));
        between.iter().for_each(|input| oracles.input(at, &Agent::ROOT, input));
        at = at + step;
    }
    oracles.violations().iter().filter(|violation| violation.oracle == "O-19").count()
}

#[test]
fn o_19_timers_do_not_ring_at_one_instant_without_end() {
    assert_eq!(rings(TIMERS_MAX, Micros::ZERO, None), 0);
    assert_eq!(rings(TIMERS_MAX + 1, Micros::ZERO, None), 1);
    assert_eq!(rings(3 * TIMERS_MAX, Micros::ZERO, None), 1, "once is enough");
    assert_eq!(rings(3 * TIMERS_MAX, Micros(1), None), 0, "time goes on");
    assert_eq!(rings(3 * TIMERS_MAX, Micros::ZERO, Some(Input::Cancel)), 0, "something else happens");
}
