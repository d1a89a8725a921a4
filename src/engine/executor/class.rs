//! Whether a tool use may run beside others: its tool says so of this input, or the scenario of this use (T-3). Pure functions.
//!
//! ```text
//!   invalid input, unknown tool ──> exclusive
//!   what is said of this use, by its id ──> as said
//!   the tool: always, never, cannot say, by its command ──> safe, exclusive, exclusive, safe if the command only reads
//! ```
//!
//! The class is decided once, with the input that the model wrote. A hook or a person who changes the input later does not change the class.
//! A command that is not understood is exclusive. To run it alone costs time; to run it beside others may cost work.

use alloc::collections::BTreeMap;

use super::admission::ConcurrencyClass;
use super::input::InputProblem;
use crate::contract::original_id;
use crate::settings::{Environment, ToolSafety};
use reenact_shell::only_reads;
use reenact_wire::block::{ToolInput, ToolUse};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The class of a tool use as it arrives. An input that cannot be used is exclusive, whatever is said of it.
pub(super) fn class_of(env: &Environment, tool_use: &ToolUse, problem: Option<&InputProblem>) -> ConcurrencyClass {
    let is_safe = || env.tool(&tool_use.name).is_some_and(|tool| is_safe(tool.safe, &env.safe_uses, tool_use));
    if problem.is_none() && is_safe() { ConcurrencyClass::Safe } else { ConcurrencyClass::Exclusive }
}

/// Whether a use of a tool that says `safety` of itself may run beside others. `safe_uses` is what is said of single uses.
fn is_safe(safety: ToolSafety, safe_uses: &BTreeMap<Arc<str>, bool>, tool_use: &ToolUse) -> bool {
    let ToolInput::Valid(input) = &tool_use.input else { return false };
    said_of(safe_uses, &tool_use.id).unwrap_or_else(|| match safety {
        ToolSafety::Always => true,
        ToolSafety::Never | ToolSafety::Unknown => false,
        ToolSafety::ByCommand => command(input.as_str()).is_some_and(|command| only_reads(&command)),
    })
}

/// The class that the scenario gives to a use, by its id. A reissued answer has ids that are made from the first ones (M-3).
fn said_of(safe_uses: &BTreeMap<Arc<str>, bool>, id: &str) -> Option<bool> {
    let said = |id: &str| safe_uses.get(id).copied();
    said(id).or_else(|| said(original_id(id)?))
}

/// The command of an input. Of two commands nobody knows which one the tool runs.
fn command(input: &str) -> Option<String> {
    let input = RawObject::parse(input).ok()?;
    let count = input.members().filter(|(name, _)| *name == "command").count();
    input.string("command").filter(|_| count == 1).map(Cow::into_owned)
}

#[cfg(test)]
mod tests;
