//! The answer that is under way: what came of it, and what consumers know of it.

use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, RequestId};
use crate::emission::{AssistantMessage, Emission, Note};
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

/// The parts of one answer so far.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct QueryTurn {
    pub(super) blocks: Vec<Arc<AssistantMessage>>,
    /// The end of the answer as consumers saw it, if they saw it.
    told: Option<Box<Emission>>,
    /// The tokens of the answer, once it is complete.
    pub(super) usage: Option<Usage>,
    /// Whether it was broken off in its thinking, which other blocks of it do not wait for (Q-10a).
    pub(super) has_lost_thinking: bool,
    /// Whether the model refused to say more, and is to be told so behind the results.
    pub(super) is_refused: bool,
}

impl QueryTurn {
    /// Takes a finished block. The API takes no two tool uses of one id, so the second one is a defect of the answer.
    pub(super) fn add(&mut self, message: &Arc<AssistantMessage>, effects: &mut AgentEffects) {
        if let Some(tool_use) = message.block.as_tool_use()
            && self.blocks.iter().any(|earlier| earlier.block.as_tool_use().is_some_and(|earlier| earlier.id == tool_use.id))
        {
            let text = format!("the id {} is used twice: both tool uses run, the model gets the first result", tool_use.id).into();
            effects.push(Effect::Note(Note::Defect { id: message.id, name: "duplicate-tool-use-id".into(), text }));
        }
        self.blocks.push(message.clone());
    }

    pub(super) fn has_tool_use(&self) -> bool {
        self.blocks.iter().any(|message| message.block.as_tool_use().is_some())
    }

    /// why the model stopped, and its tokens, unless consumers know just that already.
    pub(super) fn tell_end(&mut self, id: RequestId, stop_reason: Option<Arc<str>>, usage: Usage, effects: &mut AgentEffects) {
        let uuid = self.blocks.last().map(|message| message.uuid.clone());
        let end = Box::new(Emission::Answered { id, uuid, stop_reason, usage });
        if self.told.as_ref() != Some(&end) {
            effects.push(Effect::Emit(Emission::clone(&end)));
            self.told = Some(end);
        }
    }

    /// Whether it is known to be refused. Words that the model refused to go on with are no part of the conversation.
    pub(super) fn is_told_refused(&self) -> bool {
        matches!(self.told.as_deref(), Some(Emission::Answered { stop_reason: Some(stop_reason), .. }) if &**stop_reason == "refusal")
    }

    /// Takes back what consumers saw of it.
    pub(super) fn take_back(&self, effects: &mut AgentEffects) {
        for message in &self.blocks {
            effects.push(Effect::Emit(Emission::Tombstone { uuid: message.uuid.clone() }));
        }
    }

    /// Nothing of this answer counts any more.
    pub(super) fn forget(&mut self) {
        self.blocks.clear();
        self.usage = None;
    }
}
