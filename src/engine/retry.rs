//! The retry policy: a pure function from error, attempt and settings to a decision (R-1 to R-11).
//!
//! ```text
//!   too much for the API? ──> overflow ──> the server's word ──> fast mode ──> the table ──> delay, or no limit
//! ```
//!
//! The order is that of `decide`: the first that has something to say decides. Jitter is keyed by seed and attempt, so that it
//! depends on no other draw.

use serde::{Deserialize, Serialize};

use super::contract::RequestId;
use super::random::Seed;
use super::settings::{CloudProvider, RetrySettings, Settings, UnauthorizedPolicy};
use super::time::{Micros, Time};
use broken_stream::{StreamBreak, StreamProgress};
use reenact_wire::error::{ApiError, ContextFigures, ErrorKind};
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;
use reenact_wire::rate_limit::reset_us;

mod backoff;
pub(crate) mod broken_stream;
mod cloud;
mod delay;
mod fast;
pub(crate) mod overload;
pub(crate) mod token_overflow;
pub(crate) mod unattended_mode;

#[cfg(test)]
mod tests;

/// Why an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptFailure {
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// `error.type` of the API, or a short name of our own for what never reached it (`connection_reset`, `incomplete_stream`, …).
    pub kind: Arc<str>,
    /// The message of the API or of the connection.
    pub message: Arc<str>,
    /// The wait that the server asks for (R-2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Micros>,
    /// Whether the API says that the prompt is too long.
    #[serde(default)]
    pub too_long: bool,
    /// The server's own statement about repeating (R-3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_retry: Option<bool>,
    /// How long until the rate limit that was hit is whole again, by the answer's headers (R-10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Micros>,
    /// The token counts of a message about the context window (R-7, C-5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<ContextFigures>,
    /// How the stream broke, where it did (R-11).
    #[serde(skip)]
    pub(crate) broke: Option<StreamBreak>,
}

impl AttemptFailure {
    /// A failure that carries no API error.
    pub(crate) fn new(kind: &str, message: &str) -> Self {
        Self { kind: kind.into(), message: message.into(), ..Self::default() }
    }

    /// The same of a stream that broke in this way.
    pub(crate) fn broken_by(self, broke: StreamBreak) -> Self {
        Self { broke: Some(broke), ..self }
    }

    /// The failure in an error event of a stream.
    pub(crate) fn in_stream(kind: Arc<str>, message: Arc<str>) -> Self {
        let figures = ContextFigures::read(&message);
        Self { kind, message, figures, ..Self::default() }
    }

    /// The failure in an answer with an error status.
    pub(crate) fn from_answer(status: u16, headers: &[HttpHeader], body: &str) -> Self {
        let error = ApiError::read(status, headers, body.as_bytes());
        Self { reset: reset_us(headers).map(Micros), ..Self::from(&error) }
    }

    /// Whether it is about too long a prompt or too large media, which is not an attempt's matter.
    pub(crate) fn too_much(&self) -> Option<RetryDecision> {
        match self.status {
            Some(400 | 413) if names_large_media(&self.message) => Some(RetryDecision::Media),
            Some(413) => Some(RetryDecision::PromptTooLong),
            Some(400) if self.too_long => Some(RetryDecision::PromptTooLong),
            _ => None,
        }
    }

    /// Whether the same request would be refused again, because its content is the reason.
    pub(crate) fn is_of_the_content(&self) -> bool {
        matches!(self.status, Some(400 | 413)) && self.should_retry != Some(true)
    }

    /// One line for people: `529 overloaded_error: Overloaded`.
    pub fn summary(&self) -> String {
        let status = self.status.map(|status| format!("{status} ")).unwrap_or_default();
        let message = if self.message.is_empty() { String::new() } else { format!(": {}", self.message) };
        format!("{status}{}{message}", self.kind)
    }
}

impl From<&ApiError> for AttemptFailure {
    fn from(error: &ApiError) -> Self {
        Self {
            status: error.status,
            kind: error.kind.as_str().into(),
            message: error.message.clone(),
            too_long: matches!(error.context, Some(ContextFigures::PromptTooLong { .. }))
                || error.message.to_lowercase().contains("prompt is too long"),
            retry_after: error.delay_us().map(Micros),
            should_retry: error.should_retry,
            reset: None,
            figures: error.context,
            broke: None,
        }
    }
}

/// One failed attempt with all that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedAttempt<'a> {
    /// The failure of the attempt.
    pub(crate) failure: &'a AttemptFailure,
    /// Which attempt it is.
    pub(crate) id: RequestId,
    /// When it failed.
    pub(crate) now: Time,
    /// The kind of call.
    pub(crate) call: CallKind,
    /// The attempts and overloads of the call so far.
    pub(crate) history: CallHistory,
    /// The settings.
    pub(crate) settings: &'a RetrySettings,
    /// The root of the draws.
    pub(crate) seed: Seed,
    /// The wait that takes the place of a computed one (F-11).
    pub(crate) given: Option<Micros>,
}

