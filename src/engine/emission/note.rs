//! Notes that only a transcript shows: transitions, states of tools, steps, defects.

use serde::{Deserialize, Serialize};

use crate::contract::{FailureCause, RequestId, ToolRun};
use crate::time::{Micros, Time};
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

/// Something that only a transcript shows.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// A phase of the session began (S-1 to S-8).
    Phase(SessionPhase),
    /// The query loop continues, and why.
    Transition(Transition),
    /// An attempt at a request is over.
    Attempt(Box<AttemptReport>),
    /// A tool entry changed its state (T-1).
    Tool {
        /// The run of the tool.
        run: ToolRun,
        /// Its state now.
        state: ToolState,
    },
    /// A context change of an exclusive tool was applied (T-11).
    ContextChanged {
        /// The run of the tool.
        run: ToolRun,
        /// The change.
        change: Arc<str>,
    },
    /// A tool use is at this step of its pipeline (T-30).
    Pipeline {
        /// The run of the tool.
        run: ToolRun,
        /// Where it is now.
        step: PipelineStep,
    },
    /// A step took long enough to be worth a word (T-29).
    Slow {
        /// The run of the tool.
        run: ToolRun,
        /// The step.
        step: PipelineStep,
        /// How long it took.
        took: Micros,
    },
    /// A level of compaction was looked at (C-1 to C-5).
    Compaction {
        /// The level.
        level: CompactionLevel,
        /// Whether it did something.
        ran: bool,
        /// The reason, for or against it.
        why: Arc<str>,
        /// About how many tokens the context had before.
        before: u64,
        /// And after.
        after: u64,
    },
    /// The tools of an abandoned attempt are discarded (T-19): nothing of them comes out from here on.
    Discarded {
        /// The attempt.
        id: RequestId,
        /// The runs that are stopping.
        running: Vec<ToolRun>,
    },
    /// The same where some of them go on, because nobody tells them to stop. No other tool waits for them.
    LeftRunning {
        /// The attempt.
        id: RequestId,
        /// The runs that go on.
        runs: Vec<ToolRun>,
    },
    /// A tool that does not only read had finished in an attempt that was abandoned, and runs again with the same input.
    Repeated {
        /// The run.
        run: ToolRun,
        /// The run before it.
        earlier: ToolRun,
    },
    /// Something is wrong with an answer or a tool, and the engine continued.
    Defect {
        /// The request or the answer it is about.
        id: RequestId,
        /// A stable short name.
        name: Arc<str>,
        /// Details beside the name; may be empty.
        text: Arc<str>,
    },
    /// A wait before the next attempt, of which consumers hear nothing.
    SilentWait {
        /// The attempt that failed.
        id: RequestId,
        /// The length of the wait.
        delay: Micros,
    },
    /// A tool use failed, and it is known why (T-28).
    ToolFailed {
        /// The run of the tool.
        run: ToolRun,
        /// The kind of failure.
        cause: FailureCause,
    },
}

/// The session's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionPhase {
    /// S-1.
    Init,
    /// S-2.
    SystemPrompt,
    /// S-3.
    UserInput,
    /// S-4.
    InitMessage,
    /// S-5.
    EarlyExit,
    /// S-6.
    FileHistory,
    /// S-7.
    MainLoop,
    /// S-8.
    Result,
}

/// Why the query loop goes round again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Transition {
    /// Tool results are in.
    NextTurn,
    /// The server paused its own tool loop.
    PauseTurnResume,
    /// Staged collapses were committed after a too-long prompt.
    CollapseDrainRetry,
    /// The conversation was compacted after a too-long prompt or too large media.
    ReactiveCompactRetry,
    /// The output limit was hit at the default cap: the same again with the raised cap.
    MaxOutputTokensEscalate,
    /// The output limit was hit again: the model is asked to continue.
    MaxOutputTokensRecovery,
    /// A stop hook objected.
    StopHookBlocking,
    /// The turn's token budget is not used up.
    TokenBudgetContinuation,
    /// The model refused and a setting asks for one more try.
    RefusalRetry,
    /// The partial answer stands, and the model is asked to go on.
    CutOffRecovery,
    /// The answer holds nothing, or not the tool use that it announced, and a setting asks for one that does.
    AnswerNudge,
}

