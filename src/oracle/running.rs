//! Which tools execute now, seen from outside the engine: from their start until they end, or until their grace is over.

use crate::engine::contract::{Agent, Effect, Emission, Environment, Input, Note, ToolRun};
use crate::engine::emission::ToolState;
use crate::engine::settings::InterruptBehaviour;
use crate::engine::time::{Micros, Time};
use crate::prelude::*;
use crate::wire::block::{ToolInput, ToolUse};

/// Whether a tool use may run beside others (T-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Beside other safe ones.
    Safe,
    /// Alone.
    Exclusive,
}

/// What the oracles know of the tools.
#[derive(Debug)]
pub(super) struct Tools(Vec<(Arc<str>, Class, InterruptBehaviour)>);

/// The tools that execute.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Vec<Tool>);

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    pub(super) agent: Agent,
    pub(super) run: ToolRun,
    pub(super) class: Class,
    behaviour: InterruptBehaviour,
    /// Told to stop: it is over when this time is reached, whatever it does (T-15a).
    until: Option<Time>,
    /// It is carried out by agents of its own, whose tools are seen for themselves.
    pub(super) waits_for_agents: bool,
}

impl Tools {
    pub(super) fn of(environment: &Environment) -> Self {
        let tools = environment.tools.iter().map(|tool| {
            let class = if tool.safe == Some(true) { Class::Safe } else { Class::Exclusive };
            (tool.name.clone(), class, tool.interrupt.unwrap_or(InterruptBehaviour::Block))
        });
        Self(tools.collect())
    }

    /// T-3: what says of itself that it is safe, with an input that can be read.
    pub(super) fn class(&self, tool_use: &ToolUse) -> Class {
        match (self.0.iter().find(|(name, ..)| *name == tool_use.name), &tool_use.input) {
            (Some((_, class, _)), ToolInput::Valid(_)) => *class,
            _ => Class::Exclusive,
        }
    }

    fn behaviour(&self, tool_use: &ToolUse) -> InterruptBehaviour {
        self.0.iter().find(|(name, ..)| *name == tool_use.name).map_or(InterruptBehaviour::Block, |(.., behaviour)| *behaviour)
    }
}

impl Running {
    /// Time goes on, and a tool may end.
    pub(super) fn on_input(&mut self, at: Time, agent: &Agent, input: &Input) {
        self.0.retain(|tool| tool.until.is_none_or(|until| at < until));
        if let Input::ToolEnded { run, .. } = input
            && let Some(index) = self.0.iter().position(|tool| tool.run == *run && tool.agent == *agent)
        {
            self.0.remove(index);
        }
    }

    /// A tool may start or be told to stop.
    pub(super) fn on_effect(&mut self, tools: &Tools, grace: Micros, at: Time, agent: &Agent, effect: &Effect) {
        match effect {
            Effect::StartTool { run, tool_use } => {
                let (class, behaviour) = (tools.class(tool_use), tools.behaviour(tool_use));
                self.0.push(Tool { agent: agent.clone(), run: *run, class, behaviour, until: None, waits_for_agents: false });
            }
            Effect::StartAgent { run, tool_use } => {
                let (class, behaviour) = (tools.class(tool_use), tools.behaviour(tool_use));
                self.0.push(Tool { agent: agent.clone(), run: *run, class, behaviour, until: None, waits_for_agents: true });
            }
            // Its end is seen by its result alone.
            Effect::Note(Note::Tool { run, state: ToolState::Completed }) => self.agents_are_done(agent, *run),
            Effect::Emit(Emission::User(message)) => self.agents_are_done(agent, message.run),
            Effect::StopTool { run } => {
                if let Some(tool) = self.0.iter_mut().find(|tool| tool.run == *run && tool.agent == *agent) {
                    tool.until.get_or_insert(at + grace);
                }
            }
            _ => (),
        }
    }

    fn agents_are_done(&mut self, agent: &Agent, run: ToolRun) {
        self.0.retain(|tool| !(tool.waits_for_agents && tool.run == run && tool.agent == *agent));
    }

    /// All of them, in the order in which they started.
    pub(super) fn tools(&self) -> &[Tool] {
        &self.0
    }

    /// Whether a submitted message has to wait for one of them: it is the root's tools that say so.
    pub(super) fn blocks_interrupt(&self) -> bool {
        self.0.iter().any(|tool| tool.agent.is_root() && tool.until.is_none() && tool.behaviour == InterruptBehaviour::Block)
    }
}
