//! O-6: after a model switch no signature of another model is sent.

use super::OracleFindings;
use reenact_engine::contract::{Effect, Emission, Message, RequestId};
use reenact_wire::block::Block;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-6";

/// The model of each thinking block.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SignatureOracle {
    /// The model that each request of the open prompts named.
    asked: Vec<(RequestId, Arc<str>)>,
    given: Vec<(Block, Arc<str>)>,
}

impl SignatureOracle {
    pub(super) fn on_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Emit(Emission::Assistant(message)) if message.block.is_thinking() => {
                if let Some((_, model)) = self.asked.iter().find(|(id, _)| *id == message.id) {
                    self.given.push((message.block.clone(), model.clone()));
                }
            }
            Effect::Finished { prompt, .. } => self.asked.retain(|(id, _)| id.prompt != *prompt),
            _ => (),
        }
    }

    pub(super) fn on_request(&mut self, id: RequestId, model: &Arc<str>, messages: &[Arc<Message>], found: &mut OracleFindings<'_>) {
        self.asked.push((id, model.clone()));
        // As long as one model alone was asked there is nothing to find.
        if self.given.iter().all(|(_, by)| by == model) {
            return;
        }
        found.ask(ORACLE);
        for block in messages.iter().flat_map(|message| &message.content).filter(|block| block.is_thinking()) {
            let givers = || self.given.iter().filter(|(given, _)| given == block).map(|(_, by)| by);
            if let Some(other) = givers().next().filter(|_| givers().all(|by| by != model)) {
                found.add(ORACLE, format!("request {id} sends {model} thinking that {other} signed"));
            }
        }
    }
}