/// The facts about a call that decide about its retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CallKind {
    /// Whether the answer was asked for as a stream.
    pub(crate) streamed: bool,
    /// Whether the head of the answer had come.
    pub(crate) answered: bool,
    /// Whether blocks of the answer were handed up before it broke (R-11).
    pub(crate) handed_up: bool,
    /// How far its stream came (R-11).
    pub(crate) progress: StreamProgress,
    /// Its urgency.
    pub(crate) urgency: CallUrgency,
    /// Whether the attempt asked for a fast answer (R-9).
    pub(crate) fast: bool,
    /// Whether another model can take over (R-8, Q-21).
    pub(crate) has_fallback: bool,
    /// The attempt's cap on output tokens.
    pub(crate) max_tokens: u64,
    /// How many of them may go into thinking.
    pub(crate) thinking_budget: Option<u64>,
}

/// The urgency of a call (R-3): it follows from the purpose of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum CallUrgency {
    /// The user does, or another agent: the main query, and the compaction that it waits for.
    #[default]
    Foreground,
    /// No user waits: a title, a suggestion, a tool-use summary. Such a call must not add to an overload.
    Background,
}

impl CallUrgency {
    /// That of the calls that an agent's loop waits for itself.
    pub(crate) fn for_loop(settings: &Settings) -> Self {
        if settings.background { Self::Background } else { Self::Foreground }
    }
}

/// The attempts and overloads of a call so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CallHistory {
    /// How many retries were made that count.
    pub(crate) retries: u32,
    /// Those that count and were no wait: requests in the place of a stream (R-11).
    pub(crate) unannounced: u32,
    /// Those that count as none and had no notice: after error events (R-4).
    pub(crate) silent: u32,
    /// How often it was made again because it was refused (R-3).
    pub(crate) refused: u32,
    /// The retries that do not (R-10).
    pub(crate) polls: unattended_mode::UnattendedRetries,
    /// How many answers in a row said that the API is overloaded, this one included (R-8).
    pub(crate) overloads: u32,
    /// Whether the last attempt failed because of its credentials.
    pub(crate) just_refreshed: bool,
    /// Whether credentials were renewed by force in this call.
    pub(crate) forced_refresh: bool,
    /// Whether `max_tokens` was lowered in this call (R-7).
    pub(crate) lowered: bool,
}

/// The decision after a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RetryDecision {
    /// The call is lost (R-6); the reason, where it is not plain from the failure.
    GiveUp(Option<String>),
    /// The prompt is too long: not an attempt's matter (Q-13).
    PromptTooLong,
    /// An image or a document is too large: not an attempt's matter (Q-14).
    Media,
    /// Another model takes over (R-8).
    Fallback,
    /// Try again after a wait.
    After {
        /// The length of the wait.
        delay: Micros,
        /// Whether the connection is not to be used again.
        new_client: bool,
        /// Whether it is one of the retries of which there are only so many.
        counted: bool,
    },
    /// Renew the credentials, then try again at once with a new client.
    RefreshAuth {
        /// Whether the old ones are known to be revoked.
        forced: bool,
        /// The owner of the credentials; `None` for the API's own.
        provider: Option<CloudProvider>,
    },
    /// Try again at once with a lower `max_tokens` (R-7).
    LowerMaxTokens(u64),
    /// Try again at once at standard speed (R-9).
    StandardSpeed {
        /// For how long; `None` for good.
        cooldown: Option<Micros>,
    },
    /// Try again at once, asking for a whole answer (R-11).
    WithoutStreaming,
    /// Try the same again at once (R-3).
    AtOnce,
    /// Try the same again after this wait, of which consumers hear nothing (R-4).
    Silent(Micros),
    /// The partial answer stands as it is (R-11).
    KeepPart,
}

impl CallHistory {
    /// How many retries were made of which there are only so many.
    pub(crate) fn counted(&self) -> u32 {
        self.retries + self.unannounced
    }
}

/// The decision for one failed attempt.
pub(crate) fn decide(case: &FailedAttempt<'_>) -> RetryDecision {
    let decision = without_patience(case);
    let waits = matches!(
        decision,
        RetryDecision::RefreshAuth { .. } | RetryDecision::LowerMaxTokens(_) | RetryDecision::WithoutStreaming | RetryDecision::AtOnce
    );
    match delay::too_long(case) {
        Some(reason) if waits => RetryDecision::GiveUp(Some(reason)),
        _ => decision,
    }
}

