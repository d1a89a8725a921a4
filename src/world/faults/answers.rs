//! Replacements of an answer: errors of the API and of proxies, and failed connections (M-4).

use super::super::choices::ChoiceMaker;
use super::super::decoded_pieces::DecodedPieces;
use super::super::model_request::ModelRequest;
use super::super::plan::{ResponseHead, ResponsePlan, TimedPiece};
use reenact_engine::contract::AnswerEnd;
use reenact_engine::time::Micros;
use reenact_scenario::fault::known_errors::{ErrorForm, KnownError};
use reenact_scenario::fault::{AnswerSubstitute, ConnectFault, FaultAnswer};
use reenact_scenario::latency::Latency;
use reenact_scenario::plan::WaitKind;
use reenact_scenario::types::AnswerTiming;
use reenact_wire::error::ErrorKind;
use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// How soon an error answers where the scenario says nothing.
const USUAL_HEAD: Latency = Latency::Uniform(Micros::from_millis(50), Micros::from_millis(300));

/// The plan of what comes in an answer's place.
pub(crate) fn instead(
    kind: &AnswerSubstitute,
    asked: &ModelRequest<'_>,
    timing: &AnswerTiming,
    choices: &mut ChoiceMaker<'_>,
) -> ResponsePlan {
    match kind {
        AnswerSubstitute::Connection(how) => without_head(*how),
        AnswerSubstitute::Answer(answer) => {
            let says_nothing = matches!(timing.head, Latency::Recorded { .. });
            let latency = if says_nothing { &USUAL_HEAD } else { &timing.head };
            let at = choices.latency(WaitKind::Error, &asked.agent.key(asked.id), latency, 0).takes;
            let request_id = choices.request_id(asked.agent, asked.id);
            let head = ResponseHead { status: answer.status, headers: headers(answer, &request_id).into() };
            let body = body(answer, &request_id);
            let pieces = if body.is_empty() { Vec::new() } else { vec![TimedPiece { at, bytes: body.into_bytes().into() }] };
            ResponsePlan {
                head: Some(head),
                head_at: at,
                is_stream: false,
                pieces,
                decoded: DecodedPieces::default(),
                end: Some(AnswerEnd::Complete),
                end_at: at,
            }
        }
    }
}

/// A connection that ends before there is a head, each way after the time that it usually takes.
fn without_head(how: ConnectFault) -> ResponsePlan {
    let (end, after_ms) = match how {
        ConnectFault::Refused => (AnswerEnd::ConnectRefused, 1),
        ConnectFault::Dns => (AnswerEnd::Dns, 20),
        ConnectFault::Tls => (AnswerEnd::Tls, 50),
        ConnectFault::Timeout => (AnswerEnd::ConnectTimeout, 5_000),
        ConnectFault::Reset => (AnswerEnd::Reset, 30),
        ConnectFault::BrokenPipe => (AnswerEnd::BrokenPipe, 30),
    };
    let at = Micros::from_millis(after_ms);
    ResponsePlan {
        head: None,
        head_at: at,
        is_stream: false,
        pieces: Vec::new(),
        decoded: DecodedPieces::default(),
        end: Some(end),
        end_at: at,
    }
}

fn body(answer: &FaultAnswer, request_id: &str) -> String {
    if let Some(body) = &answer.body {
        return body.to_string();
    }
    match answer.known_error() {
        Some(error) => body_of(error, request_id),
        None if answer.status >= 400 => {
            let kind = ErrorKind::from_status(answer.status);
            api_body(kind.as_str(), &format!("HTTP status {}", answer.status), None, request_id)
        }
        None => String::new(),
    }
}

fn body_of(error: &KnownError, request_id: &str) -> String {
    match error.form {
        ErrorForm::Api => api_body(error.kind, error.message, error.code, request_id),
        ErrorForm::Edge => format!(r#"{{"error":{{"type":"{}","message":{}}}}}"#, error.kind, Json::from_value(error.message)),
        ErrorForm::Html | ErrorForm::Text => error.message.into(),
    }
}

fn api_body(kind: &str, message: &str, code: Option<&str>, request_id: &str) -> String {
    let details = code.map(|code| format!(r#","details":{{"error_code":"{code}"}}"#)).unwrap_or_default();
    let message = Json::from_value(message);
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":{message}{details}}},"request_id":"{request_id}"}}"#)
}

/// The usual headers, and those that are given, which win.
fn headers(answer: &FaultAnswer, request_id: &str) -> Vec<HttpHeader> {
    let content_type = match answer.known_error().map(|error| error.form) {
        Some(ErrorForm::Html) => "text/html",
        Some(ErrorForm::Text) => "text/plain",
        _ => "application/json",
    };
    let mut headers = vec![HttpHeader::new("content-type", content_type)];
    if answer.known_error().is_none_or(|error| error.form == ErrorForm::Api) {
        headers.push(HttpHeader::new("request-id", request_id));
    }
    if let Some(Micros(span)) = answer.retry_after {
        headers.push(HttpHeader::new("retry-after", &span.div_ceil(1_000_000).to_string()));
        if !span.is_multiple_of(1_000_000) {
            headers.push(HttpHeader::new("retry-after-ms", &format!("{}", span.div_ceil(1_000))));
        }
    }
    if answer.rate_limits {
        headers.extend(RATE_LIMITS.iter().map(|(name, value)| HttpHeader::new(name, value)));
    }
    let is_given = |header: &HttpHeader| answer.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(&header.name));
    headers.retain(|header| !is_given(header));
    headers.extend(answer.headers.iter().map(|(name, value)| HttpHeader::new(name, value)));
    headers
}

/// An account that has used up its input tokens, a minute before they come back.
const RATE_LIMITS: [(&str, &str); 10] = [
    ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
    ("anthropic-ratelimit-requests-limit", "50"),
    ("anthropic-ratelimit-requests-remaining", "41"),
    ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:12Z"),
    ("anthropic-ratelimit-input-tokens-limit", "50000"),
    ("anthropic-ratelimit-input-tokens-remaining", "0"),
    ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T00:01:00Z"),
    ("anthropic-ratelimit-output-tokens-limit", "10000"),
    ("anthropic-ratelimit-output-tokens-remaining", "9000"),
    ("anthropic-ratelimit-output-tokens-reset", "2026-01-01T00:00:06Z"),
];
