//! Bodies of all sorts, and every header that says when to try again.

use super::*;

fn headers(pairs: &[(&str, &str)]) -> Vec<HttpHeader> {
    pairs.iter().map(|(name, value)| HttpHeader::new(name, value)).collect()
}

fn read(status: u16, body: &str) -> ApiError {
    ApiError::read(status, &[], body.as_bytes())
}

fn delay_us(pairs: &[(&str, &str)]) -> Option<u64> {
    ApiError::read(429, &headers(pairs), b"").delay_us()
}

#[test]
fn n_5_a_wrapped_body_is_read() {
    let body = concat!(
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down.","details":{"error_code":"ramp_limit_exceeded"}},"#,
        r#""request_id":"req_body"}"#
    );
    let error = ApiError::read(
        429,
        &headers(&[
            ("Request-Id", "req_header"),
            ("X-Should-Retry", "true"),
            ("Retry-After", "7"),
            ("Anthropic-RateLimit-Tokens-Remaining", "0"),
            ("anthropic-ratelimit-unified-status", "rejected"),
            ("content-type", "application/json"),
        ]),
        body.as_bytes(),
    );
    assert_eq!((error.status, &error.kind, &*error.message), (Some(429), &ErrorKind::RateLimit, "Slow down."));
    assert_eq!(error.error_code.as_deref(), Some("ramp_limit_exceeded"));
    assert_eq!(error.request_id.as_deref(), Some("req_header"));
    assert_eq!(error.should_retry, Some(true));
    assert_eq!(error.delay_us(), Some(7_000_000));
    let names: Vec<_> = error.rate_limits.iter().map(|header| &*header.name).collect();
    assert_eq!(names, ["Anthropic-RateLimit-Tokens-Remaining", "anthropic-ratelimit-unified-status"]);
    assert_eq!(read(429, body).request_id.as_deref(), Some("req_body"));
    let kept = serde_json::to_string(&error).unwrap();
    assert_eq!(serde_json::from_str::<ApiError>(&kept).unwrap(), error);
}

