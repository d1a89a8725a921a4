//! The output of an agent: messages for its consumers. Notes that only a transcript shows are in [`note`](Note).
//!
//! Every name here is derived from lineage: a message's uuid says prompt, request, attempt and block.

mod note;

pub use note::{AttemptReport, CompactionLevel, Note, PipelineStep, SessionPhase, ToolState, Transition};

use serde::{Deserialize, Serialize};

use super::budget::NanoUsd;
use super::contract::{ProgressKind, RequestId, Terminal, ToolRun};
use super::hook::HookRun;
use super::permission::PermissionMode;
use super::time::{Micros, Time};
use reenact_wire::block::Block;
use reenact_wire::event::StreamEvent;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

/// Something for the consumer of an agent.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emission {
    /// `system/init`: the surroundings of the session (S-4).
    Init {
        /// The number of the prompt.
        prompt: u32,
        /// The model.
        model: Arc<str>,
        /// Names of the tools, in order.
        tools: Vec<Arc<str>>,
        /// The rest of what there is.
        #[serde(default, skip_serializing_if = "SessionSurroundings::is_empty")]
        surroundings: Box<SessionSurroundings>,
    },
    /// A raw stream event.
    StreamEvent {
        /// The request that it answers.
        id: RequestId,
        /// The event.
        event: Arc<StreamEvent>,
        /// On the first event of an answer: the time since its request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_to_first_token: Option<Micros>,
    },
    /// One finished content block of an answer, or an error in an answer's place.
    Assistant(Arc<AssistantMessage>),
    /// The block that the model was at when its answer was aborted, as far as it came (Q-10a): text or thinking. It will not be completed, and no
    /// request holds it.
    Aborted(Arc<AssistantMessage>),
    /// Why the model stopped, and the answer's tokens: what its assistant messages did not know yet. Said as soon as the stream says it, and
    /// again if the stream says something else later.
    Answered {
        /// The id of its request.
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
        /// The run of the tool.
        run: ToolRun,
        /// The tool use.
        tool_use_id: Arc<str>,
        /// Its content.
        text: Arc<str>,
        /// Where it says it, if that is known (T-32).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ProgressKind>,
        /// Its own name and time, where consumers want details (T-32).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<ProgressDetails>,
    },
    /// The set of tool uses in progress changed (T-10).
    InProgress {
        /// The tool uses from start to the emission of their result, in order of arrival.
        tool_use_ids: Vec<Arc<str>>,
    },
    /// The answer to "may the user interrupt now?" changed: something executes, and all of it stops when told to (T-18).
    Interruptible(bool),
    /// The user interrupted: a user message that says so.
    Interrupted {
        /// The number of the prompt.
        prompt: u32,
        /// The message's text.
        text: Arc<str>,
    },
    /// A message that was submitted while tools ran is part of the conversation now (S-7, Q-18).
    QueuedCommand {
        /// Its number: it will not become a prompt of its own.
        prompt: u32,
        /// Its content.
        content: Arc<[Block]>,
    },
    /// A failed attempt will be repeated. Emitted before the wait.
    ApiRetry {
        /// The attempt that failed.
        id: RequestId,
        /// The number of the retry, from 1.
        retry: u32,
        /// How many there may be; 0 for any number.
        of: u32,
        /// The length of the wait.
        delay: Micros,
        /// HTTP status, where there was one.
        status: Option<u16>,
        /// The kind of error.
        kind: Arc<str>,
        /// The message.
        text: Arc<str>,
    },
    /// A hidden user message: the engine wrote it for the model (Q-15, Q-16, Q-17, S-9).
    Hidden {
        /// Its name in the conversation.
        uuid: Arc<str>,
        /// Why it is there: the transition or the hook that made it.
        why: Arc<str>,
        /// Its content.
        text: Arc<str>,
    },
    /// Another model takes over for the rest of the prompt.
    ModelFallback {
        /// The attempt that gave up.
        id: RequestId,
        /// The model that did not answer.
        from: Arc<str>,
        /// The model that takes over.
        to: Arc<str>,
        /// The reason.
        reason: Arc<str>,
    },
    /// A message that was emitted does not count: consumers remove it.
    Tombstone {
        /// Its name.
        uuid: Arc<str>,
    },
    /// Dead messages are gone from the conversation (C-1).
    SnipBoundary {
        /// Their names.
        names: Vec<Arc<str>>,
        /// About how many tokens that saves.
        tokens_freed: u64,
    },
    /// Old tool results are cleared (C-2).
    MicrocompactBoundary {
        /// The tool uses whose results they are.
        tool_use_ids: Vec<Arc<str>>,
        /// About how many tokens that saves, or how many the API says that it saved.
        tokens_freed: u64,
    },
    /// All before this is summarised (C-4, C-5, C-9).
    CompactBoundary {
        /// The reason.
        trigger: CompactTrigger,
        /// About how many tokens the context had before.
        tokens_before: u64,
        /// And has now.
        tokens_after: u64,
        /// The names of the messages from before that stay; they stand behind the summary.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<Arc<str>>,
    },
    /// The turn limit is reached (S-10).
    MaxTurnsReached {
        /// The number of turns.
        turns: u32,
    },
    /// The model called the structured-output tool (S-9).
    StructuredOutput {
        /// Its input.
        json: Json,
    },
    /// Something that a hook wants the model to know (T-23, T-26).
    HookContext {
        /// The run of the hook.
        hook: HookRun,
        /// Its content.
        text: Arc<str>,
    },
    /// A slash command answers without the model (S-5).
    LocalOutput {
        /// The number of the prompt.
        prompt: u32,
        /// Its content.
        text: Arc<str>,
    },
    /// The user's message, repeated for consumers that want the whole conversation (S-11).
    UserPrompt {
        /// The number of the prompt.
        prompt: u32,
        /// Its content.
        content: Arc<[Block]>,
    },
    /// A long wait continues.
    Heartbeat {
        /// The attempt that failed.
        id: RequestId,
        /// The time since the beginning of the wait.
        waited: Micros,
        /// The rest of the wait.
        remaining: Micros,
    },
    /// The speed of requests changed.
    Speed {
        /// Whether they are fast from now on.
        fast: bool,
        /// Until when they are not; `None` for good.
        until: Option<Time>,
        /// The reason.
        reason: Arc<str>,
    },
    /// The current activity of the session, for consumers (S-11: status reports).
    Status {
        /// A word: `requesting`, `compacting` or `idle`. It holds until the next one.
        status: Arc<str>,
    },
    /// Something that the user should know and that stops nothing.
    Warning {
        /// The text of the message.
        text: Arc<str>,
    },
    /// The state of the files is kept under this message's name (S-6).
    FileSnapshot {
        /// The message.
        uuid: Arc<str>,
    },
    /// The last message of a prompt (S-8).
    Result(Box<ResultMessage>),
    /// One line about a turn's tools (S-7: tool-use summaries).
    ToolUseSummary {
        /// The line.
        text: Arc<str>,
        /// The tool uses that it is about, in order.
        tool_use_ids: Vec<Arc<str>>,
    },
    /// A hook runs (S-11: verbose).
    HookStarted {
        /// The run of the hook.
        hook: HookRun,
        /// Its name.
        name: Arc<str>,
    },
    /// A hook runs no more (S-11: verbose).
    HookEnded {
        /// The run of the hook.
        hook: HookRun,
        /// Its name.
        name: Arc<str>,
        /// Whether it had answered; otherwise it was stopped, or its time was up.
        answered: bool,
    },
    /// The effect of a level of compaction, or why it did nothing (S-11: verbose).
    CompactionReport {
        /// The level.
        level: CompactionLevel,
        /// Whether it changed the conversation.
        ran: bool,
        /// The reason, for or against it.
        why: Arc<str>,
        /// About how many tokens the context had before.
        before: u64,
        /// And has now.
        after: u64,
    },
}

