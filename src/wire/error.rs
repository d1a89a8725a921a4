//! An answer that is an error: its kind, message and advice on retries (N-5).
//!
//! Only facts are read here. Whether and when to try again is the retry policy's to decide.

use serde::{Deserialize, Serialize};

use super::{
    date::http_date_epoch_s,
    http::{HttpHeader, find},
    raw_json::RawObject,
};
use crate::prelude::*;

/// An error of the API, or of what stood between.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ApiError {
    /// The HTTP status; `None` for an `error` event inside a stream.
    pub status: Option<u16>,
    /// The kind of error.
    pub kind: ErrorKind,
    /// The API's words, or the beginning of the body when it is something else. Never empty.
    pub message: Arc<str>,
    /// `error.details.error_code`: stable, unlike the message.
    pub error_code: Option<Arc<str>>,
    /// The API's id of the request, by header or body.
    pub request_id: Option<Arc<str>>,
    /// When to try again at the earliest.
    pub retry_after: Option<RetryAfter>,
    /// `x-should-retry`.
    pub should_retry: Option<bool>,
    /// The token counts of a message about the context window.
    pub context: Option<ContextFigures>,
    /// The headers that tell of rate limits, as received.
    pub rate_limits: Vec<HttpHeader>,
}

/// The kind of error: `error.type` in the body, or by the status where the body names none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Arc<str>", into = "Arc<str>")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is wrong.
    InvalidRequest,
    /// The key is wrong.
    Authentication,
    /// Something about payment.
    Billing,
    /// The key may not do this.
    Permission,
    /// No such thing, often the model.
    NotFound,
    /// The request contradicts the state of something.
    Conflict,
    /// The request has too many bytes.
    RequestTooLarge,
    /// Too many requests or tokens.
    RateLimit,
    /// The request took too long.
    Timeout,
    /// Something inside the API broke.
    Api,
    /// The API has too much to do.
    Overloaded,
    /// Another `error.type`; empty when neither body nor status say anything.
    Other(Arc<str>),
}

/// The kinds with their `error.type` and the statuses that they come with.
///
/// A status that is not listed counts as [`ErrorKind::InvalidRequest`] from 400 on and as [`ErrorKind::Api`] from 500 on.
pub const KINDS: &[(ErrorKind, &str, &[u16])] = &[
    (ErrorKind::InvalidRequest, "invalid_request_error", &[400]),
    (ErrorKind::Authentication, "authentication_error", &[401]),
    (ErrorKind::Billing, "billing_error", &[402]),
    (ErrorKind::Permission, "permission_error", &[403]),
    (ErrorKind::NotFound, "not_found_error", &[404]),
    (ErrorKind::Conflict, "conflict_error", &[409]),
    (ErrorKind::RequestTooLarge, "request_too_large", &[413]),
    (ErrorKind::RateLimit, "rate_limit_error", &[429]),
    (ErrorKind::Timeout, "timeout_error", &[408, 504]),
    (ErrorKind::Api, "api_error", &[500]),
    (ErrorKind::Overloaded, "overloaded_error", &[529]),
];

/// When to try again, as the answer has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfter {
    /// After this long (`retry-after` in seconds, `retry-after-ms`).
    Delay {
        /// Microseconds.
        us: u64,
    },
    /// At a date (`retry-after` as a date).
    Date {
        /// Seconds since 1970.
        at_epoch_s: i64,
        /// The answer's own `date`, to be compared with.
        date_epoch_s: Option<i64>,
    },
}

/// Token counts in a message about the context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextFigures {
    /// ``prompt is too long: A tokens > B maximum``
    PromptTooLong {
        /// A.
        tokens: u64,
        /// B.
        maximum: u64,
    },
    /// ``input length and `max_tokens` exceed context limit: A + B > C``
    InputAndMaxTokens {
        /// A.
        input_tokens: u64,
        /// B.
        max_tokens: u64,
        /// C.
        limit: u64,
    },
}

/// A message that is not a message of the API's is cut to this many characters.
const MESSAGE_CHARS_MAX: usize = 300;

impl ApiError {
    /// Reads an answer whose status says that it is an error. Never fails: a body that is not the API's becomes the message (N-5).
    pub fn read(status: u16, headers: &[HttpHeader], body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let body = ErrorBody::read(text.trim());
        let kind = match &*body.kind {
            "" => ErrorKind::from_status(status),
            kind => ErrorKind::from_type(kind),
        };
        let message = match (&*body.message, text.trim()) {
            ("", "") => format!("the answer has status {status} and no body"),
            ("", text) => beginning(text),
            (message, _) => message.to_owned(),
        };
        Self {
            status: Some(status),
            kind,
            context: ContextFigures::read(&message),
            message: message.into(),
            error_code: body.error_code,
            request_id: find(headers, "request-id").map(Arc::from).or(body.request_id),
            retry_after: RetryAfter::read(headers),
            should_retry: find(headers, "x-should-retry").and_then(|value| value.trim().parse().ok()),
            rate_limits: headers.iter().filter(|header| tells_of_rate_limits(&header.name)).cloned().collect(),
        }
    }

    /// The error of an `error` event inside a stream: `kind` is its `error.type`, `message` its `error.message`.
    pub fn in_stream(kind: &str, message: &str) -> Self {
        let message = if message.is_empty() { "the stream ended with an error that says nothing" } else { message };
        Self {
            status: None,
            kind: ErrorKind::from_type(kind),
            message: message.into(),
            error_code: None,
            request_id: None,
            retry_after: None,
            should_retry: None,
            context: ContextFigures::read(message),
            rate_limits: Vec::new(),
        }
    }

