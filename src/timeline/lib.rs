//! A recorded session on one axis of time, as it happened (V-8).
//!
//! ```text
//!   lines of a tape, exchanges ──> TapeReader ─┐
//!                                              ├──> TimelineBuilder ──> SessionTimeline
//!   text of a boundary log ──────> read_log ───┘
//! ```
//!
//! A timeline says what a recording says, and nothing else: no engine is run. What a recording does not know is `None`.
//! All times are microseconds from the start of the recording.
//!
//! Its rule is in `docs/rules/review.md` (V-8).

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod answer_progress;
mod attempt_progress;
mod attempts;
pub mod builder;
mod figures;
mod gaps;
mod log;
mod remarks;
mod request_contents;
mod request_facts;
mod tape;
#[cfg(test)]
mod tests;
mod time_shares;
mod token_totals;

use serde::Serialize;

use reenact_engine::time::Micros;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

use self::request_facts::RequestKeys;

pub use self::figures::{grouped, span_text, usage_text};
pub use self::log::read_log;
pub use self::remarks::{RemarkKind, TimelineRemark};
pub use self::request_contents::{ContentPart, RequestContents};
pub use self::tape::TapeReader;
pub use self::time_shares::{TimeShares, idle_spans, tools_at_once};

/// A stream that is silent for longer stalls, and a thread without a request for longer is remarked, unless another limit is asked for.
pub const STALL_LIMIT: Micros = Micros::from_secs(3);

/// How a recording is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadingOptions {
    /// A stream that is silent for longer stalls.
    pub stall_limit: Micros,
    /// Whether texts, inputs and the contents of requests are kept, for who compares recordings.
    pub keeps_contents: bool,
}

impl Default for ReadingOptions {
    fn default() -> Self {
        Self { stall_limit: STALL_LIMIT, keeps_contents: false }
    }
}

impl ReadingOptions {
    /// Adds as much of `text` as is kept.
    pub(crate) fn keep(self, kept: &mut String, text: &str) {
        if self.keeps_contents {
            kept.push_str(text);
        } else {
            let room = BEGINNING_CHARS.saturating_sub(kept.chars().count());
            kept.extend(text.chars().take(room));
        }
    }
}

/// So much of a text or an input is kept where contents are not.
const BEGINNING_CHARS: usize = 160;

/// Everything that a recording says of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionTimeline {
    /// The facts about the recording itself.
    pub source: TimelineSource,
    /// How many parts of it cannot be read, and are not shown.
    pub unread: usize,
    /// Whether anything in it has a time. Without, there is an order and no axis.
    pub has_times: bool,
    /// The last instant that it tells of.
    pub until: Micros,
    /// The limit for stalls and gaps that was used.
    pub stall_limit: Micros,
    /// The threads of conversation, in the order in which they begin.
    pub threads: Vec<ThreadSummary>,
    /// One for each answer that was wanted, in the order in which they begin.
    pub requests: Vec<RecordedCall>,
    /// The tool uses, in the order in which they were asked for.
    pub tools: Vec<ToolInterval>,
    /// The user's prompts and aborts, as far as they are known.
    pub marks: Vec<TimelineMark>,
    /// The time between the attempts of a thread.
    pub gaps: Vec<ThreadGap>,
    /// The tokens that were counted, by model.
    pub tokens: Vec<ModelTokens>,
    /// Where the time went; `None` without times.
    pub time: Option<TimeShares>,
    /// The exchanges that ask for no message: path and count.
    pub others: Vec<OtherExchanges>,
    /// Everything that deserves a look.
    pub remarks: Vec<TimelineRemark>,
}

/// The facts about a recording itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimelineSource {
    /// `a tape`, `a HAR file`, `a boundary log` …
    pub kind: String,
    /// The program that wrote it.
    pub recorder: Option<String>,
    /// When the recording was made, as it says itself.
    pub recorded_at: Option<String>,
    /// The upstream host.
    pub upstream: Option<String>,
    /// The facts that it does not hold.
    pub lost: Vec<String>,
}