/// Which progress of a tool this is, and when it came (T-32).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProgressDetails {
    /// Own name, derived from the tool run.
    pub id: Arc<str>,
    /// How long after the start of the call.
    pub after: Micros,
}

/// The surroundings of a session beside model and tools (S-4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSurroundings {
    /// The servers that tools come from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<Arc<str>>,
    /// The handling of calls without a deciding rule, where permissions are set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// Skills, as looked up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Arc<str>>,
    /// Plugins, as looked up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<Arc<str>>,
    /// Kinds of agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Arc<str>>,
}

impl SessionSurroundings {
    /// Whether there is nothing of all that.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a conversation was compacted (C-4, C-5, C-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactTrigger {
    /// The context came near the window.
    Auto,
    /// The user asked for it.
    Manual,
    /// The API refused the prompt as too long.
    Reactive,
}

impl CompactTrigger {
    /// The word that transcripts and scenarios use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
            Self::Reactive => "reactive",
        }
    }
}

/// One content block that the model sent, or an error that took its place.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
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
    /// The kind of the error, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Arc<str>>,
}

/// A user message that the engine made: a tool's result.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct UserMessage {
    /// Own name, derived from the tool run.
    pub uuid: Arc<str>,
    /// The run that this is the result of.
    pub run: ToolRun,
    /// The assistant message that holds the tool use (T-16).
    pub answers: Arc<str>,
    /// The result block.
    pub block: Block,
    /// The result in the tool's own form, which the model does not see (T-32).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
    /// How long the call took, where consumers want details (T-32); `None` for what was not called, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Micros>,
}

/// How a prompt went, in one message (S-8).
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ResultMessage {
    /// The number of the prompt.
    pub prompt: u32,
    /// The kind of end.
    pub subtype: ResultSubtype,
    /// Whether the consumer should take it for a failure.
    pub is_error: bool,
    /// The reason.
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
    /// The problem.
    pub errors: Vec<Arc<str>>,
    /// The cost of the prompt (S-10).
    #[serde(default)]
    pub cost: NanoUsd,
    /// The same by model, in the order of first use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost_by_model: Vec<(Arc<str>, NanoUsd)>,
    /// The input of the structured-output tool (S-9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Json>,
    /// Warnings about the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Arc<str>>,
    /// The tool uses that were not permitted, in order (S-1).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permission_denials: Vec<PermissionDenial>,
}

/// A tool use that was not permitted: by a hook, a rule, the mode, the tool itself or a person (S-1, T-24).
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct PermissionDenial {
    /// The tool.
    pub tool: Arc<str>,
    /// The tool use.
    pub tool_use_id: Arc<str>,
    /// The input of the denied tool use.
    pub input: Json,
}

/// The kinds of result message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultSubtype {
    /// Ended well.
    Success,
    /// Ended with an error.
    ErrorDuringExecution,
    /// The turn limit was reached (S-10).
    ErrorMaxTurns,
    /// The money is spent (S-10).
    ErrorMaxBudgetUsd,
    /// The model was asked too often for its structured output (S-9).
    ErrorMaxStructuredOutputRetries,
}

impl ResultSubtype {
    /// The word that transcripts and scenarios use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ErrorDuringExecution => "error_during_execution",
            Self::ErrorMaxTurns => "error_max_turns",
            Self::ErrorMaxBudgetUsd => "error_max_budget_usd",
            Self::ErrorMaxStructuredOutputRetries => "error_max_structured_output_retries",
        }
    }
}
