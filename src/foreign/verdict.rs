//! The verdict when serving is over: the requests, the answers, and the problems (K-6).

use core::fmt;
use core::time::Duration;

use super::questions::VerdictQuestions;
use reenact_engine::contract::{Agent, RequestId};
use reenact_engine::time::{Micros, Time};
use reenact_oracle::Violation;
use reenact_scenario::parse::TablePlaces;
use reenact_scenario::statement::PassedStatements;
use reenact_sim::statements::{self, PlayedRun, RunView};
use reenact_transcript::event::{RunEnd, Transcript};
use reenact_transcript::text::end_text;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_world::setup::RunSetup;

/// The verdict on serving a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionVerdict {
    /// Requests as effects, answers as inputs, and what the world has to say of them.
    pub transcript: Transcript,
    /// `tape_exhausted` when a request found no answer, else idle.
    pub end: RunEnd,
    /// The requests, in order, with their answers.
    pub asked: Vec<ServedExchange>,
    /// The unused answers (M-3).
    pub unused: Vec<Arc<str>>,
    /// The faults and answers of the scenario that came to pass (F-10).
    pub passed: PassedStatements,
    /// The questions that were asked of the client, and those that were not.
    pub questions: VerdictQuestions,
    /// Remarks that are no failures: the parts of the scenario that HTTP cannot carry.
    pub remarks: Vec<String>,
    /// The broken rules of oracles. Each is among the failures as well.
    pub violations: Vec<Violation>,
    /// The failures, a sentence each; empty when all is well.
    pub failures: Vec<String>,
}

/// One request and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedExchange {
    /// When it was in.
    pub at: Time,
    /// When its answer was over; `None` while it is not.
    pub over_at: Option<Time>,
    /// Which connection it came over, from 1.
    pub connection: u64,
    /// Method and path.
    pub line: String,
    /// The attribution; `None` when it is not a request for a message.
    pub message: Option<ServedMessage>,
    /// The `x-stainless-retry-count` that it came with.
    pub retry_count: Option<Arc<str>>,
    /// The name of its answer.
    pub answer: Option<Arc<str>>,
    /// The status that it was answered with.
    pub status: Option<u16>,
    /// How many pieces of the body were sent.
    pub pieces: usize,
    /// How the answer ended.
    pub how: ServedEnd,
    /// The mistake in it.
    pub problem: Option<String>,
    /// How long after the first action on the client it was in, by the clock on the wall; `None` where nothing had been done to the client.
    pub after_action: Option<Duration>,
}

/// A request for a message.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedMessage {
    /// The agent.
    pub agent: Agent,
    /// The id.
    pub id: RequestId,
    /// The model that was asked.
    pub model: Arc<str>,
    /// How many messages it had.
    pub messages: usize,
    /// Whether the answer was to be streamed.
    pub stream: bool,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedEnd {
    /// It has not.
    Open,
    /// As HTTP has it.
    Complete,
    /// The connection broke, or was closed inside the body, because the scenario says so.
    Reset,
    /// The client closed the connection.
    ClientLeft,
    /// The client closed the connection when it had everything but the end.
    LeftAtEnd,
    /// The driver of the client had it closed.
    ClosedAtGate,
    /// The driver of the client had it broken.
    ResetAtGate,
    /// It was open when serving was over.
    OpenAtEnd,
    /// There was none.
    Exhausted,
    /// The server went down.
    ServerGone,
}

impl SessionVerdict {
    /// The faults and answers of the scenario that came to nothing, in words (F-10). Without places nobody asks for them.
    pub fn unpassed(&self, setup: &RunSetup, places: &TablePlaces) -> Vec<String> {
        let Self { transcript, end, passed, .. } = self;
        let run = PlayedRun { setup, places, passed, transcript, end };
        if places.is_empty() || run.not_asked().is_some() {
            return Vec::new();
        }
        statements::failures(&[run], RunView::Server).into_iter().map(|failure| failure.text).collect()
    }
}

