//! The effects of a step of our own loop, what it must know of the other agents of its tree meanwhile, and what the tree must know of them.
//!
//! ```text
//!   session, query, executor of each agent ── effect ──> AgentEffects ──> Effects: the sink of the contract
//!                                                             └── TreeEvent ──> agent_loop
//! ```

use alloc::collections::VecDeque;

use super::budget::NanoUsd;
use super::contract::{Agent, Effect, Effects, Emission, Terminal, ToolRun};
use super::emission::ResultMessage;
use reenact_wire::block::ToolUse;
use reenact_wire::prelude::*;

/// How many tools run in other agents, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TreeLoad {
    /// Beside others.
    pub(crate) safe: usize,
    /// Alone.
    pub(crate) exclusive: usize,
    /// The spending of those agents that is not yet counted by the one that looks (S-10).
    pub(crate) spent: NanoUsd,
}

/// An effect that concerns the whole tree of agents (B-8, S-10).
#[derive(Debug)]
pub(crate) enum TreeEvent {
    /// An agent said something: the money of the tree is looked at.
    Message,
    /// The root runs a tool that agents carry out.
    AgentStart { run: ToolRun, tool_use: Arc<ToolUse> },
    /// The root tells a tool to stop.
    ToolStop { run: ToolRun },
    /// The model of a sub-agent asks for this tool.
    ChildToolUse { agent: Agent, tool: Arc<str> },
    /// A sub-agent has its result.
    ChildResult { agent: Agent, result: Box<ResultMessage> },
    /// The prompt of a sub-agent is over.
    ChildFinish { agent: Agent, terminal: Terminal },
}

/// The sink of an agent's step.
#[derive(Debug, Default)]
pub(crate) struct AgentEffects {
    effects: Effects,
    /// The agent that effects are pushed for.
    agent: Agent,
    /// The running tools of the other agents of the tree while this one takes a step (T-4).
    elsewhere: TreeLoad,
    /// Those that nobody has looked at yet, in the order of the effects.
    tree_events: VecDeque<TreeEvent>,
}

impl TreeLoad {
    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { safe: self.safe + other.safe, exclusive: self.exclusive + other.exclusive, spent: self.spent + other.spent }
    }
}

impl AgentEffects {
    /// Lets `body` push its effects into a sink of the contract.
    pub(crate) fn with(effects: &mut Effects, body: impl FnOnce(&mut Self)) {
        let mut own = Self { agent: effects.agent().clone(), effects: core::mem::take(effects), ..Self::default() };
        body(&mut own);
        *effects = own.effects;
    }

    /// Adds an effect of the current agent.
    pub(crate) fn push(&mut self, effect: Effect) {
        self.note_tree_event(&effect);
        self.effects.for_agent(self.agent.clone(), |effects| effects.push(effect));
    }

    /// How many effects there are.
    pub(crate) fn len(&self) -> usize {
        self.effects.len()
    }

    /// The next effect that concerns the tree; `None` if all were looked at.
    pub(crate) fn next_tree_event(&mut self) -> Option<TreeEvent> {
        self.tree_events.pop_front()
    }

    /// Runs `body` with effects going out under another agent's address: how a parent steps its child.
    pub(crate) fn for_agent<R>(&mut self, agent: Agent, body: impl FnOnce(&mut Self) -> R) -> R {
        let parent = core::mem::replace(&mut self.agent, agent);
        let result = body(self);
        self.agent = parent;
        result
    }

    /// Runs `body` while this runs in the other agents.
    pub(crate) fn beside<R>(&mut self, elsewhere: TreeLoad, body: impl FnOnce(&mut Self) -> R) -> R {
        let before = core::mem::replace(&mut self.elsewhere, elsewhere);
        let result = body(self);
        self.elsewhere = before;
        result
    }

    /// The running tools of the other agents.
    pub(crate) fn elsewhere(&self) -> TreeLoad {
        self.elsewhere
    }

    fn note_tree_event(&mut self, effect: &Effect) {
        if is_message(effect) {
            self.tree_events.push_back(TreeEvent::Message);
        }
        let event = if self.agent.is_root() { root_event(effect) } else { child_event(&self.agent, effect) };
        self.tree_events.extend(event);
    }
}

/// Whether an agent has something to say. What an answer cost is looked at when it is over, and not before its last event.
fn is_message(effect: &Effect) -> bool {
    matches!(effect, Effect::Emit(emission) if !matches!(emission, Emission::StreamEvent { .. } | Emission::Answered { .. }))
}

fn root_event(effect: &Effect) -> Option<TreeEvent> {
    match effect {
        Effect::StartAgent { run, tool_use } => Some(TreeEvent::AgentStart { run: *run, tool_use: tool_use.clone() }),
        Effect::StopTool { run } => Some(TreeEvent::ToolStop { run: *run }),
        _ => None,
    }
}

fn child_event(agent: &Agent, effect: &Effect) -> Option<TreeEvent> {
    let agent = agent.clone();
    match effect {
        Effect::Emit(Emission::Assistant(message)) => {
            Some(TreeEvent::ChildToolUse { agent, tool: message.block.as_tool_use()?.name.clone() })
        }
        Effect::Emit(Emission::Result(result)) => Some(TreeEvent::ChildResult { agent, result: result.clone() }),
        Effect::Finished { terminal, .. } => Some(TreeEvent::ChildFinish { agent, terminal: terminal.clone() }),
        _ => None,
    }
}

#[cfg(test)]
impl AgentEffects {
    /// The effects in the order of their causes, for tests of a machine.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Agent, Effect)> {
        self.effects.iter()
    }

    /// The same, taking them out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Agent, Effect)> + '_ {
        self.effects.drain()
    }
}
