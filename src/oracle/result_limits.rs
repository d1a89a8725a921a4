//! O-13, of results: a result that is too large for its tool does not go out whole, unless it was stored (T-27).

use super::budgets::ORACLE;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, ToolRun};
use reenact_wire::block::joined_text;
use reenact_wire::prelude::*;

/// The tools of one agent that run, and what was too large of what they returned.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct ResultLimitOracle {
    /// Each with the characters that its result may have.
    running: Vec<(ToolRun, u64)>,
    too_large: Vec<(ToolRun, String)>,
}

impl ResultLimitOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        let Input::ToolEnded { run, outcome } = input else { return };
        let Some(at) = self.running.iter().position(|(known, _)| known == run) else { return };
        let (run, limit) = self.running.remove(at);
        // No text has more characters than its JSON has bytes.
        let content = outcome.content.as_str();
        if content.len() as u64 <= limit {
            return;
        }
        let text = joined_text(content);
        if text.chars().count() as u64 > limit {
            self.too_large.push((run, text));
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, tool_use } => self.running.push((*run, rules.tools.result_limit(&tool_use.name))),
            Effect::StoreResult { run, .. } => self.too_large.retain(|(known, _)| known != run),
            Effect::Emit(Emission::User(message)) => {
                for (run, returned) in self.too_large.extract_if(.., |(known, _)| *known == message.run) {
                    found.ask(ORACLE);
                    if message.block.result_text() == Some(returned) {
                        found.add(ORACLE, format!("the result of tool {run} went out whole, and it is too large for its tool"));
                    }
                }
            }
            Effect::Finished { prompt, .. } => {
                self.running.retain(|(run, _)| run.request.prompt != *prompt);
                self.too_large.retain(|(run, _)| run.request.prompt != *prompt);
            }
            _ => (),
        }
    }
}