    /// How long to wait by the answer's own word, in microseconds. `None` when it says nothing, or nothing usable: zero, the past, or a
    /// date without one to compare it with.
    pub fn delay_us(&self) -> Option<u64> {
        self.retry_after.and_then(RetryAfter::delay_us)
    }

    /// Whether the context window was exceeded, with or without figures.
    pub fn is_context_overflow(&self) -> bool {
        self.context.is_some() || self.message.to_lowercase().contains("prompt is too long")
    }
}

impl ErrorKind {
    /// The kind with this `error.type`.
    pub fn from_type(name: &str) -> Self {
        KINDS.iter().find(|row| row.1 == name).map_or_else(|| Self::Other(name.into()), |row| row.0.clone())
    }

    /// The kind that a status stands for.
    pub fn from_status(status: u16) -> Self {
        match KINDS.iter().find(|row| row.2.contains(&status)) {
            Some(row) => row.0.clone(),
            None if status >= 500 => Self::Api,
            None if status >= 400 => Self::InvalidRequest,
            None => Self::Other("".into()),
        }
    }

    /// The `error.type`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => KINDS.iter().find(|row| row.0 == *known).map_or("", |row| row.1),
        }
    }
}

impl From<Arc<str>> for ErrorKind {
    fn from(name: Arc<str>) -> Self {
        Self::from_type(&name)
    }
}

impl From<ErrorKind> for Arc<str> {
    fn from(kind: ErrorKind) -> Self {
        kind.as_str().into()
    }
}

impl RetryAfter {
    /// The wait in the headers. `retry-after-ms` comes first, being finer, unless it is zero.
    fn read(headers: &[HttpHeader]) -> Option<Self> {
        let number = |name| find(headers, name).and_then(|value| value.trim().parse::<f64>().ok()).filter(|value| value.is_finite());
        // The conversion rounds to the nearest and stays within the type.
        let delay = |us: f64| Self::Delay { us: (us + 0.5) as u64 };
        let ms = number("retry-after-ms").map(|ms| delay(ms * 1e3));
        let seconds = number("retry-after").map(|seconds| delay(seconds * 1e6));
        let date = || {
            let at_epoch_s = http_date_epoch_s(find(headers, "retry-after")?)?;
            Some(Self::Date { at_epoch_s, date_epoch_s: find(headers, "date").and_then(http_date_epoch_s) })
        };
        let stated = seconds.or_else(date);
        ms.filter(|ms| ms.delay_us().is_some()).or(stated).or(ms)
    }

    /// The wait in microseconds, if it is one.
    fn delay_us(self) -> Option<u64> {
        let us = match self {
            Self::Delay { us } => us,
            Self::Date { at_epoch_s, date_epoch_s } => {
                let seconds = at_epoch_s.saturating_sub(date_epoch_s?);
                u64::try_from(seconds).ok()?.saturating_mul(1_000_000)
            }
        };
        (us > 0).then_some(us)
    }
}

impl ContextFigures {
    /// Finds the figures in a message with any words around them.
    pub fn read(message: &str) -> Option<Self> {
        let after = |marker| message.split_once(marker).map(|(_, after)| after);
        if let Some(rest) = after("prompt is too long: ") {
            let (tokens, rest) = number_then(rest, " tokens > ")?;
            let (maximum, _) = number_then(rest, "")?;
            return Some(Self::PromptTooLong { tokens, maximum });
        }
        let (input_tokens, rest) = number_then(after("exceed context limit: ")?, " + ")?;
        let (max_tokens, rest) = number_then(rest, " > ")?;
        let (limit, _) = number_then(rest, "")?;
        Some(Self::InputAndMaxTokens { input_tokens, max_tokens, limit })
    }
}

/// A number and, after it, `next`. Gives what follows both.
fn number_then<'a>(text: &'a str, next: &str) -> Option<(u64, &'a str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].strip_prefix(next)?))
}

/// The beginning of a body that is not the API's: enough to recognise a proxy's page by.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn tells_of_rate_limits(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["anthropic-ratelimit-", "anthropic-priority-", "anthropic-fast-"].iter().any(|prefix| name.starts_with(prefix))
}

/// The members of an error's body; empty where the body has no such member.
#[derive(Default)]
struct ErrorBody {
    kind: String,
    message: String,
    error_code: Option<Arc<str>>,
    request_id: Option<Arc<str>>,
}

impl ErrorBody {
    /// `{"type":"error","error":{…},"request_id":…}`, the same without the wrapper's `type`, or the inner object alone.
    fn read(text: &str) -> Self {
        let Ok(body) = RawObject::parse(text) else { return Self::default() };
        let request_id = body.string("request_id").map(Arc::from);
        match (body.object("error"), body.string("error")) {
            (Some(error), _) => Self { request_id, ..Self::inner(&error) },
            (None, Some(message)) => Self { message: message.into_owned(), request_id, ..Self::default() },
            (None, None) => Self { request_id, ..Self::inner(&body) },
        }
    }

    fn inner(error: &RawObject<'_>) -> Self {
        Self {
            kind: error.string("type").filter(|kind| *kind != "error").unwrap_or_default().into_owned(),
            message: error.string("message").unwrap_or_default().into_owned(),
            error_code: error.object("details").and_then(|details| details.string("error_code")).map(Arc::from),
            request_id: None,
        }
    }
}

#[cfg(test)]
mod tests;
