//! The words of a scenario about a tool run: its outcome, and the question of its server.

use super::ScriptedQuestion;
use crate::choices::ChoiceMaker;
use crate::setup::RunSetup;
use crate::tool_uses::ToolUseNames;
use reenact_engine::contract::{FailureCause, ToolOutcome, ToolUse};
use reenact_engine::time::Micros;
use reenact_scenario::plan::WaitKind;
use reenact_scenario::replies::{AT_ONCE, ScriptedElicitation};
use reenact_scenario::statement::ElicitationSource;
use reenact_scenario::types::{ScriptedOutcome, ToolEnding};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The words of the scenario about the run: those about the tool use, else those about its tool.
pub(crate) fn said_of<'a>(setup: &'a RunSetup, tool_use: &ToolUse, names: ToolUseNames<'a>) -> Option<&'a ScriptedOutcome> {
    let tool = || setup.scenario.tools.iter().find(|tool| tool.definition.name == tool_use.name);
    names.outcome.or_else(|| tool()?.outcome.as_ref())
}

/// The question and its result, with all choices made.
pub(super) fn scripted_question(
    choices: &mut ChoiceMaker<'_>,
    name: &str,
    asks: &ScriptedElicitation,
    after: Micros,
    asker: ElicitationSource,
) -> ScriptedQuestion {
    let ScriptedElicitation { message, after: _, reply, if_declined } = asks;
    let latency = reply.latency.as_ref().unwrap_or(&AT_ONCE);
    let takes = choices.latency(WaitKind::Elicitation, name, latency, 0);
    let declined = match if_declined {
        Some(text) => ToolOutcome::text(text),
        None => ToolOutcome::error(&format!("the user declined to answer: {message}")),
    };
    let is_answered = reply.says != Some(None) || reply.latency.is_some();
    let reply = reply.says.clone().map(|answer| (takes, answer));
    ScriptedQuestion { after, message: message.clone(), reply, declined: Arc::new(declined), asker, is_answered }
}

pub(crate) fn outcome(said: Option<&ScriptedOutcome>, name: &str) -> ToolOutcome {
    if let Some(ScriptedOutcome { ending: ToolEnding::Panics(message), .. }) = said {
        let cause = Some(FailureCause::Panicked);
        return ToolOutcome { cause, ..ToolOutcome::error(&format!("the tool panicked: {message}")) };
    }
    if said.is_some_and(|said| said.ending == ToolEnding::ReturnsNothing) {
        return ToolOutcome { content: Json::default(), ..ToolOutcome::text("") };
    }
    let content = said.and_then(|said| said.content.clone());
    ToolOutcome {
        content: content.unwrap_or_else(|| Json::from_value(&format!("(the scenario gives no result for {name})"))),
        is_error: said.is_some_and(|said| said.is_error),
        context_change: said.and_then(|said| said.context_change.clone()),
        abort: said.and_then(|said| said.aborts.clone()),
        cause: said.and_then(|said| said.cause),
        structured: said.and_then(|said| said.structured.clone()),
    }
}
