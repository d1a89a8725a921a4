//! The effects of a step of our own loop, and what it must know of the other agents of its tree meanwhile.
//!
//! ```text
//!   contract ── Effects ──> agent_loop ── AgentEffects ──> session, query, executor of each agent
//! ```

use core::ops::{Deref, DerefMut};

use super::budget::NanoUsd;
use super::contract::{Agent, Effects};

/// How many tools run in other agents, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeLoad {
    /// Beside others.
    pub(crate) safe: usize,
    /// Alone.
    pub(crate) exclusive: usize,
    /// The spending of those agents that is not yet counted by the one that looks (S-10).
    pub(crate) spent: NanoUsd,
}

/// The sink of an agent's step.
#[derive(Debug, Default)]
pub(crate) struct AgentEffects {
    effects: Effects,
    /// The running tools of the other agents of the tree while this one takes a step (T-4).
    elsewhere: TreeLoad,
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
        let mut own = Self { effects: core::mem::take(effects), elsewhere: TreeLoad::default() };
        body(&mut own);
        *effects = own.effects;
    }

    /// Runs `body` with effects going out under another agent's address: how a parent steps its child.
    pub(crate) fn for_agent<R>(&mut self, agent: Agent, body: impl FnOnce(&mut Self) -> R) -> R {
        let parent = self.effects.readdress(agent);
        let result = body(self);
        self.effects.readdress(parent);
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
}

impl Deref for AgentEffects {
    type Target = Effects;

    fn deref(&self) -> &Effects {
        &self.effects
    }
}

impl DerefMut for AgentEffects {
    fn deref_mut(&mut self) -> &mut Effects {
        &mut self.effects
    }
}
