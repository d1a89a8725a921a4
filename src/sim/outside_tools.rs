//! Tools of a run that are carried out outside: for real, in a directory.
//!
//! ```text
//!   on a real clock     Run ── take_tool_calls ──> start, stop, check, question      offer_tool ──> Run
//!   on the virtual one  Run ── take_tool_starts ─> a tool that has begun             set_tool_outcome ──> Run, as late as the scenario says
//! ```
//!
//! A tool stays inside if the scenario gives it a result, and so do agents.

use super::Run;
use reenact_engine::contract::{Agent, Effect, Engine, Input, ToolOutcome, ToolRun, ToolUse};
use reenact_tools::BuiltinTool;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;

/// An order about a tool for the outside.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideToolCall {
    /// The agent.
    pub agent: Agent,
    /// The name of the tool run.
    pub run: ToolRun,
    /// The order.
    pub order: ToolOrder,
}

/// An order about a tool: the part that says what to do.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOrder {
    /// Look at its input; offer `ToolChecked`.
    Check(BuiltinTool, Arc<ToolUse>),
    /// Ask a person; offer `PermissionAnswered`.
    Ask {
        /// The tool use.
        tool_use: Arc<ToolUse>,
        /// The reason of the question.
        reason: Arc<str>,
        /// Rules that would make the question needless.
        suggestions: Vec<Arc<str>>,
    },
    /// The question need not be answered.
    WithdrawQuestion,
    /// Run it; offer `ToolProgress`, and one `ToolEnded`.
    Start(BuiltinTool, Arc<ToolUse>),
    /// Stop it; `ToolEnded` is still to come.
    Stop,
}

/// A tool that has begun on the virtual clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolStart {
    /// The agent.
    pub agent: Agent,
    /// The name of the tool run.
    pub run: ToolRun,
    /// The tool.
    pub tool: BuiltinTool,
    /// The tool use.
    pub tool_use: Arc<ToolUse>,
    /// The result that the scenario has for it, such as the recorded one.
    pub scripted: Option<Arc<ToolOutcome>>,
}

/// The tools of a run that the outside takes part in.
#[derive(Clone, Debug)]
pub(super) enum OutsideTools {
    /// It carries them out.
    Execution {
        /// The orders since the last time.
        calls: Vec<OutsideToolCall>,
        /// The offers that are still to come.
        open: Vec<(Agent, ToolRun, ToolOfferKind)>,
        /// Whether persons are asked outside as well.
        asks: bool,
    },
    /// It is told of them, and says what comes of them.
    Notices(Vec<ToolStart>),
}

/// A kind of what is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolOfferKind {
    Check,
    Answer,
    Result,
}

impl OutsideTools {
    /// Whether something is still to be offered.
    pub(super) fn is_waited_for(&self) -> bool {
        matches!(self, Self::Execution { open, .. } if !open.is_empty())
    }
}

impl<E: Engine, W: TranscriptWatch> Run<E, W> {
    /// The same with its built-in tools carried out outside, on the clock of who does it. `asks`: persons are asked outside as well.
    #[must_use]
    pub fn with_tools_outside(mut self, asks: bool) -> Self {
        self.outside_tools = Some(OutsideTools::Execution { calls: Vec::new(), open: Vec::new(), asks });
        self
    }

    /// The same, with a notice of each built-in tool that begins.
    #[must_use]
    pub fn with_tool_start_notices(mut self) -> Self {
        self.outside_tools = Some(OutsideTools::Notices(Vec::new()));
        self
    }

    /// The orders about tools since the last time, in sequence.
    pub fn take_tool_calls(&mut self) -> Vec<OutsideToolCall> {
        match &mut self.outside_tools {
            Some(OutsideTools::Execution { calls, .. }) => core::mem::take(calls),
            _ => Vec::new(),
        }
    }

    /// The tools that began since the last time, in sequence.
    pub fn take_tool_starts(&mut self) -> Vec<ToolStart> {
        match &mut self.outside_tools {
            Some(OutsideTools::Notices(starts)) => core::mem::take(starts),
            _ => Vec::new(),
        }
    }

    /// Puts a result in place of the scenario's, for a tool that has begun. It comes when the scenario says.
    pub fn set_tool_outcome(&mut self, start: &ToolStart, outcome: ToolOutcome) {
        self.world.set_tool_outcome(&start.agent, start.run, outcome);
    }

    /// Something of a tool came; what is not waited for is dropped.
    pub fn offer_tool(&mut self, agent: &Agent, input: Input) {
        let Some(OutsideTools::Execution { open, .. }) = &mut self.outside_tools else { return };
        let (run, kind, is_last) = match &input {
            Input::ToolChecked { run, .. } => (*run, ToolOfferKind::Check, true),
            Input::PermissionAnswered { run, .. } => (*run, ToolOfferKind::Answer, true),
            Input::ToolProgress { run, .. } => (*run, ToolOfferKind::Result, false),
            Input::ToolEnded { run, .. } => (*run, ToolOfferKind::Result, true),
            _ => return,
        };
        let Some(at) = open.iter().position(|(of, waiting, wanted)| (of, *waiting, *wanted) == (agent, run, kind)) else { return };
        if is_last {
            open.remove(at);
        }
        // Behind all that is due.
        self.due.insert(0, (agent.clone(), input));
    }

    /// Takes over what concerns the tools outside; `false` for what the world carries out.
    pub(super) fn carry_out_tool(&mut self, agent: &Agent, effect: &Effect) -> bool {
        let Some(outside) = &mut self.outside_tools else { return false };
        let (run, order, kind) = match (effect, &outside) {
            (Effect::StartTool { run, tool_use }, _) | (Effect::CheckTool { run, tool_use }, OutsideTools::Execution { .. }) => {
                let Some(tool) = BuiltinTool::from_name(&tool_use.name).filter(|tool| *tool != BuiltinTool::Agent) else { return false };
                let scripted = self.world.scripted_outcome(&self.setup, agent, *run, tool_use);
                if let OutsideTools::Notices(starts) = outside {
                    starts.push(ToolStart { agent: agent.clone(), run: *run, tool, tool_use: tool_use.clone(), scripted });
                    return false;
                }
                match effect {
                    _ if scripted.is_some() => return false,
                    Effect::CheckTool { .. } => (*run, ToolOrder::Check(tool, tool_use.clone()), Some(ToolOfferKind::Check)),
                    _ => (*run, ToolOrder::Start(tool, tool_use.clone()), Some(ToolOfferKind::Result)),
                }
            }
            (Effect::StopTool { run }, OutsideTools::Execution { open, .. })
                if open.contains(&(agent.clone(), *run, ToolOfferKind::Result)) =>
            {
                (*run, ToolOrder::Stop, None)
            }
            (Effect::AskPermission { run, tool_use, reason, suggestions }, OutsideTools::Execution { asks: true, .. }) => {
                let order = ToolOrder::Ask { tool_use: tool_use.clone(), reason: reason.clone(), suggestions: suggestions.clone() };
                (*run, order, Some(ToolOfferKind::Answer))
            }
            (Effect::WithdrawPermission { run }, OutsideTools::Execution { asks: true, .. }) => (*run, ToolOrder::WithdrawQuestion, None),
            _ => return false,
        };
        let OutsideTools::Execution { calls, open, .. } = outside else { return false };
        if order == ToolOrder::WithdrawQuestion {
            open.retain(|waiting| *waiting != (agent.clone(), run, ToolOfferKind::Answer));
        }
        open.extend(kind.map(|kind| (agent.clone(), run, kind)));
        calls.push(OutsideToolCall { agent: agent.clone(), run, order });
        true
    }
}
