//! The errors that the API and what stands before it are known to answer with, so that a fault is as real as its status (M-4).
//!
//! Figures in the texts are examples; an account's name is zeros. What is not known from real traffic has the API's form and the plainest text.

/// One error with its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownError {
    /// The name in scenarios.
    pub name: &'static str,
    /// Its HTTP status.
    pub status: u16,
    /// `error.type`, or what answers when it is not the API.
    pub kind: &'static str,
    /// `error.details.error_code`, where there is one.
    pub code: Option<&'static str>,
    /// `error.message`, or the whole body when it is not the API's.
    pub message: &'static str,
    /// The form of the body.
    pub form: ErrorForm,
}

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorForm {
    /// `{"type":"error","error":{…},"request_id":…}`
    Api,
    /// `{"error":{…}}`, as the edge before the API has it.
    Edge,
    /// A page of a proxy.
    Html,
    /// Plain text of a proxy.
    Text,
}

impl KnownError {
    /// The error that a status usually stands for: the first one in the table.
    pub fn usual(status: u16) -> Option<&'static Self> {
        KNOWN_ERRORS.iter().find(|error| error.status == status)
    }

    /// The error of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KNOWN_ERRORS.iter().find(|error| error.name == name)
    }
}

const fn api(name: &'static str, status: u16, kind: &'static str, message: &'static str) -> KnownError {
    KnownError { name, status, kind, code: None, message, form: ErrorForm::Api }
}

const fn invalid(name: &'static str, message: &'static str) -> KnownError {
    api(name, 400, "invalid_request_error", message)
}

/// All of them, by status; the first of a status is the usual one.
pub static KNOWN_ERRORS: [KnownError; 27] = [
    invalid("invalid_request", "messages.4: all messages must have non-empty content except for the optional final assistant message"),
    invalid("prompt_too_long", "prompt is too long: 200251 tokens > 200000 maximum"),
    invalid(
        "context_overflow",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
    ),
    invalid(
        "max_tokens_too_large",
        "max_tokens: 21333 > 4096, which is the maximum allowed number of output tokens for claude-3-opus-20240229",
    ),
    invalid("image_too_large", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5429176 bytes > 5242880 bytes"),
    invalid(
        "image_dimensions",
        "messages.52.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
    ),
    invalid(
        "missing_tool_result",
        "messages.6: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_A, toolu_B. Each `tool_use` block must have a \
         corresponding `tool_result` block in the next message.",
    ),
    invalid(
        "unexpected_tool_result",
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_X. Each `tool_result` block must have a \
         corresponding `tool_use` block in the previous message.",
    ),
    invalid(
        "thinking_changed",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must \
         remain as they were in the original response.",
    ),
    invalid(
        "credit_balance",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    invalid("spend_limit", "You have reached your specified API usage limits."),
    api("authentication", 401, "authentication_error", "invalid x-api-key"),
    api("token_expired", 401, "authentication_error", "OAuth token has expired."),
    api("billing", 402, "billing_error", "Payment is required."),
    api("permission", 403, "permission_error", "Your API key does not have permission to use the specified resource."),
    api("revoked", 403, "permission_error", "OAuth token has been revoked."),
    api("not_found", 404, "not_found_error", "model: claude-nonesuch"),
    api("request_timeout", 408, "timeout_error", "Request timed out"),
    api("conflict", 409, "conflict_error", "The request conflicts with another one."),
    KnownError { form: ErrorForm::Edge, ..api("request_too_large", 413, "request_too_large", "Request exceeds the maximum size") },
    api(
        "rate_limit",
        429,
        "rate_limit_error",
        "This request would exceed the rate limit for your organization (00000000-0000-0000-0000-000000000000) of 50,000 input tokens per minute.",
    ),
    KnownError {
        code: Some("enforced_spend_limit_reached"),
        ..api(
            "spend_threshold",
            429,
            "rate_limit_error",
            "You have reached your API usage limits: your organization has crossed its monthly API usage threshold.",
        )
    },
    api("internal", 500, "api_error", "Internal server error"),
    KnownError {
        name: "bad_gateway",
        status: 502,
        kind: "proxy",
        code: None,
        message: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body>\r\n</html>\r\n",
        form: ErrorForm::Html,
    },
    KnownError {
        name: "unavailable",
        status: 503,
        kind: "proxy",
        code: None,
        message: "upstream connect error or disconnect/reset before headers",
        form: ErrorForm::Text,
    },
    api("gateway_timeout", 504, "timeout_error", "Request timed out"),
    api("overloaded", 529, "overloaded_error", "Overloaded"),
];

/// A page of a proxy under a status that says that all is well.
pub const PROXY_PAGE: &str =
    "<!DOCTYPE html>\n<html>\n<head><title>Sign in</title></head>\n<body><h1>Sign in to this network</h1></body>\n</html>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_4_names_are_unique_and_statuses_stand_together() {
        for (at, error) in KNOWN_ERRORS.iter().enumerate() {
            assert!(KNOWN_ERRORS[..at].iter().all(|other| other.name != error.name), "{}", error.name);
        }
        assert!(KNOWN_ERRORS.is_sorted_by_key(|error| error.status));
        assert_eq!(KnownError::usual(529).map(|error| error.name), Some("overloaded"));
        assert_eq!(KnownError::usual(418), None);
    }
}
