//! Faults between engine and model server: which requests they hit, and what they change (M-4).
//!
//! Of a scenario's faults the first one that fits a request counts. It either takes the place of the answer, which is then still there for the next
//! attempt, or changes it; a changed answer is given again when the same thing is asked again.

pub mod known_errors;

use core::fmt;

use known_errors::KnownError;

use crate::engine::time::Micros;
use crate::prelude::*;

/// One `[[fault]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    /// Which requests it hits.
    pub at: FaultPlace,
    /// The effect on them.
    pub kind: FaultKind,
    /// Whether it need not come to pass (F-10).
    pub may: bool,
}

/// Which requests are hit: those that fit all keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlace {
    /// Numbers of prompts.
    pub prompt: Option<NumberSpan>,
    /// Numbers of requests within their prompt, as transcripts name them.
    pub request: Option<NumberSpan>,
    /// Numbers of attempts.
    pub attempt: Option<NumberSpan>,
    /// The model that is asked.
    pub model: Option<Arc<str>>,
    /// `main` for the agent that talks with the user, else the id of the tool use that made the agent.
    pub thread: Option<Arc<str>>,
    /// Requests made at this virtual time or later.
    pub after: Option<Micros>,
    /// Requests made before this virtual time.
    pub before: Option<Micros>,
    /// How probable it is for each of them, from 0 to 1; drawn under the request's own key (D3).
    pub probability: Option<f64>,
}

/// Numbers from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberSpan {
    /// The first.
    pub first: u32,
    /// The last; `None` for no end.
    pub last: Option<u32>,
}

impl NumberSpan {
    /// Whether the number is one of them.
    pub fn contains(self, number: u32) -> bool {
        self.first <= number && self.last.is_none_or(|last| number <= last)
    }
}

/// The effect on a request.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// Something else comes in the answer's place.
    Instead(AnswerSubstitute),
    /// The answer comes, and not as it should.
    Change(AnswerChange),
}

/// The replacement of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerSubstitute {
    /// Another answer.
    Answer(FaultAnswer),
    /// No answer at all.
    Connection(ConnectFault),
}

/// An answer in an answer's place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultAnswer {
    /// HTTP status.
    pub status: u16,
    /// Which of the errors with this status; `None` for the usual one.
    pub error: Option<&'static KnownError>,
    /// The literal body; `None` for the error's own.
    pub body: Option<Arc<str>>,
    /// Headers beside the usual ones, or in their place.
    pub headers: Vec<(String, String)>,
    /// When to try again, as the answer says it.
    pub retry_after: Option<Micros>,
    /// Whether headers have rate limits.
    pub rate_limits: bool,
}

/// Why no connection comes about, or why it ends before the answer's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFault {
    /// No server listens.
    Refused,
    /// The host's name is not known.
    Dns,
    /// No secure connection.
    Tls,
    /// No connection in time.
    Timeout,
    /// Cut before the head of the answer.
    Reset,
    /// Cut while the request was being sent.
    BrokenPipe,
}

impl ConnectFault {
    /// All of them with the word that scenarios use.
    pub const ALL: [(&'static str, Self); 6] = [
        ("refused", Self::Refused),
        ("dns", Self::Dns),
        ("tls", Self::Tls),
        ("timeout", Self::Timeout),
        ("reset", Self::Reset),
        ("broken_pipe", Self::BrokenPipe),
    ];
}

/// How an answer is changed. Events are counted as they come, pings and all.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerChange {
    /// The connection ends early.
    Cut {
        /// Where.
        after: CutAfter,
        /// How.
        how: CutManner,
    },
    /// Nothing comes for a time.
    Stall {
        /// After so many events.
        after_events: u32,
        /// How long; `None` for ever.
        time: Option<Micros>,
    },
    /// One event more; one called `error` is the last.
    Insert {
        /// After so many events.
        after_events: u32,
        /// Its name.
        name: Arc<str>,
        /// Its data.
        data: Arc<str>,
    },
    /// One event comes twice.
    Duplicate {
        /// Its name.
        name: &'static str,
        /// The first one after so many events.
        after_events: u32,
    },
    /// One event does not come.
    Missing {
        /// Its name.
        name: &'static str,
        /// The first one after so many events.
        after_events: u32,
    },
    /// The head alone.
    EmptyBody,
    /// The head says that the body is something else.
    ContentType(Arc<str>),
    /// The last piece of the first tool use's input lacks its second half.
    TruncateToolInput,
    /// The body comes at so many bytes a second.
    Drip {
        /// At least 1.
        bytes_per_second: u32,
    },
}