impl ServedEnd {
    /// A few words for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Reset => "cut",
            Self::ClientLeft => "the client left",
            Self::LeftAtEnd => "the client left before the end",
            Self::ClosedAtGate => "closed at a gate",
            Self::ResetAtGate => "broken at a gate",
            Self::OpenAtEnd => "still open",
            Self::Exhausted => "no answer left",
            Self::ServerGone => "the server went down",
        }
    }
}

impl ServedExchange {
    pub(super) fn message(at: Time, connection: u64, path: &str, agent: &Agent, id: RequestId, request: &Request) -> Self {
        let (model, messages, stream) = (request.model.clone(), request.messages.len(), request.stream);
        let message = ServedMessage { agent: agent.clone(), id, model, messages, stream };
        Self { message: Some(message), ..Self::new(at, connection, format!("POST {path}")) }
    }

    pub(super) fn other(at: Time, connection: u64, line: String, status: u16, problem: Option<String>) -> Self {
        let asked = Self::new(at, connection, line);
        Self { status: Some(status), over_at: Some(at), how: ServedEnd::Complete, problem, ..asked }
    }

    pub(super) fn on_end(&mut self, at: Time, how: ServedEnd) {
        (self.over_at, self.how) = (Some(at), how);
    }

    fn new(at: Time, connection: u64, line: String) -> Self {
        Self {
            at,
            over_at: None,
            connection,
            line,
            message: None,
            retry_count: None,
            answer: None,
            status: None,
            pieces: 0,
            how: ServedEnd::Open,
            problem: None,
            after_action: None,
        }
    }
}

impl SessionVerdict {
    /// Whether nothing is wrong.
    pub fn is_fine(&self) -> bool {
        self.failures.is_empty()
    }
}

/// A line for each request, then what should be known, then what is wrong.
impl fmt::Display for SessionVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for asked in &self.asked {
            writeln!(f, "{asked}")?;
        }
        for remark in &self.remarks {
            writeln!(f, "note: {remark}")?;
        }
        for failure in &self.failures {
            writeln!(f, "FAILED: {failure}")?;
        }
        for (name, what) in [("asked", &self.questions.asked), ("not asked", &self.questions.unasked)] {
            if !what.is_empty() {
                writeln!(f, "{name}: {}", what.join(", "))?;
            }
        }
        let messages = self.asked.iter().filter(|asked| asked.message.is_some()).count();
        let others = self.asked.len() - messages;
        write!(f, "{} for messages, {}", plural(messages as u64, "request"), plural(others as u64, "other"))?;
        write!(f, "; {}", if self.end == RunEnd::Idle { String::from("no request without an answer") } else { end_text(&self.end) })?;
        write!(f, "; {}", if self.is_fine() { "all as expected" } else { "FAILED" })
    }
}

/// `    0.000s  1.2     claude-sonnet-4-5, 3 messages  ->  529 overloaded_error: 529, complete after 0.061s`.
impl fmt::Display for ServedExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>11}  ", self.at.to_string())?;
        match &self.message {
            Some(ServedMessage { agent, id, model, messages, stream }) => {
                let whole = if *stream { "" } else { ", not streamed" };
                write!(f, "{:<8} {model}, {}{whole}", agent.key(*id), plural(*messages as u64, "message"))?;
            }
            None => write!(f, "{:<8} {}", "-", self.line)?,
        }
        f.write_str("  ->  ")?;
        if let Some(answer) = &self.answer {
            write!(f, "{answer}: ")?;
        }
        if let Some(status) = self.status {
            write!(f, "{status}, ")?;
        }
        f.write_str(self.how.as_str())?;
        if let (Some(over), Some(_)) = (self.over_at, &self.message) {
            write!(f, " after {} and {}", plural(self.pieces as u64, "piece"), Micros(over.0.saturating_sub(self.at.0)))?;
        }
        Ok(())
    }
}