/// A thread of conversation. All other parts name it by its place in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadSummary {
    /// `main`, `thread-2`, or `agent 1A` for the agent that a tool use made.
    pub name: Arc<str>,
    /// How many answers were wanted in it.
    pub requests: usize,
}

/// One answer that was wanted, with all attempts at it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedCall {
    /// Its number, from 1.
    pub number: usize,
    /// The place of its thread.
    pub thread: usize,
    /// The attempts, in order. There is at least one.
    pub attempts: Vec<RecordedAttempt>,
}

/// One request with its response.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedAttempt {
    /// Its name in the recording: the number of its exchange, or the name of its request in a log.
    pub exchange: String,
    /// When it was made.
    pub at: Option<Micros>,
    /// When the head of its response was in.
    pub head_at: Option<Micros>,
    /// When the first of its answer was in.
    pub first_at: Option<Micros>,
    /// When it ended. `None` of one that is open, too.
    pub end_at: Option<Micros>,
    /// HTTP status; `None` before a head.
    pub status: Option<u16>,
    /// How it ended.
    pub end: RecordedEnd,
    /// The failure in words.
    pub problem: Option<String>,
    /// How long the server asked to wait.
    pub retry_after: Option<Micros>,
    /// The model: of the answer, or else of the request.
    pub model: Arc<str>,
    /// How many messages the request has.
    pub messages: usize,
    /// The tool results that it is the first to carry, in its order.
    pub results: Vec<CarriedResult>,
    /// Tokens by the latest report.
    pub usage: Usage,
    /// Why the model stopped.
    pub stop_reason: Option<Arc<str>>,
    /// The blocks of the answer as they came.
    pub blocks: Vec<BlockInterval>,
    /// When the stream was silent for too long.
    pub stalls: Vec<StreamStall>,
    /// The contents that it is the first to carry; `None` where contents are not kept.
    #[serde(skip)]
    pub contents: Option<RequestContents>,
    #[serde(skip)]
    pub(crate) keys: RequestKeys,
}

words! {
    /// How an attempt ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RecordedEnd default Open {
        /// With a whole message.
        Answered = "answered",
        /// With a status that is an error.
        Refused = "refused",
        /// With an error inside of the stream.
        Failed = "failed",
        /// The response is not a whole message: cut, timed out, or something else.
        Cut = "cut",
        /// The client went away.
        Abandoned = "abandoned",
        /// The recording ends before it.
        Open = "open",
    }
}

/// A tool result in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CarriedResult {
    /// The id of its tool use.
    pub id: Arc<str>,
    /// The place of its tool use in [`SessionTimeline::tools`]; `None` of a tool use that is not recorded.
    pub tool: Option<usize>,
    /// Whether it is an error.
    pub is_error: bool,
}

/// A block of an answer as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockInterval {
    /// Its `type`.
    pub kind: Arc<str>,
    /// When it began.
    pub at: Option<Micros>,
    /// When it was complete; `None` also of one that never was.
    pub end_at: Option<Micros>,
    /// Whether it was complete.
    pub is_complete: bool,
    /// How many bytes of text, thinking or input it has.
    pub bytes: u64,
    /// How its text or its input begins; all of it where contents are kept.
    pub beginning: String,
    /// The place of the tool use that it is.
    pub tool: Option<usize>,
}

/// A silence in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StreamStall {
    /// When the last content came.
    pub at: Micros,
    /// When the next came, or the end.
    pub end_at: Micros,
    /// How many pings came meanwhile.
    pub pings: u32,
}

/// A tool use, from the block that asked for it to the request that carries its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolInterval {
    /// `3A`: the first tool use in the answer to request 3; `3.2A` in that to its second attempt.
    pub label: String,
    /// The API's id.
    pub id: Arc<str>,
    /// The tool's name.
    pub name: Arc<str>,
    /// How its input begins.
    pub input: String,
    /// The place of its thread.
    pub thread: usize,
    /// The number of the request whose answer asks for it.
    pub request: usize,
    /// When its block was complete, or else when its answer was.
    pub at: Option<Micros>,
    /// When its run began and ended, in a boundary log.
    pub runs: Vec<ToolRunInterval>,
    /// The requests that carry its result, the first one first.
    pub returns: Vec<ToolReturn>,
    /// Its fate.
    pub fate: ToolFate,
}