/// Where a connection ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutAfter {
    /// After so many events.
    Events(u32),
    /// After so many bytes of the body, which may be inside an event or a character.
    Bytes(u32),
}

/// How a connection ends early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CutManner {
    /// It breaks.
    #[default]
    Reset,
    /// It is closed as if it were complete.
    Close,
    /// It is closed, and the client can see that something is missing: a chunked body without its last chunk.
    Truncate,
}

impl CutManner {
    /// All of them with the word that scenarios use.
    pub const ALL: [(&'static str, Self); 3] = [("reset", Self::Reset), ("close", Self::Close), ("truncate", Self::Truncate)];

    /// The word that scenarios use.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }
}

/// The parts of a stream that can be duplicated or missing: the word that scenarios use, and the event's name.
pub const STREAM_PARTS: [(&str, &str); 6] = [
    ("block_start", "content_block_start"),
    ("block_stop", "content_block_stop"),
    ("block_delta", "content_block_delta"),
    ("message_start", "message_start"),
    ("message_delta", "message_delta"),
    ("message_stop", "message_stop"),
];

/// A few words for transcripts: `529 overloaded_error`, `cut after 3 events, reset`.
impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instead(AnswerSubstitute::Answer(answer)) => answer.fmt(f),
            Self::Instead(AnswerSubstitute::Connection(how)) => {
                write!(f, "connect {}", ConnectFault::ALL.iter().find(|(_, known)| known == how).map_or("", |(word, _)| word))
            }
            Self::Change(change) => change.fmt(f),
        }
    }
}

impl fmt::Display for FaultAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        match (&self.body, self.known_error()) {
            (Some(_), _) => f.write_str(" with a literal body")?,
            (None, Some(error)) if self.error.is_some() => write!(f, " {} {}", error.kind, error.name)?,
            (None, Some(error)) => write!(f, " {}", error.kind)?,
            (None, None) => (),
        }
        match self.retry_after {
            Some(span) => write!(f, ", retry after {span}"),
            None => Ok(()),
        }
    }
}

impl FaultAnswer {
    /// The error whose body it has unless a literal one is given; `None` when the status has no usual one.
    pub fn known_error(&self) -> Option<&'static KnownError> {
        self.error.or_else(|| KnownError::usual(self.status))
    }
}

impl fmt::Display for AnswerChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { after, how } => {
                let (count, unit) = match after {
                    CutAfter::Events(count) => (count, "event"),
                    CutAfter::Bytes(count) => (count, "byte"),
                };
                write!(f, "{} after {}", how.as_str(), plural((*count).into(), unit))
            }
            Self::Stall { after_events, time } => {
                match time {
                    Some(time) => write!(f, "stall of {time}")?,
                    None => f.write_str("stall without end")?,
                }
                write!(f, " after {}", plural((*after_events).into(), "event"))
            }
            Self::Insert { after_events, name, data } => {
                let kind = if &**name == "error" { "error event" } else { "inserted event" };
                write!(f, "{kind} after {}: {name} {data}", plural((*after_events).into(), "event"))
            }
            Self::Duplicate { name, .. } => write!(f, "duplicate {name}"),
            Self::Missing { name, .. } => write!(f, "missing {name}"),
            Self::EmptyBody => f.write_str("empty body"),
            Self::ContentType(kind) => write!(f, "content-type {kind}"),
            Self::TruncateToolInput => f.write_str("truncated tool input"),
            Self::Drip { bytes_per_second } => write!(f, "drip of {} a second", plural((*bytes_per_second).into(), "byte")),
        }
    }
}