#[test]
fn n_5_other_bodies_are_read() {
    let seen = |status, body| {
        let error = read(status, body);
        (error.kind.as_str().to_owned(), error.message.to_string())
    };
    let is = |kind: &str, message: &str| (kind.to_owned(), message.to_owned());
    for (status, body, expected) in [
        (413, r#"{"error":{"type":"request_too_large","message":"Too big"}}"#, is("request_too_large", "Too big")),
        (529, r#"{"type":"overloaded_error","message":"Busy"}"#, is("overloaded_error", "Busy")),
        (400, r#"{"type":"error","error":{"type":"moon_phase_error","message":"Full"}}"#, is("moon_phase_error", "Full")),
        (503, r#"{"error":"upstream is away"}"#, is("api_error", "upstream is away")),
        (500, r#"{"message":"Internal"}"#, is("api_error", "Internal")),
        (500, r#"{"fault":1}"#, is("api_error", r#"{"fault":1}"#)),
        (502, "<html>\n<title>Bad gateway</title>", is("api_error", "<html>\n<title>Bad gateway</title>")),
        (529, "", is("overloaded_error", "the answer has status 529 and no body")),
        (504, "  \n", is("timeout_error", "the answer has status 504 and no body")),
        (429, "[1]", is("rate_limit_error", "[1]")),
        (400, r#"{"type":"error","error":{"message":"\ud83d"}}"#, is("invalid_request_error", "\u{fffd}")),
    ] {
        assert_eq!(seen(status, body), expected, "{status} {body}");
    }
    assert_eq!(&*ApiError::read(500, &[], b"\xffoops").message, "\u{fffd}oops");
}

#[test]
fn n_5_a_long_body_is_cut_between_characters() {
    let error = read(502, &"é".repeat(1000));
    assert_eq!(error.message.chars().count(), MESSAGE_CHARS_MAX + 1);
    assert!(error.message.ends_with("é…"));
}

#[test]
fn n_5_every_status_has_a_kind() {
    for (kind, name, statuses) in KINDS {
        assert_eq!((kind.as_str(), &ErrorKind::from_type(name)), (*name, kind));
        for status in *statuses {
            assert_eq!(&ErrorKind::from_status(*status), kind);
        }
    }
    assert_eq!(ErrorKind::from_status(422), ErrorKind::InvalidRequest);
    assert_eq!(ErrorKind::from_status(503), ErrorKind::Api);
    assert_eq!(ErrorKind::from_status(302), ErrorKind::Other("".into()));
}

#[test]
fn n_5_the_kind_in_the_body_is_believed_before_the_status() {
    assert_eq!(read(400, r#"{"error":{"type":"billing_error","message":"m"}}"#).kind, ErrorKind::Billing);
}

#[test]
fn n_5_retry_after_is_read_in_all_its_forms() {
    const DATE: (&str, &str) = ("date", "Sat, 21 Nov 2026 02:03:41 GMT");
    for (pairs, us) in [
        (&[("retry-after", "1")][..], Some(1_000_000)),
        (&[("RETRY-AFTER", " 0.25 ")], Some(250_000)),
        (&[("retry-after-ms", "300")], Some(300_000)),
        (&[("retry-after-ms", "1.5"), ("retry-after", "9")], Some(1_500)),
        (&[("retry-after-ms", "0"), ("retry-after", "9")], Some(9_000_000)),
        (&[("retry-after-ms", "soon"), ("retry-after", "9")], Some(9_000_000)),
        (&[("retry-after", "Sat, 21 Nov 2026 02:04:41 GMT"), DATE], Some(60_000_000)),
        (&[("retry-after", "Sat, 21 Nov 2026 02:03:41 GMT"), DATE], None),
        (&[("retry-after", "Sat, 21 Nov 2026 02:04:41 GMT")], None),
        (&[("retry-after", "0")], None),
        (&[("retry-after", "-5")], None),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "5s")], None),
        (&[("retry-after", "inf")], None),
        (&[("retry-after", "nan")], None),
        (&[("retry-after", "")], None),
        (&[], None),
    ] {
        assert_eq!(delay_us(pairs), us, "{pairs:?}");
    }
    let undated = ApiError::read(429, &headers(&[("retry-after", "Sat, 21 Nov 2026 02:04:41 GMT")]), b"");
    assert_eq!(undated.retry_after, Some(RetryAfter::Date { at_epoch_s: 1_795_226_681, date_epoch_s: None }));
}

#[test]
fn n_5_should_retry_is_true_or_false_or_nothing() {
    let should = |value| ApiError::read(400, &headers(&[("x-should-retry", value)]), b"").should_retry;
    assert_eq!([should("true"), should("false"), should("yes"), should("")], [Some(true), Some(false), None, None]);
}

#[test]
fn n_5_context_messages_yield_their_numbers() {
    let figures = |message: &str| {
        let body = serde_json::json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string();
        let error = read(400, &body);
        (error.context, error.is_context_overflow())
    };
    let prompt = ContextFigures::PromptTooLong { tokens: 200_251, maximum: 200_000 };
    assert_eq!(figures("prompt is too long: 200251 tokens > 200000 maximum"), (Some(prompt), true));
    let both = ContextFigures::InputAndMaxTokens { input_tokens: 188_240, max_tokens: 21_333, limit: 200_000 };
    let message = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`";
    assert_eq!(figures(message), (Some(both), true));
    assert_eq!(figures("Prompt is too long"), (None, true));
    assert_eq!(figures("prompt is too long: many tokens > few"), (None, true));
    assert_eq!(figures("max_tokens: 21333 > 4096, which is the maximum"), (None, false));
}

#[test]
fn n_5_an_error_inside_a_stream_has_no_status() {
    let error = ApiError::in_stream("overloaded_error", "Overloaded");
    assert_eq!((error.status, error.kind, &*error.message), (None, ErrorKind::Overloaded, "Overloaded"));
    assert!(!ApiError::in_stream("", "").message.is_empty());
}
