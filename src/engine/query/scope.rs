//! The surroundings of a query's step: all that it has beside its input.

use crate::agent_effects::AgentEffects;
use crate::contract::Effect;
use crate::emission::{Emission, Note, Transition};
use crate::executor::PipelineScope;
use crate::session::memory::SessionMemory;
use crate::settings::Environment;
use crate::time::Time;

/// The surroundings of a step.
#[derive(Debug)]
pub(crate) struct QueryScope<'a> {
    pub(crate) env: &'a Environment,
    pub(crate) now: Time,
    /// The session's: a query keeps there what later prompts need.
    pub(crate) memory: &'a mut SessionMemory,
    pub(crate) effects: &'a mut AgentEffects,
    /// Under which transition this step opened a request; the first one if there were several.
    pub(super) transition: Option<Transition>,
}

impl<'a> QueryScope<'a> {
    pub(crate) fn new(env: &'a Environment, now: Time, memory: &'a mut SessionMemory, effects: &'a mut AgentEffects) -> Self {
        Self { env, now, memory, effects, transition: None }
    }

    /// The surroundings of a step of a tool use.
    pub(super) fn pipeline(&mut self) -> PipelineScope<'_> {
        PipelineScope { env: self.env, now: self.now, permissions: &mut self.memory.permissions, effects: self.effects }
    }

    /// Names the transition under which the next request opens.
    pub(super) fn pass(&mut self, transition: Transition) {
        self.effects.push(Effect::Note(Note::Transition(transition)));
        self.transition.get_or_insert(transition);
    }

    /// Says something to the model in the user's name.
    pub(super) fn say_hidden(&mut self, name: &str, why: &str, text: &str) {
        self.memory.conversation.push_hidden(name, text);
        self.effects.push(Effect::Emit(Emission::Hidden { uuid: name.into(), why: why.into(), text: text.into() }));
    }
}
