//! Everything that can happen to an engine.

use serde::{Deserialize, Serialize};

use super::{RequestId, TimerId, ToolRun};
use crate::hook::{HookOutcome, HookRun};
use crate::permission::{PermissionAnswer, ToolCheck};
use reenact_wire::block::Block;
use reenact_wire::event::StreamEvent;
use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// Everything that can happen to an engine.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The user submits a prompt.
    Prompt {
        /// The number of the prompt, from 1.
        prompt: u32,
        /// Its content.
        content: Arc<[Block]>,
    },
    /// The head of an answer is in.
    Head {
        /// The id of its request.
        id: RequestId,
        /// HTTP status.
        status: u16,
        /// Headers as received.
        headers: Arc<[HttpHeader]>,
    },
    /// One event of a streamed answer.
    Stream {
        /// The id of its request.
        id: RequestId,
        /// The event.
        event: Arc<StreamEvent>,
    },
    /// The whole body of an answer that is not an event stream (an error, or an answer that was not asked for as a stream).
    Body {
        /// The id of its request.
        id: RequestId,
        /// The body as text; bytes that are not UTF-8 are replaced.
        body: Arc<str>,
    },
    /// An answer ended, well or not.
    End {
        /// The id of its request.
        id: RequestId,
        /// The kind of end.
        how: AnswerEnd,
    },
    /// A running tool reports progress.
    ToolProgress {
        /// The run of the tool.
        run: ToolRun,
        /// Its content.
        text: Arc<str>,
        /// Where it says it, if that is known (T-32).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ProgressKind>,
    },
    /// A tool run is over.
    ToolEnded {
        /// The run of the tool.
        run: ToolRun,
        /// Its outcome.
        outcome: Arc<ToolOutcome>,
    },
    /// A timer is due.
    Timer(TimerId),
    /// The user aborts (ESC, Ctrl+C, shutdown): everything ends (Q-22, `cancel`).
    Cancel,
    /// The user submits a message while work continues (Q-22, `interrupt`). When nothing continues it is a prompt like any other.
    Interrupt {
        /// Its number, should it become a prompt of its own.
        prompt: u32,
        /// Its content.
        content: Arc<[Block]>,
    },
    /// New credentials are there, or not to be had.
    AuthRefreshed {
        /// For which request.
        id: RequestId,
        /// Whether there are any.
        ok: bool,
    },
    /// A tool has looked at an input, for [`Effect::CheckTool`](super::Effect::CheckTool) (T-22, T-24).
    ToolChecked {
        /// The run of the tool.
        run: ToolRun,
        /// The outcome of the check.
        check: ToolCheck,
    },
    /// A hook is over (T-23, T-26, Q-16, C-4).
    HookEnded {
        /// The run of the hook.
        hook: HookRun,
        /// The outcome of the hook.
        outcome: Arc<HookOutcome>,
    },
    /// The person who was asked has answered (T-24).
    PermissionAnswered {
        /// The run that it is about.
        run: ToolRun,
        /// The answer.
        answer: Arc<PermissionAnswer>,
    },
    /// A large result was stored, or could not be (T-27).
    ResultStored {
        /// The run whose result this is.
        run: ToolRun,
        /// Where; `None` when there is no place for it.
        path: Option<Arc<str>>,
    },
    /// Skills or plugins were looked up (S-4).
    LookedUp {
        /// The catalogue: skills or plugins.
        what: Catalogue,
        /// For which prompt.
        #[serde(default)]
        prompt: u32,
        /// The names, in order.
        names: Arc<[Arc<str>]>,
    },
    /// A span of the conversation was summarised in the background (C-3).
    CollapseStaged(Arc<StagedSummary>),
    /// Messages are dead: a marker names them (C-1).
    MarkedDead {
        /// The items of the conversation, each by its name (`p1`, `p1.r2.a1`, `p1.r2.a1.results`).
        names: Arc<[Arc<str>]>,
    },
    /// A server that a tool talks to asks the user something (S-11: elicitation handler). What one run asks is answered in order, one
    /// question at a time, each with [`Effect::AnswerElicitation`](super::Effect::AnswerElicitation).
    ElicitationAsked {
        /// The run of the tool.
        run: ToolRun,
        /// The question.
        message: Arc<str>,
    },
    /// The user has answered what such a server asked.
    ElicitationAnswered {
        /// The run of the tool.
        run: ToolRun,
        /// The answer; `None` when the user declined.
        answer: Option<Arc<str>>,
    },
}