impl Transition {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::NextTurn,
        Self::CollapseDrainRetry,
        Self::ReactiveCompactRetry,
        Self::MaxOutputTokensEscalate,
        Self::MaxOutputTokensRecovery,
        Self::StopHookBlocking,
        Self::TokenBudgetContinuation,
        Self::PauseTurnResume,
        Self::RefusalRetry,
        Self::CutOffRecovery,
        Self::AnswerNudge,
    ];

    /// The word that transcripts and scenarios use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NextTurn => "next_turn",
            Self::PauseTurnResume => "pause_turn_resume",
            Self::CollapseDrainRetry => "collapse_drain_retry",
            Self::ReactiveCompactRetry => "reactive_compact_retry",
            Self::MaxOutputTokensEscalate => "max_output_tokens_escalate",
            Self::MaxOutputTokensRecovery => "max_output_tokens_recovery",
            Self::StopHookBlocking => "stop_hook_blocking",
            Self::TokenBudgetContinuation => "token_budget_continuation",
            Self::RefusalRetry => "refusal_retry",
            Self::CutOffRecovery => "cut_off_recovery",
            Self::AnswerNudge => "answer_nudge",
        }
    }
}

/// T-1, and the class that T-3 gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// It was asked to stop and still runs (T-15a).
    Stopping,
}

/// One attempt, from its start to its end.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct AttemptReport {
    /// The request of the attempt.
    pub id: RequestId,
    /// The model that was asked.
    pub model: Arc<str>,
    /// Which HTTP client made it: grows when a failure asks for a new one.
    pub client: u32,
    /// The time of the request.
    pub started: Time,
    /// When the head of the answer was in.
    pub first_byte: Option<Time>,
    /// The time of its end.
    pub ended: Time,
    /// `ok`, or what went wrong.
    pub outcome: Arc<str>,
    /// The tokens of its answer.
    pub usage: Usage,
}

/// The steps of a tool use's pipeline (T-21 to T-27), in order; each can be left out when nothing is to be done in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PipelineStep {
    /// Its input is held against the schema (T-21).
    Validate,
    /// The tool looks at the values (T-22).
    Check,
    /// Hooks are asked (T-23).
    PreHooks,
    /// Rules, mode and the tool decide (T-24).
    Permission,
    /// A person is asked (T-24).
    Ask,
    /// It is called (T-25).
    Call,
    /// Hooks hear of the result (T-26).
    PostHooks,
    /// The result becomes content (T-27).
    Map,
    /// A large result is being stored (T-27).
    Store,
}

impl PipelineStep {
    /// The word that transcripts use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Check => "check",
            Self::PreHooks => "pre_hooks",
            Self::Permission => "permission",
            Self::Ask => "ask",
            Self::Call => "call",
            Self::PostHooks => "post_hooks",
            Self::Map => "map",
            Self::Store => "store",
        }
    }
}

/// The levels of compaction, in the order in which they are looked at (C-1 to C-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionLevel {
    /// Dead messages go (C-1).
    Snip,
    /// Old results are cleared (C-2).
    Microcompact,
    /// Staged summaries take the place of spans (C-3).
    Collapse,
    /// All is summarised before a request (C-4, C-9).
    Auto,
    /// All is summarised after the API refused the prompt as too long (C-5).
    Reactive,
}

impl CompactionLevel {
    /// The word that transcripts use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Snip => "snip",
            Self::Microcompact => "microcompact",
            Self::Collapse => "collapse",
            Self::Auto => "auto",
            Self::Reactive => "reactive",
        }
    }
}
