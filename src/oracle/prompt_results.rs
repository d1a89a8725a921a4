//! O-8, of result messages: an engine that tells how a prompt ended tells it of each one, and truly (S-8). The text of a good end is what the model said
//! last.

use super::OracleFindings;
use super::terminal::ORACLE;
use reenact_engine::contract::{Effect, Emission, RequestId, Terminal};
use reenact_engine::emission::{ResultMessage, ResultSubtype};
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;

/// The result of the prompt that is open.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct PromptResultOracle {
    /// Some prompt had a result.
    has_any: bool,
    has_result: bool,
    /// The answer of which something came out last.
    answer: Option<EmittedTexts>,
}

#[derive(Clone, Debug, Hash)]
struct EmittedTexts {
    id: RequestId,
    /// Its blocks that came out.
    blocks: u32,
    texts: Vec<Arc<str>>,
}

impl PromptResultOracle {
    /// The next answer may have nothing at all.
    pub(super) fn on_request(&mut self) {
        self.answer = None;
    }

    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Init { .. }) => {
                *self = Self { has_any: self.has_any, ..Self::default() };
            }
            Effect::Emit(Emission::Assistant(message)) if message.error.is_none() => {
                let known = self.answer.take().filter(|answer| answer.id == message.id);
                let answer = self.answer.insert(known.unwrap_or(EmittedTexts { id: message.id, blocks: 0, texts: Vec::new() }));
                answer.blocks += 1;
                if let BlockKind::Text(text) = message.block.kind() {
                    answer.texts.push(text.clone());
                }
            }
            Effect::Emit(Emission::Result(result)) => {
                (self.has_any, self.has_result) = (true, true);
                self.check(result, found);
            }
            Effect::Finished { prompt, .. } => {
                if self.has_any && !self.has_result {
                    found.add(ORACLE, format!("prompt {prompt} ended, and no result message told how"));
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
        // The answer that costs too much need not come out.
        let may_speak = !is_kind_of_error && result.terminal != Terminal::MaxBudget;
        if let Some(answer) = self.answer.as_ref().filter(|answer| may_speak && answer.texts.is_empty() && !result.text.is_empty()) {
            found.add(
                ORACLE,
                format!("the result of prompt {prompt} has the text \"{}\", and answer {} has no text", result.text, answer.id),
            );
        }
        let is_good = result.terminal == Terminal::Completed && result.subtype == ResultSubtype::Success;
        let Some(answer) = self.answer.as_ref().filter(|answer| is_good && !answer.texts.is_empty()) else { return };
        // Of several blocks the last one need not be a text.
        let may_be_empty = result.text.is_empty() && answer.blocks > 1;
        if !may_be_empty && !answer.texts.contains(&result.text) {
            let said = answer.texts.join(" … ");
            found.add(ORACLE, format!("the result of prompt {prompt} has the text \"{}\", and the model said last: {said}", result.text));
        }
    }
}