/// The catalogues that a session looks up before its first request (S-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Catalogue {
    /// Skills.
    Skills,
    /// Plugins.
    Plugins,
}

impl Catalogue {
    /// The word that transcripts use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Plugins => "plugins",
        }
    }
}

/// A summary that may take the place of a span of the conversation (C-3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StagedSummary {
    /// The first item that it stands for.
    pub from: Arc<str>,
    /// The last one.
    pub to: Arc<str>,
    /// The text that the model sees in their place.
    pub summary: Arc<str>,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerEnd {
    /// The body is whole, as far as HTTP shows.
    Complete,
    /// The connection was cut.
    Reset,
    /// The connection was cut while the request was being sent.
    BrokenPipe,
    /// No server listens at this address.
    ConnectRefused,
    /// The host's name is not known.
    Dns,
    /// No secure connection could be made.
    Tls,
    /// No connection could be made in time.
    ConnectTimeout,
    /// Nothing came any more until the connection timed out.
    Timeout,
    /// The event stream could not be framed (an event over the size limit).
    Framing(Arc<str>),
    /// The connection was closed inside the body, as far as HTTP shows.
    Truncated,
}

/// The outcome of a tool run.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// The result's content: a JSON string or a JSON array of blocks.
    pub content: Json,
    /// Whether it is an error.
    #[serde(default)]
    pub is_error: bool,
    /// A change of the tools' context that comes with it (T-11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_change: Option<Arc<str>>,
    /// Why the run aborted itself, if it did: the whole query is aborted for the same reason (T-14).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<Arc<str>>,
    /// The kind of a failure, where it is known (T-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<FailureCause>,
    /// The result in the tool's own form: for consumers, while the model sees the content (T-32).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
}

words! {
    /// Where a tool reports its progress (T-32).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[non_exhaustive]
    pub enum ProgressKind {
        /// On its standard output.
        Stdout = "stdout",
        /// On its standard error.
        Stderr = "stderr",
        /// In a message of its own.
        Message = "message",
    }
}

/// Why a tool use failed (T-28). The first four are a tool's own to say, the others are the engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureCause {
    /// A command ended with another exit code than 0.
    ExitCode,
    /// It could not be started.
    NotStarted,
    /// It took too long.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The input does not fit the tool's schema (T-21).
    InvalidInput,
    /// The tool's own check found something (T-22).
    Check,
    /// A hook did not allow it (T-23).
    Hook,
    /// It was not permitted (T-24).
    Refused,
    /// It ended without a result (T-25).
    NoResult,
}

impl FailureCause {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::ExitCode,
        Self::NotStarted,
        Self::TimedOut,
        Self::Panicked,
        Self::InvalidInput,
        Self::Check,
        Self::Hook,
        Self::Refused,
        Self::NoResult,
    ];

    /// The word that transcripts and scenarios use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExitCode => "exit_code",
            Self::NotStarted => "not_started",
            Self::TimedOut => "timed_out",
            Self::Panicked => "panicked",
            Self::InvalidInput => "invalid_input",
            Self::Check => "check",
            Self::Hook => "hook",
            Self::Refused => "refused",
            Self::NoResult => "no_result",
        }
    }
}

impl ToolOutcome {
    /// An outcome with this text.
    pub fn text(text: &str) -> Self {
        Self { content: Json::from_value(text), is_error: false, context_change: None, abort: None, cause: None, structured: None }
    }

    /// An error with this text.
    pub fn error(text: &str) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}
