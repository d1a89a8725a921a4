//! What comes out of an agent: messages for whoever uses it, and notes that only a transcript shows.
//!
//! Every name here is derived from lineage: a message's uuid says prompt, request, attempt and block.

use serde::{Deserialize, Serialize};

use super::contract::{RequestId, Terminal, ToolRun};
use super::time::{Micros, Time};
use crate::prelude::*;
use crate::wire::block::Block;
use crate::wire::event::Event;
use crate::wire::usage::Usage;

/// Something for the consumer of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Emission {
    /// `system/init`: what the session works with (S-4).
    Init {
        /// Which prompt.
        prompt: u32,
        /// The model.
        model: Arc<str>,
        /// Names of the tools, in order.
        tools: Vec<Arc<str>>,
    },
    /// A raw stream event.
    StreamEvent {
        /// The request that it answers.
        id: RequestId,
        /// The event.
        event: Arc<Event>,
        /// On the first event of an answer: the time since its request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_to_first_token: Option<Micros>,
    },
    /// One finished content block of an answer, or an error in an answer's place.
    Assistant(Arc<AssistantMessage>),
    /// An answer is complete: what its assistant messages did not know yet.
    Answered {
        /// Which request it answers.
        id: RequestId,
        /// The last of its assistant messages, whose stop reason and tokens these are; `None` when the answer was empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uuid: Option<Arc<str>>,
        /// The stop reason; `None` when the API gave none.
        stop_reason: Option<Arc<str>>,
        /// The answer's tokens.
        usage: Usage,
    },
    /// A user message: a tool result.
    User(Arc<UserMessage>),
    /// Progress of a tool (T-6).
    Progress {
        /// Which run.
        run: ToolRun,
        /// The tool use.
        tool_use_id: Arc<str>,
        /// What it says.
        text: Arc<str>,
    },
    /// The set of tool uses in progress changed (T-10).
    InProgress {
        /// The tool uses from start to the emission of their result, in order of arrival.
        tool_use_ids: Vec<Arc<str>>,
    },
    /// The answer to "may the user interrupt now?" changed: something executes, and all of it stops when told to (T-18).
    Interruptible(bool),
    /// The user interrupted, said as a user message.
    Interrupted {
        /// Which prompt.
        prompt: u32,
        /// What the message says.
        text: Arc<str>,
    },
    /// A message that was submitted while tools ran is part of the conversation now (S-7, Q-18).
    QueuedCommand {
        /// Its number: it will not become a prompt of its own.
        prompt: u32,
        /// What it says.
        content: Arc<[Block]>,
    },
    /// A failed attempt will be repeated. Emitted before the wait.
    ApiRetry {
        /// The attempt that failed.
        id: RequestId,
        /// Which retry this is, from 1.
        retry: u32,
        /// How many there may be.
        of: u32,
        /// How long the wait is.
        delay: Micros,
        /// HTTP status, where there was one.
        status: Option<u16>,
        /// The kind of error.
        kind: Arc<str>,
        /// What was said.
        text: Arc<str>,
    },
    /// The last message of a prompt (S-8).
    Result(Box<ResultMessage>),
}

/// One content block that the model sent, or an error that took its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Own name, e.g. `p1.r2.a1.b0`.
    pub uuid: Arc<str>,
    /// The request that it answers.
    pub id: RequestId,
    /// The API's message id; blocks with the same one are one message again in the next request (N-7). Empty for an error.
    pub api_id: Arc<str>,
    /// The model that answered.
    pub model: Arc<str>,
    /// The block.
    pub block: Block,
    /// What kind of error this is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Arc<str>>,
}

/// A user message that the engine made: a tool's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Own name, derived from the tool run.
    pub uuid: Arc<str>,
    /// The run that this is the result of.
    pub run: ToolRun,
    /// The assistant message that holds the tool use (T-16).
    pub answers: Arc<str>,
    /// The result block.
    pub block: Block,
}

/// How a prompt went, in one message (S-8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultMessage {
    /// Which prompt.
    pub prompt: u32,
    /// How it went.
    pub subtype: ResultSubtype,
    /// Whether the consumer should take it for a failure.
    pub is_error: bool,
    /// Why it ended.
    pub terminal: Terminal,
    /// Virtual time since the prompt.
    pub duration: Micros,
    /// Virtual time with a request under way.
    pub api_duration: Micros,
    /// Answers that had tool results (S-7b, S-10).
    pub turns: u32,
    /// The text of the last answer; empty when it has none.
    pub text: Arc<str>,
    /// The last stop reason.
    pub stop_reason: Option<Arc<str>>,
    /// Tokens of all answers of the prompt.
    pub usage: Usage,
    /// The same by model, in the order of first use.
    pub usage_by_model: Vec<(Arc<str>, Usage)>,
    /// What went wrong.
    pub errors: Vec<Arc<str>>,
}

/// The kinds of result message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultSubtype {
    /// Ended well.
    Success,
    /// Ended with an error.
    ErrorDuringExecution,
}

impl ResultSubtype {
    /// The word that transcripts and scenarios use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ErrorDuringExecution => "error_during_execution",
        }
    }
}

/// Something that only a transcript shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// A phase of the session began (S-1 to S-8).
    Phase(Phase),
    /// The query loop goes on, and why.
    Transition(Transition),
    /// An attempt at a request is over.
    Attempt(Box<AttemptReport>),
    /// A tool entry changed its state (T-1).
    Tool {
        /// Which.
        run: ToolRun,
        /// Its state now.
        state: ToolState,
    },
    /// A context change of an exclusive tool was applied (T-11).
    ContextChanged {
        /// Which run brought it.
        run: ToolRun,
        /// The change.
        change: Arc<str>,
    },
    /// Something is wrong with an answer or a tool, and the engine went on.
    Defect {
        /// The request or the answer it is about.
        id: RequestId,
        /// A stable short name.
        name: Arc<str>,
        /// What there is to say beside the name; may be empty.
        text: Arc<str>,
    },
}

/// The session's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// S-1.
    Init,
    /// S-2.
    SystemPrompt,
    /// S-3.
    UserInput,
    /// S-4.
    InitMessage,
    /// S-7.
    MainLoop,
    /// S-8.
    Result,
}

/// Why the query loop goes round again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Transition {
    /// Tool results are in.
    NextTurn,
    /// The server paused its own tool loop.
    PauseTurnResume,
    /// The model refused and a setting asks for one more try.
    RefusalRetry,
}

impl Transition {
    /// The word that transcripts and scenarios use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NextTurn => "next_turn",
            Self::PauseTurnResume => "pause_turn_resume",
            Self::RefusalRetry => "refusal_retry",
        }
    }
}

/// T-1, and the class that T-3 gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolState {
    /// Waits, and may run beside others.
    QueuedSafe,
    /// Waits, and must run alone.
    QueuedExclusive,
    /// Runs.
    Executing,
    /// Has its result.
    Completed,
    /// Its result is emitted.
    Yielded,
    /// It was told to stop and has not yet (T-15a).
    Stopping,
}

/// One attempt, from its start to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptReport {
    /// Which.
    pub id: RequestId,
    /// The model that was asked.
    pub model: Arc<str>,
    /// Which HTTP client made it: grows when a failure asks for a new one.
    pub client: u32,
    /// When the request was made.
    pub started: Time,
    /// When the head of the answer was in.
    pub first_byte: Option<Time>,
    /// When it was over.
    pub ended: Time,
    /// `ok`, or what went wrong.
    pub outcome: Arc<str>,
    /// The tokens of its answer.
    pub usage: Usage,
}