/// The run of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ToolRunInterval {
    /// When it began.
    pub at: Micros,
    /// When it ended; `None` of one that did not.
    pub end_at: Option<Micros>,
}

/// A tool result that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolReturn {
    /// The number of the request that carries it.
    pub request: usize,
    /// When that was made.
    pub at: Option<Micros>,
    /// Whether it is an error.
    pub is_error: bool,
}

words! {
    /// The fate of a tool use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ToolFate default Open {
        /// Its result was sent.
        Returned = "returned",
        /// A result that is an error was sent.
        Error = "error",
        /// Its thread went on without its result.
        Missing = "missing",
        /// Its answer was not whole, and nothing was sent for it.
        Dropped = "dropped",
        /// The recording ends before its result.
        Open = "open",
    }
}

/// Something that the user did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimelineMark {
    /// When.
    pub at: Micros,
    /// The place of its thread.
    pub thread: usize,
    /// `prompt`, `cancel`, `interrupt`, or `finished` for the end of a prompt.
    pub kind: &'static str,
    /// Its words.
    pub text: String,
}

/// Time of a thread between the end of an attempt and the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadGap {
    /// The place of its thread.
    pub thread: usize,
    /// The number of the request before it.
    pub after: usize,
    /// When it began.
    pub at: Micros,
    /// When it ended.
    pub end_at: Micros,
    /// Its cause, as far as it is known.
    pub cause: GapCause,
}

words! {
    /// The cause of a gap between two attempts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum GapCause {
        /// The next request carries results: tools ran, somewhere in it.
        Tools = "tools",
        /// The next attempt asks the same again.
        Retry = "retry",
        /// Nothing is known: the client or its user waited.
        Unknown = "unknown",
    }
}

/// The tokens of all answers of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelTokens {
    /// The model.
    pub model: Arc<str>,
    /// How many attempts reported tokens.
    pub answers: usize,
    /// Their sum.
    pub usage: Usage,
}

/// Exchanges that ask for no message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherExchanges {
    /// Method and path, without its query.
    pub path: String,
    /// How many there are.
    pub count: usize,
}

impl SessionTimeline {
    /// How many attempts there are.
    pub fn attempts(&self) -> impl Iterator<Item = (&RecordedCall, &RecordedAttempt)> {
        self.requests.iter().flat_map(|call| call.attempts.iter().map(move |attempt| (call, attempt)))
    }

    /// Whether anything had not ended when the recording ended.
    pub fn is_open(&self) -> bool {
        self.attempts().any(|(_, attempt)| attempt.end == RecordedEnd::Open)
    }
}

impl RecordedAttempt {
    /// When its answer began to come in. The head alone is no answer; it counts where a whole answer has no times of its own.
    pub fn answer_at(&self) -> Option<Micros> {
        let came = self.end == RecordedEnd::Answered || !self.blocks.is_empty();
        self.first_at.or(self.head_at.filter(|_| came))
    }
}

impl RecordedCall {
    /// The attempt that was the last.
    pub fn last(&self) -> &RecordedAttempt {
        // A call is made with its first attempt.
        &self.attempts[self.attempts.len() - 1]
    }

    /// `3`, or `3.2` for its second attempt; `index` counts from 0.
    pub fn attempt_label(&self, index: usize) -> String {
        if index == 0 { self.number.to_string() } else { format!("{}.{}", self.number, index + 1) }
    }
}

impl ToolInterval {
    /// From its block to the request with its result, or to `until` where that never came and could still; `None` without times, and of one that
    /// nobody waited for.
    pub fn span(&self, until: Micros) -> Option<(Micros, Micros)> {
        let to = match (self.returns.first(), self.fate) {
            (Some(first), _) => first.at?,
            (None, ToolFate::Open) => until,
            // Nothing says until when it was waited for; its runs may.
            (None, _) => self.runs.iter().filter_map(|run| run.end_at).max()?,
        };
        self.at.map(|at| (at, to.max(at)))
    }
}
