//! The waits that a client computes by itself: doubled, capped, and with jitter.

use super::FailedAttempt;
use crate::time::Micros;
use reenact_wire::prelude::*;

/// doubled each time, up to a cap, plus jitter; or as it is given (F-11).
pub(super) fn computed(case: &FailedAttempt<'_>, doublings: u32, max: Micros) -> Micros {
    if let Some(given) = case.given {
        return given;
    }
    let doubled = case.settings.base_delay.scaled(1_u64.checked_shl(doublings).unwrap_or(u64::MAX), 1).min(max);
    doubled + share(case, "retry-jitter", doubled, case.settings.jitter_percent)
}

/// A random part of a wait, at most so many percent of it.
pub(super) fn share(case: &FailedAttempt<'_>, draw: &str, of: Micros, percent: u32) -> Micros {
    let drawn = case.seed.draws(draw, &case.id.to_string()).below(u64::from(percent) * 1_000 + 1);
    of.scaled(drawn, 100_000)
}
