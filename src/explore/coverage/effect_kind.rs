//! The kinds of effects, by name: what an engine wants done, whatever its ids and contents. Notes are no effects of their own: only a transcript shows them.

use reenact_engine::contract::{Effect, Emission};
use reenact_wire::prelude::*;

words! {
    /// The kind of an effect. Emissions are kinds of their own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum EffectKind {
        /// A request to the model.
        Request = "request",
        /// An answer no longer matters.
        CloseRequest = "close_request",
        /// A tool runs.
        StartTool = "start_tool",
        /// A tool is told to stop.
        StopTool = "stop_tool",
        /// New credentials are wanted.
        RefreshAuth = "refresh_auth",
        /// A tool looks at its input.
        CheckTool = "check_tool",
        /// A hook runs.
        RunHook = "run_hook",
        /// A hook is stopped.
        StopHook = "stop_hook",
        /// A person is asked.
        AskPermission = "ask_permission",
        /// The person is no longer asked.
        WithdrawPermission = "withdraw_permission",
        /// A large result is stored.
        StoreResult = "store_result",
        /// Skills or plugins are looked up.
        LookUp = "look_up",
        /// The user is asked for a tool's server.
        Elicit = "elicit",
        /// A tool's server gets the answer.
        AnswerElicitation = "answer_elicitation",
        /// The user is no longer asked for a tool's server.
        WithdrawElicitation = "withdraw_elicitation",
        /// A timer is set.
        SetTimer = "set_timer",
        /// A timer is cancelled.
        CancelTimer = "cancel_timer",
        /// An agent of the engine's own begins.
        StartAgent = "start_agent",
        /// A prompt is answered.
        Finished = "finished",
        /// The surroundings of a session.
        Init = "emit.init",
        /// A raw stream event.
        StreamEvent = "emit.stream_event",
        /// A content block of an answer.
        Assistant = "emit.assistant",
        /// A block that was cut off by an abort.
        Aborted = "emit.aborted",
        /// The stop reason of an answer.
        Answered = "emit.answered",
        /// A tool result.
        User = "emit.user",
        /// Progress of a tool.
        Progress = "emit.progress",
        /// The tool uses in progress.
        InProgress = "emit.in_progress",
        /// Whether an interrupt takes effect now.
        Interruptible = "emit.interruptible",
        /// The interruption message.
        Interrupted = "emit.interrupted",
        /// A message that waited is part of the conversation.
        QueuedCommand = "emit.queued_command",
        /// A retry is announced.
        ApiRetry = "emit.api_retry",
        /// A hidden message for the model.
        Hidden = "emit.hidden",
        /// Another model takes over.
        ModelFallback = "emit.model_fallback",
        /// A message is taken back.
        Tombstone = "emit.tombstone",
        /// Dead messages are gone.
        SnipBoundary = "emit.snip_boundary",
        /// Old results are cleared.
        MicrocompactBoundary = "emit.microcompact_boundary",
        /// The conversation is summarised.
        CompactBoundary = "emit.compact_boundary",
        /// The limit on turns is reached.
        MaxTurnsReached = "emit.max_turns_reached",
        /// Structured output.
        StructuredOutput = "emit.structured_output",
        /// Context from a hook.
        HookContext = "emit.hook_context",
        /// The output of a slash command.
        LocalOutput = "emit.local_output",
        /// The user's message, repeated.
        UserPrompt = "emit.user_prompt",
        /// A long wait continues.
        Heartbeat = "emit.heartbeat",
        /// The speed of requests changed.
        Speed = "emit.speed",
        /// The current activity.
        Status = "emit.status",
        /// A warning.
        Warning = "emit.warning",
        /// The state of the files.
        FileSnapshot = "emit.file_snapshot",
        /// The result message.
        Result = "emit.result",
        /// A line about a turn's tools.
        ToolUseSummary = "emit.tool_use_summary",
        /// A hook has started.
        HookStarted = "emit.hook_started",
        /// A hook has ended.
        HookEnded = "emit.hook_ended",
        /// The effect of a level of compaction.
        CompactionReport = "emit.compaction_report",
    }
}

