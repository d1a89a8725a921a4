//! Fast mode: whether an attempt that asked for a fast answer is made again at standard speed.

use super::{FailedAttempt, RetryDecision, overload};

/// The decision of fast mode about a failed attempt; `None` leaves it to the rest of the policy.
pub(super) fn decide(case: &FailedAttempt<'_>) -> Option<RetryDecision> {
    let FailedAttempt { failure, settings, .. } = case;
    if !case.call.fast {
        return None;
    }
    if is_refused(&failure.message) {
        return Some(RetryDecision::StandardSpeed { cooldown: None });
    }
    if failure.status != Some(429) && !overload::is_overload(failure) {
        return None;
    }
    match failure.retry_after {
        // A short wait keeps the prompt cache, which other speeds do not share.
        Some(asked) if asked < settings.fast_wait_max => None,
        asked => {
            let named = asked.unwrap_or(settings.fast_cooldown);
            Some(RetryDecision::StandardSpeed { cooldown: Some(named.max(settings.fast_cooldown_min)) })
        }
    }
}

/// Whether the API says that this account gets no fast answers. Its words are not stable, so they are read leniently.
fn is_refused(message: &str) -> bool {
    let said = message.to_lowercase();
    let is_off = ["not available", "unavailable", "not enabled", "disabled"].iter().any(|word| said.contains(word));
    is_off && (said.contains("overage") || said.contains("fast mode"))
}
