//! Names for failures of connections and streams, by which the retry policy knows them.

use crate::contract::AnswerEnd;
use crate::retry::AttemptFailure;
use crate::retry::broken_stream::StreamBreak;
use reenact_wire::order::OrderViolation;
use reenact_wire::prelude::*;

/// The names that the retry policy knows connection failures by.
pub(super) fn cut_short(how: &AnswerEnd) -> AttemptFailure {
    let failure = match how {
        AnswerEnd::Complete => AttemptFailure::new("incomplete_stream", "the answer ended early"),
        AnswerEnd::Reset => AttemptFailure::new("connection_reset", "the connection was cut"),
        AnswerEnd::BrokenPipe => AttemptFailure::new("broken_pipe", "the connection was cut while the request was sent"),
        AnswerEnd::ConnectRefused => AttemptFailure::new("connection_refused", "no server listens at this address"),
        AnswerEnd::Dns => AttemptFailure::new("dns", "the host name is unknown"),
        AnswerEnd::Tls => AttemptFailure::new("tls", "the TLS handshake failed"),
        AnswerEnd::ConnectTimeout => AttemptFailure::new("connect_timeout", "the connection was not made in time"),
        AnswerEnd::Timeout => AttemptFailure::new("timeout", "no more data came"),
        AnswerEnd::Framing(problem) => AttemptFailure::new("unreadable_stream", problem),
        AnswerEnd::Truncated => AttemptFailure::new("connection_reset", "the connection was closed inside the answer"),
    };
    let broke = if let AnswerEnd::Framing(_) = how { StreamBreak::Disorder } else { StreamBreak::Cut };
    failure.broken_by(broke)
}

/// A stream that broke a rule (N-4) is one that is not whole.
pub(super) fn broken(violation: &OrderViolation) -> AttemptFailure {
    let broke = if *violation == OrderViolation::EndWithoutMessageStop { StreamBreak::Cut } else { StreamBreak::Disorder };
    AttemptFailure::new("incomplete_stream", &violation.to_string()).broken_by(broke)
}
