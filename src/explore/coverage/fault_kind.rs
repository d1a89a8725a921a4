//! The kinds of faults, by name, whatever their figures.

use reenact_scenario::fault::{AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, FaultKind};
use reenact_wire::prelude::*;

words! {
    /// The name of a kind of fault.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum FaultKindName {
        /// An answer with an error status.
        Error = "error",
        /// Another answer.
        Answer = "answer",
        /// No server listens.
        Refused = "connect.refused",
        /// The host's name is not known.
        Dns = "connect.dns",
        /// No secure connection.
        Tls = "connect.tls",
        /// No connection in time.
        Timeout = "connect.timeout",
        /// Cut before the head of the answer.
        Reset = "connect.reset",
        /// Cut while the request was being sent.
        BrokenPipe = "connect.broken_pipe",
        /// A cut after events.
        CutAfterEvents = "cut.events",
        /// A cut after bytes.
        CutAfterBytes = "cut.bytes",
        /// Silence for a time.
        Stall = "stall",
        /// Silence for ever.
        EndlessStall = "stall.endless",
        /// An event that was not sent.
        Insert = "insert",
        /// An event that comes twice.
        Duplicate = "duplicate",
        /// An event that does not come.
        Missing = "missing",
        /// A head without a body.
        EmptyBody = "empty_body",
        /// Another content type.
        ContentType = "content_type",
        /// A tool input without its second half.
        TruncatedInput = "truncated_input",
        /// A slow body.
        Drip = "drip",
    }
}

impl From<&FaultKind> for FaultKindName {
    fn from(kind: &FaultKind) -> Self {
        match kind {
            FaultKind::Instead(AnswerSubstitute::Connection(how)) => connection(*how),
            FaultKind::Instead(AnswerSubstitute::Answer(answer)) if answer.status < 400 => Self::Answer,
            FaultKind::Instead(AnswerSubstitute::Answer(_)) => Self::Error,
            FaultKind::Change(AnswerChange::Cut { after: CutAfter::Events(_), .. }) => Self::CutAfterEvents,
            FaultKind::Change(AnswerChange::Cut { after: CutAfter::Bytes(_), .. }) => Self::CutAfterBytes,
            FaultKind::Change(AnswerChange::Stall { time: Some(_), .. }) => Self::Stall,
            FaultKind::Change(AnswerChange::Stall { time: None, .. }) => Self::EndlessStall,
            FaultKind::Change(AnswerChange::Insert { .. }) => Self::Insert,
            FaultKind::Change(AnswerChange::Duplicate { .. }) => Self::Duplicate,
            FaultKind::Change(AnswerChange::Missing { .. }) => Self::Missing,
            FaultKind::Change(AnswerChange::EmptyBody) => Self::EmptyBody,
            FaultKind::Change(AnswerChange::ContentType(_)) => Self::ContentType,
            FaultKind::Change(AnswerChange::TruncateToolInput) => Self::TruncatedInput,
            FaultKind::Change(AnswerChange::Drip { .. }) => Self::Drip,
        }
    }
}

fn connection(how: ConnectFault) -> FaultKindName {
    match how {
        ConnectFault::Refused => FaultKindName::Refused,
        ConnectFault::Dns => FaultKindName::Dns,
        ConnectFault::Tls => FaultKindName::Tls,
        ConnectFault::Timeout => FaultKindName::Timeout,
        ConnectFault::Reset => FaultKindName::Reset,
        ConnectFault::BrokenPipe => FaultKindName::BrokenPipe,
    }
}
