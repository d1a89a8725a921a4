//! The contract between an engine and its driver (public, versioned).
//!
//! An engine is a value. The driver calls [`Engine::step`] with the current virtual time and one [`Input`]; the engine answers by
//! pushing [`Effect`]s into the sink that it is handed, and when `step` returns nothing is left queued inside. A recording of a
//! run is therefore a list of (time, input), and feeding it to the same engine gives the same effects, byte for byte.
//!
//! ```text
//!   driver ── (now, agent, input) ──> engine          prompt, answer bytes decoded, tool outcomes, timers
//!   driver <── (agent, effect) ────── engine          requests, tool starts, timers, messages, the end
//! ```
//!
//! A whole engine in twenty lines: it asks once, and ends with the answer. Tools, timers and failures are beyond it.
//!
//! ```
//! # mod reenact { pub use reenact_engine as engine; pub use reenact_wire as wire; }
//! use reenact::engine::contract::*;
//!
//! #[derive(Clone, Debug, Default, PartialEq, Hash)]
//! struct AskOnce;
//!
//! impl Engine for AskOnce {
//!     fn step(&mut self, env: &Environment, _now: Time, input: &Input, effects: &mut Effects) {
//!         match input {
//!             Input::Prompt { prompt, content } => {
//!                 let question = Message::user(content.to_vec());
//!                 let request = Request::new(&env.settings.model, env.settings.max_tokens).with_messages([question]);
//!                 effects.push(Effect::Request { id: RequestId::first(*prompt), request: request.into() });
//!             }
//!             Input::Stream { id, event } if *event.payload() == EventPayload::MessageStop => {
//!                 effects.push(Effect::Finished { prompt: id.prompt, terminal: Terminal::Completed });
//!             }
//!             _ => (),
//!         }
//!     }
//! }
//!
//! let mut effects = Effects::default();
//! let hello = Input::Prompt { prompt: 1, content: [Block::text("hello")].into() };
//! AskOnce.step(&Environment::default(), Time::ZERO, &hello, &mut effects);
//! assert_eq!(effects.len(), 1);
//! ```

mod effect;
mod input;
mod names;
mod terminal;

use core::fmt;

use reenact_wire::prelude::*;

pub use effect::Effect;
pub use input::{AnswerEnd, Catalogue, FailureCause, Input, ProgressKind, StagedSummary, ToolOutcome};
#[doc(hidden)]
pub use names::original_id;
pub use names::{Agent, ByAgent, RequestId, TimerId, ToolRun};
pub use terminal::Terminal;

pub use super::emission::{Emission, Note};
pub use super::hook::{HookEvent, HookInput, HookOutcome, HookRun, HookSubject};
pub use super::key::KeySink;
pub use super::permission::{PermissionAnswer, PermissionWord, ToolCheck};
pub use super::settings::{Environment, Settings, ToolDefinition, ToolSafety};
pub use super::time::{Micros, Time};
pub use reenact_wire::block::{Block, BlockKind, Message, Role, ToolInput, ToolUse};
pub use reenact_wire::event::{BlockDelta, EventPayload, StreamEvent};
pub use reenact_wire::http::HttpHeader;
pub use reenact_wire::json::Json;
pub use reenact_wire::request::Request;

/// The version of this contract; boundary logs carry it. New variants of [`Input`] and [`Effect`] do not change it, other changes do.
pub const CONTRACT_VERSION: u32 = 1;

/// An agent loop under test.
pub trait Engine: Clone + fmt::Debug + PartialEq {
    /// The only door in. Everything that the engine wants done because of `input` is in `effects` when this returns.
    ///
    /// The agent that `input` is addressed to is [`Effects::agent`], and effects go out under that address until it is changed
    /// with [`Effects::for_agent`]. An input that no longer matters (an abandoned request speaks, a tool run is long answered) is
    /// ignored by its number.
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects);

    /// Takes in all that can change a later effect other than by a figure in it (E-3), and returns `true`. Two engines in one scenario with equal keys
    /// must do the same with the same inputs. Of an engine without a key no two states are known to be the same, and each is looked at.
    ///
    /// An engine whose parts all have a [`Hash`](core::hash::Hash) takes in `self.hash(out)`; what is only reported is
    /// [`KeylessValue`](super::key::KeylessValue).
    fn key(&self, now: Time, out: &mut KeySink) -> bool {
        let _ = (now, out);
        false
    }
}

/// The sink that a step writes into; each effect carries the address of the agent that it came from.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Effects {
    agent: Agent,
    items: Vec<(Agent, Effect)>,
}

impl Effects {
    /// An empty sink for a step of `agent`.
    pub fn from_agent(agent: Agent) -> Self {
        Self { agent, items: Vec::new() }
    }

    /// The agent that the input is for and that effects are pushed for.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Adds an effect of the current agent.
    pub fn push(&mut self, effect: Effect) {
        self.items.push((self.agent.clone(), effect));
    }

    /// Runs `body` with effects going out under another agent's address: how a parent steps its child.
    pub fn for_agent<R>(&mut self, agent: Agent, body: impl FnOnce(&mut Self) -> R) -> R {
        let parent = core::mem::replace(&mut self.agent, agent);
        let result = body(self);
        self.agent = parent;
        result
    }

    /// Makes the sink ready for the next step, keeping its memory.
    pub fn reset(&mut self, agent: Agent) {
        self.agent = agent;
        self.items.clear();
    }

    /// How many effects there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The effects in the order of their causes.
    pub fn iter(&self) -> impl Iterator<Item = &(Agent, Effect)> {
        self.items.iter()
    }

    /// Takes the effects out, in the order of their causes, leaving the sink empty.
    pub fn drain(&mut self) -> impl Iterator<Item = (Agent, Effect)> + '_ {
        self.items.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_1_names_come_from_lineage() {
        let request = RequestId { prompt: 1, turn: 2, attempt: 3 };
        assert_eq!(request.to_string(), "2.3");
        assert_eq!(ToolRun { request, index: 1 }.to_string(), "2.3B");
        assert_eq!(ToolRun { request: RequestId::first(2), index: 27 }.to_string(), "p2/1AB");
    }

    #[test]
    fn an_effect_carries_the_address_it_was_pushed_under() {
        let mut effects = Effects::default();
        let finished = |prompt| Effect::Finished { prompt, terminal: Terminal::Completed };
        effects.for_agent(Agent::child("toolu_1"), |effects| effects.push(finished(1)));
        effects.push(finished(2));
        let agents: Vec<_> = effects.iter().map(|(agent, _)| agent.clone()).collect();
        assert_eq!(agents, [Agent::child("toolu_1"), Agent::ROOT]);
    }
}
