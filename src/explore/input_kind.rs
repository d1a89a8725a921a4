//! The kinds of inputs, by name: what stands on one side of a boundary, whatever its ids and contents.

use reenact_engine::contract::{EventPayload, Input};
use reenact_wire::prelude::*;

words! {
    /// The kind of an input. The events of a stream are kinds of their own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum InputKind {
        /// The user submits a prompt.
        Prompt = "prompt",
        /// The head of an answer.
        Head = "head",
        /// The first event of an answer.
        MessageStart = "stream.message_start",
        /// A content block begins.
        BlockStart = "stream.content_block_start",
        /// A piece of a block.
        BlockDelta = "stream.content_block_delta",
        /// A block is complete.
        BlockStop = "stream.content_block_stop",
        /// The stop reason of an answer.
        MessageDelta = "stream.message_delta",
        /// The last event of an answer.
        MessageStop = "stream.message_stop",
        /// A sign of life.
        Ping = "stream.ping",
        /// A stream ends with an error.
        StreamError = "stream.error",
        /// An event that is not known.
        Unknown = "stream.unknown",
        /// An event that cannot be read.
        Malformed = "stream.malformed",
        /// A whole body.
        Body = "body",
        /// The end of an answer.
        End = "end",
        /// Progress of a tool.
        ToolProgress = "tool_progress",
        /// A tool run is over.
        ToolEnded = "tool_ended",
        /// A timer is due.
        Timer = "timer",
        /// The user aborts.
        Cancel = "cancel",
        /// The user submits a message while work continues.
        Interrupt = "interrupt",
        /// New credentials.
        AuthRefreshed = "auth_refreshed",
        /// A tool has looked at an input.
        ToolChecked = "tool_checked",
        /// A hook is over.
        HookEnded = "hook_ended",
        /// A person has answered.
        PermissionAnswered = "permission_answered",
        /// A large result was stored.
        ResultStored = "result_stored",
        /// Skills or plugins were looked up.
        LookedUp = "looked_up",
        /// A summary was made in the background.
        CollapseStaged = "collapse_staged",
        /// Messages are dead.
        MarkedDead = "marked_dead",
        /// A tool's server asks the user.
        ElicitationAsked = "elicitation_asked",
        /// The user has answered a tool's server.
        ElicitationAnswered = "elicitation_answered",
    }
}

impl From<&Input> for InputKind {
    fn from(input: &Input) -> Self {
        match input {
            Input::Prompt { .. } => Self::Prompt,
            Input::Head { .. } => Self::Head,
            Input::Stream { event, .. } => stream_kind(event.payload()),
            Input::Body { .. } => Self::Body,
            Input::End { .. } => Self::End,
            Input::ToolProgress { .. } => Self::ToolProgress,
            Input::ToolEnded { .. } => Self::ToolEnded,
            Input::Timer(_) => Self::Timer,
            Input::Cancel => Self::Cancel,
            Input::Interrupt { .. } => Self::Interrupt,
            Input::AuthRefreshed { .. } => Self::AuthRefreshed,
            Input::ToolChecked { .. } => Self::ToolChecked,
            Input::HookEnded { .. } => Self::HookEnded,
            Input::PermissionAnswered { .. } => Self::PermissionAnswered,
            Input::ResultStored { .. } => Self::ResultStored,
            Input::LookedUp { .. } => Self::LookedUp,
            Input::CollapseStaged(_) => Self::CollapseStaged,
            Input::MarkedDead { .. } => Self::MarkedDead,
            Input::ElicitationAsked { .. } => Self::ElicitationAsked,
            Input::ElicitationAnswered { .. } => Self::ElicitationAnswered,
        }
    }
}

fn stream_kind(payload: &EventPayload<'_>) -> InputKind {
    match payload {
        EventPayload::MessageStart(_) => InputKind::MessageStart,
        EventPayload::BlockStart { .. } => InputKind::BlockStart,
        EventPayload::BlockDelta { .. } => InputKind::BlockDelta,
        EventPayload::BlockStop { .. } => InputKind::BlockStop,
        EventPayload::MessageDelta(_) => InputKind::MessageDelta,
        EventPayload::MessageStop => InputKind::MessageStop,
        EventPayload::Ping => InputKind::Ping,
        EventPayload::Error { .. } => InputKind::StreamError,
        EventPayload::Malformed { .. } => InputKind::Malformed,
        _ => InputKind::Unknown,
    }
}
