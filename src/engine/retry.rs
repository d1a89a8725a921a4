//! What to do about a failed attempt: a pure function from error, attempt and settings to a decision.
//!
//! Jitter is keyed by seed and attempt, so that it depends on no other draw. Overflow, fast mode, unattended mode and the fallback
//! to another model are not here yet.

use serde::{Deserialize, Serialize};

use super::contract::RequestId;
use super::random::Seed;
use super::settings::RetrySettings;
use super::time::Micros;
use crate::prelude::*;
use crate::wire::error::{ApiError, ContextFigures, ErrorKind};

/// Why an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// `error.type` of the API, or a short name of our own for what never reached it (`connection_reset`, `incomplete_stream`, …).
    pub kind: Arc<str>,
    /// What the API or the connection said.
    pub message: Arc<str>,
    /// What the server asks the client to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Micros>,
    /// Whether the API says that the prompt is too long.
    #[serde(default)]
    pub too_long: bool,
    /// What the server says about repeating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_retry: Option<bool>,
}

impl Failure {
    /// A failure that carries no API error.
    pub(crate) fn of(kind: &str, message: &str) -> Self {
        Self { kind: kind.into(), message: message.into(), ..Self::default() }
    }

    /// Whether it is about too long a prompt or too large media, which is not an attempt's matter.
    pub(crate) fn too_much(&self) -> Option<Decision> {
        match self.status {
            Some(400 | 413) if names_large_media(&self.message) => Some(Decision::Media),
            Some(413) => Some(Decision::TooLong),
            Some(400) if self.too_long => Some(Decision::TooLong),
            _ => None,
        }
    }

    /// One line for people: `529 overloaded_error: Overloaded`.
    pub fn summary(&self) -> String {
        let status = self.status.map(|status| format!("{status} ")).unwrap_or_default();
        let message = if self.message.is_empty() { String::new() } else { format!(": {}", self.message) };
        format!("{status}{}{message}", self.kind)
    }
}

impl From<&ApiError> for Failure {
    fn from(error: &ApiError) -> Self {
        Self {
            status: error.status,
            kind: error.kind.as_str().into(),
            message: error.message.clone(),
            too_long: matches!(error.context, Some(ContextFigures::PromptTooLong { .. }))
                || error.message.to_lowercase().contains("prompt is too long"),
            retry_after: error.delay_us().map(Micros),
            should_retry: error.should_retry,
        }
    }
}

/// What kind of call it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// Whether the answer was asked for as a stream.
    pub(crate) streamed: bool,
    /// Whether it is background work, which must not add to an overload.
    pub(crate) background: bool,
}

/// What happened to this call before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// How many retries were made.
    pub(crate) retries: u32,
    /// Whether the last attempt failed for want of good credentials.
    pub(crate) just_refreshed: bool,
    /// Whether credentials were renewed by force in this call.
    pub(crate) forced_refresh: bool,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The call is lost; the reason, where it is not plain from the failure.
    GiveUp(Option<String>),
    /// The prompt is too long: not an attempt's matter.
    TooLong,
    /// An image or a document is too large: not an attempt's matter.
    Media,
    /// Try again after a wait.
    After {
        /// How long.
        delay: Micros,
        /// Whether the connection is not to be used again.
        new_client: bool,
    },
    /// Renew the credentials, then try again at once with a new client.
    RefreshAuth {
        /// Whether the old ones are known to be revoked.
        forced: bool,
    },
    /// Try again at once, asking for a whole answer.
    WithoutStreaming,
}

/// The decision for one failed attempt: the table of.
pub(crate) fn decide(failure: &Failure, id: RequestId, call: Call, history: History, settings: &RetrySettings, seed: Seed) -> Decision {
    if let Some(too_much) = failure.too_much() {
        return too_much; // whatever `x-should-retry` says
    }
    let repeat = || match delay(failure, id, history.retries, settings, seed) {
        _ if history.retries >= settings.max_retries => Decision::GiveUp(None),
        Ok(delay) => Decision::After { delay, new_client: matches!(&*failure.kind, "connection_reset" | "broken_pipe") },
        Err(too_late) => Decision::GiveUp(Some(too_late)),
    };
    match failure.should_retry {
        Some(true) => return repeat(),
        Some(false) => return Decision::GiveUp(None),
        None => (),
    }
    match (failure.status, &*failure.kind) {
        (Some(401), _) if history.just_refreshed => Decision::GiveUp(Some(String::from("new credentials did not help"))),
        (Some(401), _) => Decision::RefreshAuth { forced: false },
        (Some(403), _) if failure.message.contains("revoked") && !history.forced_refresh => Decision::RefreshAuth { forced: true },
        (Some(404), _) if call.streamed => Decision::WithoutStreaming,
        (Some(529), _) | (None, "overloaded_error") if call.background => {
            Decision::GiveUp(Some(String::from("background work does not ask an overloaded API again")))
        }
        (Some(408 | 409 | 429 | 500..), _) => repeat(),
        (Some(_), _) => Decision::GiveUp(None),
        // A stream that broke before any content is an attempt like any other, and so is what never reached the API.
        (None, kind) if is_transient(kind) => repeat(),
        (None, _) => Decision::GiveUp(None),
    }
}

