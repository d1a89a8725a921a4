//! O-25, of structured output: what a prompt has as its structured output is the input of a call of the tool for it, and that call went well (S-9). A prompt
//! that completed after such a call has one.
//!
//! A hook or a person may change an input. The model's own and the one that the call had both count.

use super::INPUT;
use crate::OracleFindings;
use crate::speech::{ModelSpeech, SaidBlock};
use reenact_engine::contract::{Effect, Emission, RequestId, Terminal, ToolRun, ToolUse};
use reenact_wire::block::{BlockKind, ToolInput};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The name of the tool.
pub(super) const TOOL: &str = "StructuredOutput";

/// The calls of the prompts of one agent that are not over.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct StructuredOutputOracle {
    /// The answer that comes, and how many tool uses of it came out.
    asked: Option<(RequestId, u32)>,
    calls: Vec<StructuredCall>,
}

#[derive(Clone, Debug, Hash)]
struct StructuredCall {
    run: ToolRun,
    /// The model's, and the one that it was started with.
    inputs: Vec<Json>,
    /// Whether its result is out and no error.
    is_fine: bool,
}

impl StructuredOutputOracle {
    /// `is_enforced`: the settings want structured output.
    pub(super) fn on_effect(&mut self, is_enforced: bool, effect: &Effect, speech: Option<&ModelSpeech>, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Assistant(message)) => {
                let Some(tool_use) = message.block.as_tool_use() else { return };
                let index = self.asked.filter(|(id, _)| *id == message.id).map_or(0, |(_, count)| count);
                self.asked = Some((message.id, index + 1));
                let run = ToolRun { request: message.id, index };
                self.take(run, tool_use);
                // Consumers may get a copy with more in it.
                let said = speech.and_then(|speech| speech.tool_use(message.id, index, &tool_use.id));
                if let Some(input) = said.and_then(SaidBlock::input) {
                    self.take(run, &ToolUse { input, ..tool_use.clone() });
                }
            }
            Effect::StartTool { run, tool_use } => self.take(*run, tool_use),
            Effect::Emit(Emission::User(message)) => {
                let is_fine = matches!(message.block.kind(), BlockKind::ToolResult { is_error: false, .. });
                self.calls.iter_mut().filter(|call| call.run == message.run).for_each(|call| call.is_fine = is_fine);
            }
            Effect::Emit(Emission::StructuredOutput { json }) => self.judge(json, "structured output", found),
            Effect::Emit(Emission::Result(result)) => {
                if let Some(json) = &result.structured_output {
                    self.judge(json, "the structured output of the result", found);
                } else if is_enforced && result.terminal == Terminal::Completed {
                    found.ask(INPUT);
                    let of_prompt = |call: &&StructuredCall| call.run.request.prompt == result.prompt;
                    if let Some(call) = self.calls.iter().filter(of_prompt).find(|call| call.is_fine) {
                        found.add(INPUT, format!("the result has no structured output, and {TOOL} was called for it ({})", call.run));
                    }
                }
            }
            Effect::Finished { prompt, .. } => {
                self.asked = None;
                self.calls.retain(|call| call.run.request.prompt != *prompt);
            }
            _ => (),
        }
    }

    fn take(&mut self, run: ToolRun, tool_use: &ToolUse) {
        let ToolInput::Valid(input) = &tool_use.input else { return };
        if &*tool_use.name != TOOL {
            return;
        }
        match self.calls.iter_mut().find(|call| call.run == run) {
            Some(call) if call.inputs.contains(input) => (),
            Some(call) => call.inputs.push(input.clone()),
            None => self.calls.push(StructuredCall { run, inputs: vec![input.clone()], is_fine: false }),
        }
    }

    fn judge(&self, json: &Json, what: &str, found: &mut OracleFindings<'_>) {
        found.ask(INPUT);
        let mut accepted = self.calls.iter().filter(|call| call.is_fine).flat_map(|call| &call.inputs);
        if !accepted.any(|input| input == json || input.to_value() == json.to_value()) {
            found.add(INPUT, format!("{what} is not the input of a call of {TOOL} that went well: {}", json.as_str()));
        }
    }
}
