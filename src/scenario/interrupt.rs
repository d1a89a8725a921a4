//! Events for an engine beside prompts and answers, with their times: the user cancels or submits a message while work continues (M-8), messages are
//! marked as dead (C-1), a span was summarised in the background (C-3).

use super::boundary::BoundarySide;
use super::turn::ScriptedTurn;
use reenact_engine::contract::{Agent, StagedSummary};
use reenact_engine::time::Micros;
use reenact_wire::block::Block;
use reenact_wire::prelude::*;

/// One `[[interrupt]]`, `[[dead]]` or `[[collapse]]`. It happens once, or not at all when its moment never comes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedInterrupt {
    /// The event.
    pub kind: InterruptKind,
    /// The moment at which it comes.
    pub moment: InterruptMoment,
    /// Scripted answers, should it become a prompt of its own; without any, the scenario's default answer (M-3).
    pub turns: Vec<ScriptedTurn>,
    /// Whether it need not come to pass (F-10).
    pub may: bool,
}

/// Q-22's two kinds of interrupt, and inputs from the background.
#[derive(Clone, Debug, PartialEq)]
pub enum InterruptKind {
    /// ESC, Ctrl+C, shutdown.
    Cancel,
    /// A message is submitted.
    Interrupt(Vec<Block>),
    /// These messages of the conversation are dead (C-1).
    Dead(Vec<Arc<str>>),
    /// A summary may take the place of a span of the conversation (C-3).
    Collapse(Arc<StagedSummary>),
}

impl InterruptKind {
    /// Whether the user does it; the rest is not answered, and no request comes because of it alone.
    pub fn is_the_users(&self) -> bool {
        matches!(self, Self::Cancel | Self::Interrupt(_))
    }

    /// The section that it stands in.
    pub fn section(&self) -> &'static str {
        match self {
            Self::Cancel | Self::Interrupt(_) => "interrupt",
            Self::Dead(_) => "dead",
            Self::Collapse(_) => "collapse",
        }
    }
}

/// The moment of an interrupt.
#[derive(Clone, Debug, PartialEq)]
pub enum InterruptMoment {
    /// At a virtual time.
    At(Micros),
    /// When something is seen for the first time.
    When {
        /// The event that it is tied to.
        anchor: InterruptTrigger,
        /// Of which agent.
        agent: Agent,
        /// Whether the engine has seen it by then.
        side: BoundarySide,
        /// How long after; zero with [`BoundarySide::Before`].
        offset: Micros,
    },
}

/// An event that the user waits for. Each `nth` counts from 1 over the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterruptTrigger {
    /// A tool use of this tool reaches a state.
    Tool {
        /// The tool.
        name: Arc<str>,
        /// The state.
        state: ReachedState,
        /// The how many-th one.
        nth: u32,
    },
    /// A stream event of this name comes in.
    Event {
        /// The name.
        name: Arc<str>,
        /// The how many-th one.
        nth: u32,
    },
    /// A request is sent, named as transcripts name it.
    Request {
        /// Of which prompt; `None` for any.
        prompt: Option<u32>,
        /// The number of the request in the prompt.
        request: u32,
        /// The number of the attempt at it.
        attempt: u32,
    },
    /// A retry begins to wait.
    Retry {
        /// The how many-th one.
        nth: u32,
    },
    /// A tool result is emitted.
    Result {
        /// The how many-th one.
        nth: u32,
    },
    /// A prompt ends.
    Terminal {
        /// The how many-th one.
        nth: u32,
    },
}

words! {
    /// T-1's states.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ReachedState {
        /// It waits.
        Queued = "queued",
        /// It runs.
        Executing = "executing",
        /// It has its result.
        Completed = "completed",
        /// Its result is emitted.
        Yielded = "yielded",
    }
}

impl InterruptTrigger {
    /// Whether an input brings it about, so that the user can act before the engine has seen it.
    pub fn is_an_input(&self) -> bool {
        matches!(self, Self::Event { .. } | Self::Tool { state: ReachedState::Completed, .. })
    }

    /// How often it must be seen.
    pub fn nth(&self) -> u32 {
        match self {
            Self::Tool { nth, .. } | Self::Event { nth, .. } | Self::Retry { nth } | Self::Result { nth } | Self::Terminal { nth } => *nth,
            Self::Request { .. } => 1,
        }
    }
}
