//! An API that says that it is overloaded: how often it did, and what follows when it was too often.

use super::{AttemptFailure, CallUrgency, FailedAttempt, RetryDecision};
use crate::settings::OverloadPolicy;
use reenact_wire::prelude::*;

/// Whether the API says that it is overloaded: by its status, by the body, or by an event of the stream.
pub(crate) fn is_overload(failure: &AttemptFailure) -> bool {
    failure.status == Some(529) || &*failure.kind == "overloaded_error"
}

/// How many overload errors in a row: any other answer begins anew. An attempt that brought no answer says nothing about it.
pub(crate) fn counted(before: u32, failure: &AttemptFailure, was_answered: bool) -> u32 {
    match is_overload(failure) {
        true => before.saturating_add(1),
        false if was_answered => 0,
        false => before,
    }
}

/// The decision about an overload, where waiting is not enough; `None` to wait as for anything else.
pub(super) fn decide(case: &FailedAttempt<'_>) -> Option<RetryDecision> {
    let FailedAttempt { call, history, settings, .. } = case;
    if call.urgency == CallUrgency::Background {
        return Some(RetryDecision::GiveUp(Some(String::from("background work is not retried when the API is overloaded"))));
    }
    if history.overloads < settings.overloads_to_fallback.max(1) {
        return None;
    }
    if call.has_fallback {
        return Some(RetryDecision::Fallback);
    }
    let gives_up = !settings.unattended && settings.on_overload == OverloadPolicy::GiveUp;
    gives_up.then(|| RetryDecision::GiveUp(Some(format!("the service is overloaded: {} overload errors in a row", history.overloads))))
}
