//! O-8, of result messages: an engine that tells how a prompt ended tells it of each one, and truly (S-8). The text of a good end is what the model said
//! last.

use super::OracleFindings;
use super::terminal::ORACLE;
use reenact_engine::contract::{Effect, Emission, Terminal};
use reenact_engine::emission::{ResultMessage, ResultSubtype};
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;

/// The result of the prompt that is open.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct PromptResultOracle {
    /// Some prompt had a result.
    has_any: bool,
    has_result: bool,
    /// The text of the last block of the model that came out; empty where that is no text.
    said: Arc<str>,
}

impl PromptResultOracle {
    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Init { .. }) => {
                *self = Self { has_any: self.has_any, ..Self::default() };
            }
            Effect::Emit(Emission::Assistant(message)) if message.error.is_none() => {
                self.said = match message.block.kind() {
                    BlockKind::Text(text) => text.clone(),
                    _ => "".into(),
                };
            }
            Effect::Emit(Emission::Result(result)) => {
                (self.has_any, self.has_result) = (true, true);
                self.check(result, found);
            }
            Effect::Finished { prompt, .. } => {
                if self.has_any {
                    found.ask(ORACLE);
                    if !self.has_result {
                        found.add(ORACLE, format!("prompt {prompt} ended, and no result message told how"));
                    }
                }
                self.has_result = false;
            }
            _ => (),
        }
    }

    fn check(&self, result: &ResultMessage, found: &mut OracleFindings<'_>) {
        let prompt = result.prompt;
        let is_kind_of_error = result.subtype == ResultSubtype::ErrorDuringExecution;
        let is_limit = !is_kind_of_error && result.subtype != ResultSubtype::Success;
        if !is_limit && is_kind_of_error != result.is_error {
            let is = if result.is_error { "an error" } else { "no error" };
            found.add(ORACLE, format!("the result of prompt {prompt} is {is}, and its kind says otherwise"));
        }
        let is_good = result.terminal == Terminal::Completed && result.subtype == ResultSubtype::Success;
        if is_good && !self.said.is_empty() && result.text != self.said {
            found.add(ORACLE, format!("the result of prompt {prompt} has another text than the model said last: {}", self.said));
        }
    }
}
