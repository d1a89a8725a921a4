//! Faults between engine and model server: which requests they hit, and what they change (M-4).
//!
//! Of a scenario's faults the first one that fits a request counts. It either takes the place of the answer, which is then still there for the next
//! attempt, or changes it; a changed answer is given again when the same thing is asked again.

pub mod known_errors;

use core::fmt;

use known_errors::KnownError;

use crate::language::forms::{ModelName, Probability};
use crate::language::keys::keys;
use crate::parse::reader::TableReader;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

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

keys! {
    /// Which requests are hit: those that fit all keys.
    pub struct FaultPlace check check_place {
        /// Numbers of prompts.
        prompt: Option<NumberSpan> = None;
        /// Numbers of requests within their prompt, as transcripts name them.
        request: Option<NumberSpan> = None;
        /// Numbers of attempts.
        attempt: Option<NumberSpan> = None;
        /// The model that is asked.
        model: Option<Arc<str>> as Option<ModelName> = None;
        /// `main` for the agent that talks with the user, else the id of the tool use that made the agent.
        thread: Option<Arc<str>> = None, example("\"main\"");
        /// Requests made at this virtual time or later.
        after: Option<Micros> = None;
        /// Requests made before this virtual time.
        before: Option<Micros> = None;
        /// How probable it is for each of them, from 0 to 1; drawn under the request's own key (D3).
        probability: Option<f64> as Option<Probability> = None;
    }
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

words! {
    /// Why no connection comes about, or why it ends before the answer's head.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ConnectFault {
        /// No server listens.
        Refused = "refused",
        /// The host's name is not known.
        Dns = "dns",
        /// No secure connection.
        Tls = "tls",
        /// No connection in time.
        Timeout = "timeout",
        /// Cut before the head of the answer.
        Reset = "reset",
        /// Cut while the request was being sent.
        BrokenPipe = "broken_pipe",
    }
}

/// How an answer is changed. Events are counted as they come, pings and all.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerChange {
    /// The connection ends early.
    Cut {
        /// The place of the cut.
        after: CutAfter,
        /// The manner of the cut.
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

words! {
    /// How a connection ends early.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CutManner default Reset {
        /// It breaks.
        Reset = "reset",
        /// It is closed as if it were complete.
        Close = "close",
        /// It is closed, and the client can see that something is missing: a chunked body without its last chunk.
        Truncate = "truncate",
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
                write!(f, "connect {}", how.as_str())
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

/// Times between which no request can be made.
fn check_place(place: &FaultPlace, reader: &mut TableReader<'_, '_>) {
    if let (Some(after), Some(before)) = (place.after, place.before)
        && after >= before
    {
        reader.value_problem("before", "no request is made after `after` and before `before`: make `before` the later one".into());
    }
}
