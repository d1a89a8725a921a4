//! What to do about a failed attempt: a pure function from error to decision.
//!
//! This version knows no retry: a failure is either nobody's to mend here, or goes up to the query loop as its kind asks.

use serde::{Deserialize, Serialize};

use crate::prelude::*;
use crate::wire::error::ApiError;

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// `error.type` of the API, or a short name of our own for what never reached it (`connection_reset`, `incomplete_stream`, …).
    pub kind: Arc<str>,
    /// What the API or the connection said.
    pub message: Arc<str>,
}

impl Failure {
    /// A failure that carries no API error.
    pub(crate) fn of(kind: &str, message: &str) -> Self {
        Self { status: None, kind: kind.into(), message: message.into() }
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
        Self { status: error.status, kind: error.kind.as_str().into(), message: error.message.clone() }
    }
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The call is lost.
    GiveUp,
    /// The prompt is too long: not an attempt's matter.
    TooLong,
    /// An image or a document is too large: not an attempt's matter.
    Media,
}

/// The decision for one failure.
pub(crate) fn decide(failure: &Failure) -> Decision {
    let names = |words: &[&str]| words.iter().any(|word| failure.message.contains(word));
    match failure.status {
        Some(400 | 413) if names(&["image", "document", "PDF"]) => Decision::Media,
        Some(413) => Decision::TooLong,
        Some(400) if names(&["prompt is too long"]) => Decision::TooLong,
        _ => Decision::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_6_each_error_goes_where_its_kind_asks() {
        let table = [
            (Some(400), "prompt is too long: 200251 tokens > 200000 maximum", Decision::TooLong),
            (Some(413), "Request exceeds the maximum size", Decision::TooLong),
            (Some(400), "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum", Decision::Media),
            (Some(400), "messages: text content blocks must be non-empty", Decision::GiveUp),
            (Some(529), "Overloaded", Decision::GiveUp),
            (None, "connection reset", Decision::GiveUp),
        ];
        for (status, message, expected) in table {
            let failure = Failure { status, ..Failure::of("some_error", message) };
            assert_eq!(decide(&failure), expected, "{status:?} {message}");
        }
    }
}
