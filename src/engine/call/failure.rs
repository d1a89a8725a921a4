//! What a connection and a stream that go wrong are called, so that the retry policy knows them.

use crate::engine::contract::AnswerEnd;
use crate::engine::retry::Failure;
use crate::prelude::*;
use crate::wire::order::Violation;

/// The names that the retry policy knows connection failures by.
pub(super) fn cut_short(how: &AnswerEnd) -> Failure {
    match how {
        AnswerEnd::Complete => Failure::of("incomplete_stream", "the answer ended early"),
        AnswerEnd::Reset => Failure::of("connection_reset", "the connection was cut"),
        AnswerEnd::BrokenPipe => Failure::of("broken_pipe", "the connection was cut while the request was sent"),
        AnswerEnd::ConnectRefused => Failure::of("connection_refused", "nobody listens there"),
        AnswerEnd::Dns => Failure::of("dns", "the host's name is not known"),
        AnswerEnd::Tls => Failure::of("tls", "no secure connection could be made"),
        AnswerEnd::ConnectTimeout => Failure::of("connect_timeout", "no connection could be made in time"),
        AnswerEnd::Timeout => Failure::of("timeout", "nothing came any more"),
        AnswerEnd::Framing(problem) => Failure::of("unreadable_stream", problem),
        AnswerEnd::Truncated => Failure::of("connection_reset", "the connection was closed inside the answer"),
    }
}

/// A stream that broke a rule (N-4) is one that is not whole.
pub(super) fn broken(violation: &Violation) -> Failure {
    Failure::of("incomplete_stream", &violation.to_string())
}