impl EffectKind {
    /// The kind of an effect; `None` for a note.
    pub fn of_effect(effect: &Effect) -> Option<Self> {
        Some(match effect {
            Effect::Request { .. } => Self::Request,
            Effect::CloseRequest { .. } => Self::CloseRequest,
            Effect::StartTool { .. } => Self::StartTool,
            Effect::StopTool { .. } => Self::StopTool,
            Effect::RefreshAuth { .. } => Self::RefreshAuth,
            Effect::CheckTool { .. } => Self::CheckTool,
            Effect::RunHook { .. } => Self::RunHook,
            Effect::StopHook { .. } => Self::StopHook,
            Effect::AskPermission { .. } => Self::AskPermission,
            Effect::WithdrawPermission { .. } => Self::WithdrawPermission,
            Effect::StoreResult { .. } => Self::StoreResult,
            Effect::LookUp { .. } => Self::LookUp,
            Effect::Elicit { .. } => Self::Elicit,
            Effect::AnswerElicitation { .. } => Self::AnswerElicitation,
            Effect::WithdrawElicitation { .. } => Self::WithdrawElicitation,
            Effect::SetTimer { .. } => Self::SetTimer,
            Effect::CancelTimer { .. } => Self::CancelTimer,
            Effect::StartAgent { .. } => Self::StartAgent,
            Effect::Finished { .. } => Self::Finished,
            Effect::Emit(emission) => emission_kind(emission),
            Effect::Note(_) => return None,
        })
    }
}

fn emission_kind(emission: &Emission) -> EffectKind {
    match emission {
        Emission::Init { .. } => EffectKind::Init,
        Emission::StreamEvent { .. } => EffectKind::StreamEvent,
        Emission::Assistant(_) => EffectKind::Assistant,
        Emission::Aborted(_) => EffectKind::Aborted,
        Emission::Answered { .. } => EffectKind::Answered,
        Emission::User(_) => EffectKind::User,
        Emission::Progress { .. } => EffectKind::Progress,
        Emission::InProgress { .. } => EffectKind::InProgress,
        Emission::Interruptible(_) => EffectKind::Interruptible,
        Emission::Interrupted { .. } => EffectKind::Interrupted,
        Emission::QueuedCommand { .. } => EffectKind::QueuedCommand,
        Emission::ApiRetry { .. } => EffectKind::ApiRetry,
        Emission::Hidden { .. } => EffectKind::Hidden,
        Emission::ModelFallback { .. } => EffectKind::ModelFallback,
        Emission::Tombstone { .. } => EffectKind::Tombstone,
        Emission::SnipBoundary { .. } => EffectKind::SnipBoundary,
        Emission::MicrocompactBoundary { .. } => EffectKind::MicrocompactBoundary,
        Emission::CompactBoundary { .. } => EffectKind::CompactBoundary,
        Emission::MaxTurnsReached { .. } => EffectKind::MaxTurnsReached,
        Emission::StructuredOutput { .. } => EffectKind::StructuredOutput,
        Emission::HookContext { .. } => EffectKind::HookContext,
        Emission::LocalOutput { .. } => EffectKind::LocalOutput,
        Emission::UserPrompt { .. } => EffectKind::UserPrompt,
        Emission::Heartbeat { .. } => EffectKind::Heartbeat,
        Emission::Speed { .. } => EffectKind::Speed,
        Emission::Status { .. } => EffectKind::Status,
        Emission::Warning { .. } => EffectKind::Warning,
        Emission::FileSnapshot { .. } => EffectKind::FileSnapshot,
        Emission::Result(_) => EffectKind::Result,
        Emission::ToolUseSummary { .. } => EffectKind::ToolUseSummary,
        Emission::HookStarted { .. } => EffectKind::HookStarted,
        Emission::HookEnded { .. } => EffectKind::HookEnded,
        Emission::CompactionReport { .. } => EffectKind::CompactionReport,
    }
}
