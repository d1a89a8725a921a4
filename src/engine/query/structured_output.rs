//! Structured output (S-9): a turn that ends without it is asked for it, a few times.
//!
//! It is enforced when the settings have a schema and a tool of this name is there; the tool is called like any other, and its input is what
//! the result carries. Once it is there the prompt ends: the model was asked for nothing else. Asking for it is an objection to the end, so it
//! continues under the transition of stop hooks.

use super::outcome::QueryEnding;
use super::turn::QueryTurn;
use crate::contract::Terminal;
use crate::settings::Environment;
use reenact_wire::block::{Block, BlockKind, ToolInput, ToolUse};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The tool's name.
pub(super) const TOOL: &str = "StructuredOutput";

/// Whether turns must end with a call of the tool.
pub(super) fn is_enforced(env: &Environment) -> bool {
    env.settings.session.json_schema.is_some() && env.tool(TOOL).is_some()
}

/// The input of the first call of the tool that went well. Of tool uses that share an id the model gets the first result: another one has none that counts.
pub(super) fn accepted_output(turn: &QueryTurn, results: &[Block]) -> Option<Json> {
    let is_fine = |id: &str| {
        results.iter().any(|block| matches!(block.kind(), BlockKind::ToolResult { tool_use_id, is_error: false } if **tool_use_id == *id))
    };
    let uses: Vec<&ToolUse> = turn.blocks.iter().filter_map(|message| message.block.as_tool_use()).collect();
    let is_first = |index: usize| !uses[..index].iter().any(|earlier| earlier.id == uses[index].id);
    let is_accepted = |(index, tool_use): &(usize, &ToolUse)| &*tool_use.name == TOOL && is_first(*index) && is_fine(&tool_use.id);
    (0..).zip(uses.iter().copied()).filter(is_accepted).find_map(|(_, tool_use)| match &tool_use.input {
        ToolInput::Valid(input) => Some(input.clone()),
        ToolInput::Invalid { .. } => None,
    })
}

/// How often the model was asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StructureRequests(u32);

impl StructureRequests {
    /// Counts one more; the ending of a prompt in which that is too many.
    pub(super) fn count(&mut self, max: u32) -> Option<QueryEnding> {
        if self.0 >= max {
            let text = format!("the model was asked {max} times for its structured output and did not give it");
            return Some(QueryEnding::limit(Terminal::StructuredOutputRetries, &text));
        }
        self.0 += 1;
        None
    }
}