/// Whether a message is about the size of an image or a document: both the thing and its size, as whole words.
fn names_large_media(message: &str) -> bool {
    let lower = message.to_lowercase();
    let has = |known: &[&str]| lower.split(|c: char| !c.is_alphanumeric()).any(|word| known.contains(&word));
    has(&["image", "images", "document", "documents", "pdf"])
        && has(&["exceed", "exceeds", "exceeded", "size", "large", "maximum", "resize", "dimensions"])
}

fn is_transient(kind: &str) -> bool {
    let connection = [
        "connection_refused",
        "dns",
        "tls",
        "connect_timeout",
        "connection_reset",
        "broken_pipe",
        "no_answer",
        "timeout",
        "empty_answer",
        "incomplete_stream",
        "unreadable_stream",
        "unreadable_answer",
    ];
    // An error event in the stream has no status: its kind says what it would have been.
    connection.contains(&kind) || matches!(ErrorKind::of_type(kind), ErrorKind::Overloaded | ErrorKind::Api | ErrorKind::RateLimit)
}

/// the server's word is never undercut; without one the delay doubles, up to a cap, plus jitter.
fn delay(failure: &Failure, id: RequestId, retries: u32, settings: &RetrySettings, seed: Seed) -> Result<Micros, String> {
    if let Some(asked) = failure.retry_after {
        if asked > settings.max_retry_after {
            return Err(format!("the server asks to wait {asked}, more than {}", settings.max_retry_after));
        }
        return Ok(asked);
    }
    let doubled = settings.base_delay.scaled(1_u64.checked_shl(retries).unwrap_or(u64::MAX), 1).min(settings.max_delay);
    let jitter = seed.draws("retry-jitter", &id.to_string()).below(u64::from(settings.jitter_percent) * 1_000 + 1);
    Ok(doubled + doubled.scaled(jitter, 100_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: Option<u16>, kind: &str, message: &str) -> Failure {
        Failure { status, ..Failure::of(kind, message) }
    }

    fn of(failure: &Failure, history: History) -> Decision {
        decide(failure, RequestId::first(1), Call::default(), history, &RetrySettings::default(), Seed(1))
    }

    fn of_call(failure: &Failure, call: Call) -> Decision {
        decide(failure, RequestId::first(1), call, History::default(), &RetrySettings::default(), Seed(1))
    }

    fn retried(decision: &Decision) -> bool {
        matches!(decision, Decision::After { .. })
    }

    #[test]
    fn r_3_the_table() {
        let streamed = Call { streamed: true, ..Call::default() };
        for kind in ["connection_refused", "dns", "tls", "connect_timeout", "connection_reset", "broken_pipe", "overloaded_error"] {
            assert!(retried(&of_call(&failure(None, kind, ""), streamed)), "{kind}");
        }
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert!(retried(&of_call(&failure(Some(status), "x", ""), streamed)), "{status}");
        }
        for status in [400, 402, 403, 405, 422] {
            assert_eq!(of_call(&failure(Some(status), "x", "no"), streamed), Decision::GiveUp(None), "{status}");
        }
        assert_eq!(of_call(&failure(Some(401), "x", ""), streamed), Decision::RefreshAuth { forced: false });
        assert_eq!(of_call(&failure(Some(403), "x", "OAuth token has been revoked"), streamed), Decision::RefreshAuth { forced: true });
        assert_eq!(of_call(&failure(Some(404), "x", ""), streamed), Decision::WithoutStreaming);
        assert_eq!(of(&failure(Some(404), "x", ""), History::default()), Decision::GiveUp(None));
        assert_eq!(of_call(&failure(None, "invalid_request_error", ""), streamed), Decision::GiveUp(None), "an error event of that kind");
    }

    #[test]
    fn r_3_background_work_does_not_add_to_an_overload() {
        let background = Call { background: true, streamed: true };
        for failure in [failure(Some(529), "overloaded_error", ""), failure(None, "overloaded_error", "")] {
            assert!(matches!(of_call(&failure, background), Decision::GiveUp(Some(_))), "{failure:?}");
        }
        assert!(retried(&of_call(&failure(Some(500), "api_error", ""), background)), "other errors are tried again");
    }

    #[test]
    fn r_3_the_server_s_word_decides_before_the_table_but_not_about_length() {
        let word = |status, word| Failure { should_retry: Some(word), ..failure(Some(status), "x", "") };
        assert!(retried(&of(&word(400, true), History::default())));
        assert_eq!(of(&word(529, false), History::default()), Decision::GiveUp(None));
        let too_long = Failure { should_retry: Some(true), too_long: true, ..failure(Some(400), "x", "prompt is too long") };
        assert_eq!(of(&too_long, History::default()), Decision::TooLong);
    }

    #[test]
    fn r_6_too_long_and_too_large_go_up() {
        let image = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum";
        assert_eq!(of(&failure(Some(413), "request_too_large", "Request exceeds the maximum size"), History::default()), Decision::TooLong);
        assert_eq!(of(&failure(Some(400), "x", image), History::default()), Decision::Media);
        let other = "max_tokens: must be positive, maximum 5. See our documentation.";
        assert_eq!(of(&failure(Some(400), "x", other), History::default()), Decision::GiveUp(None), "documentation is no document");
    }

    #[test]
    fn r_1_delays_double_up_to_the_cap_and_jitter_adds_at_most_a_quarter() {
        let at = |retries| match of(&failure(Some(529), "x", ""), History { retries, ..History::default() }) {
            Decision::After { delay, .. } => delay.0,
            other => panic!("{other:?}"),
        };
        for (retries, base) in [(0, 500_000), (1, 1_000_000), (5, 16_000_000), (6, 32_000_000), (9, 32_000_000)] {
            assert!((base..=base * 5 / 4).contains(&at(retries)), "{retries}: {}", at(retries));
        }
        let last = History { retries: 10, ..History::default() };
        assert_eq!(of(&failure(Some(529), "x", ""), last), Decision::GiveUp(None), "ten retries are enough");
    }

    #[test]
    fn r_1_jitter_is_keyed_by_the_attempt() {
        let of = |attempt, seed| {
            let id = RequestId { attempt, ..RequestId::first(1) };
            decide(&failure(Some(529), "x", ""), id, Call::default(), History::default(), &RetrySettings::default(), Seed(seed))
        };
        assert_eq!(of(1, 1), of(1, 1));
        assert_ne!(of(1, 1), of(2, 1));
        assert_ne!(of(1, 1), of(1, 2));
    }

    #[test]
    fn r_2_retry_after_wins_over_the_computed_delay_and_its_cap() {
        let asked = |seconds| Failure { retry_after: Some(Micros::from_secs(seconds)), ..failure(Some(429), "x", "") };
        let after = |delay| Decision::After { delay: Micros::from_secs(delay), new_client: false };
        assert_eq!(of(&asked(75), History::default()), after(75));
        assert_eq!(of(&asked(1), History { retries: 9, ..History::default() }), after(1));
        assert_eq!(of(&asked(6 * 3_600), History::default()), after(6 * 3_600));
        let Decision::GiveUp(Some(reason)) = of(&asked(6 * 3_600 + 1), History::default()) else { panic!("over six hours") };
        assert!(reason.contains("21601"), "it names the time: {reason}");
    }

    #[test]
    fn r_5_auth_is_renewed_once_in_a_row_and_by_force_once() {
        let again = History { just_refreshed: true, ..History::default() };
        assert!(matches!(of(&failure(Some(401), "x", ""), again), Decision::GiveUp(Some(_))));
        let forced = History { forced_refresh: true, ..History::default() };
        assert_eq!(of(&failure(Some(403), "x", "revoked"), forced), Decision::GiveUp(None));
    }

    #[test]
    fn a_cut_connection_is_not_used_again() {
        let client = |kind| match of(&failure(None, kind, ""), History::default()) {
            Decision::After { new_client, .. } => new_client,
            other => panic!("{other:?}"),
        };
        assert!(client("connection_reset") && client("broken_pipe"));
        assert!(!client("connect_timeout"));
    }
}
