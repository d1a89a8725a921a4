//! An API that says that it is overloaded: how often it did, and what follows when it was too often.

use super::{Case, Decision, Failure, Urgency};
use crate::engine::settings::OnOverload;
use crate::prelude::*;

/// Whether the API says that it is overloaded: by its status, by the body, or by an event of the stream.
pub(crate) fn is_overload(failure: &Failure) -> bool {
    failure.status == Some(529) || &*failure.kind == "overloaded_error"
}

/// How many answers in a row said so: any other answer begins anew. An attempt that brought no answer says nothing about it.
pub(crate) fn counted(before: u32, failure: &Failure, was_answered: bool) -> u32 {
    match is_overload(failure) {
        true => before.saturating_add(1),
        false if was_answered => 0,
        false => before,
    }
}

/// What to do about an overload, where waiting is not enough; `None` to wait as for anything else.
pub(super) fn decide(case: &Case<'_>) -> Option<Decision> {
    let Case { call, history, settings, .. } = case;
    if call.urgency == Urgency::Background {
        return Some(Decision::GiveUp(Some(String::from("background work does not ask an overloaded API again"))));
    }
    if history.overloads < settings.overloads_to_fallback.max(1) {
        return None;
    }
    if call.has_fallback {
        return Some(Decision::Fallback);
    }
    let gives_up = !settings.unattended && settings.on_overload == OnOverload::GiveUp;
    gives_up.then(|| Decision::GiveUp(Some(format!("the service is overloaded: {} answers in a row said so", history.overloads))))
}
