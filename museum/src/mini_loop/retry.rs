//! The step after a failed attempt: a pure function from the error and the counts so far.

use std::sync::Arc;

use reenact::engine::contract::{Micros, Settings};
use reenact::wire::error::{ApiError, ErrorKind};

/// The failures of one call so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct FailureCounts {
    /// How many retries were made of the present model.
    pub retries: u32,
    /// How many answers in a row said that the API is overloaded, the last one included.
    pub overloads: u32,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Hash, Eq)]
pub enum RetryDecision {
    /// The same request once more, after this time.
    Wait(Micros),
    /// Another model takes over for the rest of the prompt.
    Fallback(Arc<str>),
    /// The conversation is too long for the model: it has to become shorter.
    Shorten,
    /// The conversation has thinking that another model signed: it has to go.
    StripThinking,
    /// Nothing that is done here would help.
    GiveUp,
}

/// Decides. `fallback` is the model that may take over.
pub fn decide(error: &ApiError, counts: FailureCounts, fallback: Option<&Arc<str>>, settings: &Settings) -> RetryDecision {
    let retry = &settings.retry;
    let is_overloaded = error.kind == ErrorKind::Overloaded;
    match error.kind {
        _ if error.status == Some(413) || error.is_context_overflow() => RetryDecision::Shorten,
        ErrorKind::InvalidRequest if error.message.contains("signature") => RetryDecision::StripThinking,
        ErrorKind::RateLimit | ErrorKind::Timeout | ErrorKind::Api | ErrorKind::Overloaded | ErrorKind::Other(_) => {
            match fallback.filter(|_| is_overloaded && counts.overloads >= retry.overloads_to_fallback) {
                Some(model) => RetryDecision::Fallback(model.clone()),
                None if counts.retries >= retry.max_retries => RetryDecision::GiveUp,
                None => {
                    let computed = retry.base_delay.scaled(1 << counts.retries.min(20), 1).min(retry.max_delay);
                    RetryDecision::Wait(error.delay_us().map_or(computed, Micros))
                }
            }
        }
        _ => RetryDecision::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_has_its_decision() {
        let settings = Settings::default();
        let (first, third) = (FailureCounts::default(), FailureCounts { retries: 2, overloads: 3 });
        let last = FailureCounts { retries: settings.retry.max_retries, overloads: 0 };
        let other: Arc<str> = "claude-haiku-4-5".into();
        let of = |status, body: &str| ApiError::read(status, &[], body.as_bytes());
        let table = [
            (of(529, ""), first, RetryDecision::Wait(Micros::from_millis(500))),
            (of(529, ""), third, RetryDecision::Fallback(other.clone())),
            (of(500, ""), third, RetryDecision::Wait(Micros::from_secs(2))),
            (of(500, ""), last, RetryDecision::GiveUp),
            (of(400, ""), first, RetryDecision::GiveUp),
            (of(401, ""), first, RetryDecision::GiveUp),
            (of(413, ""), first, RetryDecision::Shorten),
            (of(400, "prompt is too long: 9 tokens > 8 maximum"), first, RetryDecision::Shorten),
            (of(400, "Invalid `signature` in `thinking` block"), first, RetryDecision::StripThinking),
            (ApiError::in_stream("overloaded_error", ""), first, RetryDecision::Wait(Micros::from_millis(500))),
            (ApiError::in_stream("broken_stream", ""), first, RetryDecision::Wait(Micros::from_millis(500))),
        ];
        for (error, counts, expected) in table {
            assert_eq!(decide(&error, counts, Some(&other), &settings), expected, "{error:?}");
        }
    }
}
