//! Unattended mode: no user waits for the answer, so rate limits and overloads of any length are waited out.

use super::{FailedAttempt, backoff, overload};
use crate::settings::RetrySettings;
use crate::time::{Micros, Time};

/// The retries of a call of which there may be any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct UnattendedRetries {
    /// How many there were.
    pub(crate) made: u32,
    /// How many of them doubled the delay since it was last the first one.
    doublings: u32,
    /// When that was.
    since: Option<Time>,
}

impl UnattendedRetries {
    /// The same with one more that begins to wait now.
    pub(crate) fn after_one_more(self, now: Time, settings: &RetrySettings) -> Self {
        let doublings = self.doublings(now, settings);
        let since = if doublings == 0 { Some(now) } else { self.since };
        Self { made: self.made + 1, doublings: doublings + 1, since }
    }

    /// How often the next delay is doubled.
    fn doublings(self, now: Time, settings: &RetrySettings) -> u32 {
        match self.since {
            Some(since) if now.since(since) < settings.unattended_reset => self.doublings,
            _ => 0,
        }
    }
}

/// Whether the attempt may be repeated any number of times.
pub(super) fn has_no_limit(case: &FailedAttempt<'_>) -> bool {
    case.settings.unattended && (case.failure.status == Some(429) || overload::is_overload(case.failure))
}

/// How long to wait where the server names no time: until the rate limit is whole again, if it says when that is.
pub(super) fn delay(case: &FailedAttempt<'_>) -> Micros {
    let settings = case.settings;
    match case.failure.reset {
        Some(reset) if case.failure.status == Some(429) => reset.min(settings.unattended_reset),
        _ => {
            let doublings = case.history.polls.doublings(case.now, settings);
            backoff::computed(case, doublings, settings.unattended_max_delay).min(settings.unattended_max_delay)
        }
    }
}
