//! How long to wait before the next attempt, if there is to be one.

use super::backoff::{computed, share};
use super::{FailedAttempt, RetryDecision, unattended_mode};
use crate::time::Micros;
use reenact_wire::prelude::*;

/// Another attempt after a wait, unless there were enough of them or the wait is too long.
pub(super) fn repeat(case: &FailedAttempt<'_>) -> RetryDecision {
    let FailedAttempt { failure, history, settings, .. } = case;
    let counted = !unattended_mode::has_no_limit(case);
    if counted && history.counted() >= settings.max_retries {
        return RetryDecision::GiveUp(None);
    }
    let new_client = matches!(&*failure.kind, "connection_reset" | "broken_pipe");
    let after = |delay| RetryDecision::After { delay, new_client, counted };
    if let Some(reason) = too_long(case) {
        return RetryDecision::GiveUp(Some(reason));
    }
    match failure.retry_after {
        Some(asked) => after(jittered(case, asked)),
        None if counted => after(computed(case, history.retries, settings.max_delay)),
        None => after(unattended_mode::delay(case)),
    }
}

/// why the wait that the server asks for is not made, if it is too long a one.
pub(super) fn too_long(case: &FailedAttempt<'_>) -> Option<String> {
    let most = case.settings.max_retry_after;
    case.failure
        .retry_after
        .filter(|asked| *asked > most)
        .map(|asked| format!("the server asks for a wait of {asked}, the limit is {most}"))
}

/// at least as long as the server asks, and a little longer where the settings say so.
fn jittered(case: &FailedAttempt<'_>, asked: Micros) -> Micros {
    match case.settings.retry_after_jitter_percent {
        0 => asked,
        percent => case.given.filter(|given| *given >= asked).unwrap_or_else(|| asked + share(case, "retry-after-jitter", asked, percent)),
    }
}
