//! Tools in a simulated run: what each gives, and how long it takes (M-7).
//!
//! The most specific word wins: the tool use's own outcome, then the tool's, then a stated default.

use super::setup::Setup;
use crate::engine::contract::ToolOutcome;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::known_tools::known_tool;
use crate::scenario::latency::Latency;
use crate::scenario::types::ScriptedOutcome;
use crate::wire::block::ToolUse;
use crate::wire::json::Json;

/// What one run of a tool does, with all choices made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Performance {
    /// Progress: when after the start, and what it says; never after the end.
    pub(crate) progress: Vec<(Micros, Arc<str>)>,
    /// When it ends, after the start.
    pub(crate) ends_after: Micros,
    /// What it gives.
    pub(crate) outcome: ToolOutcome,
}

/// Used for a tool that is not known and of which nothing is said.
const USUAL_LATENCY: Latency = Latency::Uniform(Micros::from_millis(10), Micros::from_millis(100));

/// Decides what a tool use does. `nth` counts the runs of the same tool, from 0.
pub(crate) fn perform(setup: &Setup, tool_use: &ToolUse, nth: usize) -> Performance {
    let tool = setup.scenario.tools.iter().find(|tool| tool.definition.name == tool_use.name);
    let own = setup.outcomes.get(&tool_use.id);
    let said = own.or_else(|| tool.and_then(|tool| tool.outcome.as_ref()));
    let latency = own
        .and_then(|outcome| outcome.latency.clone())
        .or_else(|| tool.and_then(|tool| tool.latency.clone()))
        .or_else(|| known_tool(&tool_use.name).map(|known| known.latency.clone()))
        .unwrap_or(USUAL_LATENCY);
    let mut draws = setup.scenario.seed.draws("tool-latency", &tool_use.id);
    let ends_after = latency.draw(&mut draws, None, nth).unwrap_or_default();
    let progress = said.map(|said| said.progress.clone()).unwrap_or_default();
    Performance {
        progress: progress.into_iter().map(|(at, text)| (at.min(ends_after), text)).collect(),
        ends_after,
        outcome: outcome(said, &tool_use.name),
    }
}

fn outcome(said: Option<&ScriptedOutcome>, name: &str) -> ToolOutcome {
    let content = said.and_then(|said| said.content.clone());
    ToolOutcome {
        content: content.unwrap_or_else(|| Json::of(&format!("(the scenario gives no result for {name})"))),
        is_error: said.is_some_and(|said| said.is_error),
        context_change: said.and_then(|said| said.context_change.clone()),
        abort: None,
    }
}
