//! When a rate limit is whole again, by the headers that tell of it (N-5).
//!
//! Dates are compared with the answer's own `date`: a client's clock has no part in it.

use super::date::{http_date_epoch_s, rfc3339_epoch_us};
use super::http::{HttpHeader, find};
use crate::prelude::*;

/// How long until every limit that has nothing left is whole again, in microseconds; `None` when the headers do not say, or it is already.
///
/// `anthropic-ratelimit-<limit>-reset` is an RFC 3339 date, or seconds since 1970. A limit with a remainder stops no request.
pub fn reset_us(headers: &[HttpHeader]) -> Option<u64> {
    let date_us = http_date_epoch_s(find(headers, "date")?)?.checked_mul(1_000_000)?;
    let resets = headers.iter().filter_map(|header| {
        let name = header.name.to_ascii_lowercase();
        let limit = name.strip_prefix("anthropic-ratelimit-")?.strip_suffix("-reset")?;
        let remaining = find(headers, &format!("anthropic-ratelimit-{limit}-remaining"));
        let has_some_left = remaining.and_then(|value| value.trim().parse::<u64>().ok()).is_some_and(|left| left > 0);
        if has_some_left {
            return None;
        }
        epoch_us(header.value.trim())
    });
    let wait = resets.max()?.checked_sub(date_us)?;
    u64::try_from(wait).ok().filter(|us| *us > 0)
}

fn epoch_us(text: &str) -> Option<i64> {
    rfc3339_epoch_us(text).or_else(|| text.parse::<i64>().ok()?.checked_mul(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reset_s(headers: &[(&str, &str)]) -> Option<u64> {
        let mut all = vec![HttpHeader::new("date", "Thu, 01 Jan 2026 00:00:00 GMT")];
        all.extend(headers.iter().map(|(name, value)| HttpHeader::new(name, value)));
        reset_us(&all).map(|us| us / 1_000_000)
    }

    #[test]
    fn r_10_the_latest_reset_of_a_limit_that_has_nothing_left_counts() {
        let minute = ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T00:01:00Z");
        let hour = ("anthropic-ratelimit-requests-reset", "2026-01-01T01:00:00Z");
        assert_eq!(reset_s(&[minute]), Some(60));
        assert_eq!(reset_s(&[minute, hour]), Some(3_600));
        assert_eq!(reset_s(&[minute, hour, ("anthropic-ratelimit-requests-remaining", "9")]), Some(60));
        assert_eq!(reset_s(&[minute, hour, ("anthropic-ratelimit-requests-remaining", "0")]), Some(3_600));
        assert_eq!(reset_s(&[("Anthropic-Ratelimit-Unified-Reset", "1767225630")]), Some(30), "seconds since 1970");
    }

    #[test]
    fn r_10_what_is_over_or_cannot_be_read_says_nothing() {
        assert_eq!(reset_s(&[]), None);
        assert_eq!(reset_s(&[("anthropic-ratelimit-requests-reset", "2025-12-31T23:59:00Z")]), None);
        assert_eq!(reset_s(&[("anthropic-ratelimit-requests-reset", "soon")]), None);
        assert_eq!(
            reset_us(&[HttpHeader::new("anthropic-ratelimit-requests-reset", "2026-01-01T01:00:00Z")]),
            None,
            "no date to compare with"
        );
    }
}