/// The decision, as if any wait could be waited.
fn without_patience(case: &FailedAttempt<'_>) -> RetryDecision {
    if let Some(too_much) = case.failure.too_much().or_else(|| token_overflow::decide(case)) {
        return too_much; // whatever `x-should-retry` says (R-3)
    }
    if let Some(decision) = broken_stream::decide(case) {
        return decision;
    }
    // What is asked for in place of a broken stream is no retry of it: it may be the last resort after all of them (R-11).
    let is_whole_wanted = case.call.handed_up && !broken_stream::goes_by_cause(case) || is_broken_without_block(case);
    // Once: an answer that comes as a stream although none was asked for is an attempt like any other.
    if case.settings.nonstreaming_fallback && case.call.streamed && is_whole_wanted {
        let fresh = FailedAttempt { history: CallHistory { retries: 0, unannounced: 0, ..case.history }, ..*case };
        return match by_word_or_table(&fresh) {
            RetryDecision::After { .. } => RetryDecision::WithoutStreaming,
            other => other,
        };
    }
    match by_word_or_table(case) {
        RetryDecision::GiveUp(None) if is_last_resort(case) => RetryDecision::WithoutStreaming,
        decision => decision,
    }
}

/// R-11: a stream that began and broke before its first block, where by setting that is like one that broke after it.
fn is_broken_without_block(case: &FailedAttempt<'_>) -> bool {
    let FailedAttempt { failure, call, settings, .. } = case;
    settings.nonstreaming_without_block && call.streamed && call.answered && failure.status.is_none()
}

/// R-11: a stream that began and broke, again and again, until no retry is left. A network that breaks streams may still let a whole answer through.
fn is_last_resort(case: &FailedAttempt<'_>) -> bool {
    let FailedAttempt { failure, call, history, settings, .. } = case;
    let is_spent = history.counted() >= settings.max_retries;
    let broke = call.streamed && call.answered && failure.status.is_none() && is_transient(&failure.kind);
    settings.nonstreaming_fallback && is_spent && broke && failure.should_retry != Some(false)
}

/// R-3: the server's word decides before the table.
fn by_word_or_table(case: &FailedAttempt<'_>) -> RetryDecision {
    match case.failure.should_retry {
        Some(false) => RetryDecision::GiveUp(None),
        Some(true) => fast::decide(case).unwrap_or_else(|| delay::repeat(case)),
        None => fast::decide(case).unwrap_or_else(|| by_table(case)),
    }
}

/// The table of R-3.
fn by_table(case: &FailedAttempt<'_>) -> RetryDecision {
    let FailedAttempt { failure, call, history, settings, .. } = case;
    if let Some(provider) = settings.cloud.filter(|provider| cloud::wants_credentials(*provider, failure)) {
        return match history.just_refreshed {
            true => RetryDecision::GiveUp(Some(format!("new credentials of {} did not help", provider.as_str()))),
            false => RetryDecision::RefreshAuth { forced: false, provider: Some(provider) },
        };
    }
    if overload::is_overload(failure) {
        return overload::decide(case).unwrap_or_else(|| delay::repeat(case));
    }
    match (failure.status, &*failure.kind) {
        (Some(401), _) if settings.on_unauthorized == UnauthorizedPolicy::Wait => delay::repeat(case),
        (Some(401), _) if history.just_refreshed => RetryDecision::GiveUp(Some(String::from("new credentials did not help"))),
        (Some(401), _) => RetryDecision::RefreshAuth { forced: false, provider: None },
        (Some(403), _) if failure.message.contains("revoked") && !history.forced_refresh => {
            RetryDecision::RefreshAuth { forced: true, provider: None }
        }
        (Some(404), _) if call.has_fallback && settings.fallback_on_missing_model => RetryDecision::Fallback,
        (Some(500..), _) if call.has_fallback && settings.fallback_on_server_error => RetryDecision::Fallback,
        (Some(400), _) if history.refused < settings.refused_retries => RetryDecision::AtOnce,
        (Some(404), _) if call.streamed && settings.nonstreaming_fallback => RetryDecision::WithoutStreaming,
        (Some(408 | 409 | 429 | 500..), _) => delay::repeat(case),
        (Some(_), _) => RetryDecision::GiveUp(None),
        // A stream that broke before any content is an attempt like any other (R-11), and so is what never reached the API.
        (None, kind) if is_transient(kind) => delay::repeat(case),
        (None, _) => RetryDecision::GiveUp(None),
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
        "stream_idle",
        "empty_answer",
        "incomplete_stream",
        "unreadable_stream",
        "unreadable_answer",
    ];
    // An error event in the stream has no status: its kind says what it would have been.
    connection.contains(&kind) || matches!(ErrorKind::from_type(kind), ErrorKind::Overloaded | ErrorKind::Api | ErrorKind::RateLimit)
}
