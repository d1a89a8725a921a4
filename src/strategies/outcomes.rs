//! Outcomes of tool runs.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::feature::{CaseFeatures, Feature};
use super::values::{latency, odd_text, rule, some_time, span, text, vary, words};
use reenact_engine::contract::{FailureCause, ProgressKind};
use reenact_engine::permission::{PermissionWord, ToolCheck};
use reenact_scenario::replies::{ScriptedElicitation, ScriptedReply};
use reenact_scenario::types::{AgentScript, ScriptedOutcome, ScriptedProgress, StopDeafness, ToolEnding, ToolStopping};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The outcome of a run, with all its parts at once; see [`fitting`].
pub fn outcome() -> BoxedStrategy<ScriptedOutcome> {
    vary!(ScriptedOutcome::default(), 0.2;
        content: content().prop_map(Some),
        is_error: Just(true),
        cause: select(vec![FailureCause::ExitCode, FailureCause::NotStarted, FailureCause::TimedOut]).prop_map(Some),
        latency: latency().prop_map(Some),
        structured: words().prop_map(|words| Some(Json::trusted(format!(r#"{{"said":{}}}"#, Json::from_value(&*words))))),
        progress: vec(progress(), 1..4),
        context_change: words().prop_map(Some),
        aborts: words().prop_map(Some),
        ending: ending(),
        stopping: stopping(),
        check: check().prop_map(Some),
        asks: elicitation().prop_map(Some),
    )
}

/// The progress of a run.
fn progress() -> impl Strategy<Value = ScriptedProgress> {
    (span(), words(), option::of(select(ProgressKind::ALL.to_vec()))).prop_map(|(at, text, kind)| ScriptedProgress { at, text, kind })
}

/// The content of a result: text, nothing, very much, blocks.
pub fn content() -> BoxedStrategy<Json> {
    let blocks = vec(text().prop_map(|text| format!(r#"{{"type":"text","text":{}}}"#, Json::from_value(&*text))), 0..3);
    let image = r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]"#;
    prop_oneof![
        4 => text().prop_map(|text| Json::from_value(&*text)),
        1 => odd_text().prop_map(|text| Json::from_value(&*text)),
        1 => Just(Json::from_value("")),
        1 => (1_usize..9).prop_map(|thousands| Json::from_value(&*"0123456789".repeat(thousands * 100))),
        1 => blocks.prop_map(|blocks| Json::trusted(format!("[{}]", blocks.join(",")))),
        1 => Just(Json::trusted(image)),
    ]
    .boxed()
}

/// The end of a run.
pub fn ending() -> BoxedStrategy<ToolEnding> {
    prop_oneof![
        Just(ToolEnding::ReturnsTwice),
        Just(ToolEnding::Hangs),
        Just(ToolEnding::ReturnsNothing),
        words().prop_map(ToolEnding::Panics)
    ]
    .boxed()
}

/// How a run reacts to a stop.
pub fn stopping() -> BoxedStrategy<ToolStopping> {
    let deaf = prop_oneof![2 => Just(StopDeafness::No), 2 => some_time().prop_map(StopDeafness::For), 1 => Just(StopDeafness::Forever)];
    (deaf, span()).prop_map(|(ignores, takes)| ToolStopping { ignores, takes }).boxed()
}

/// The finding of a tool's check of its input.
pub fn check() -> BoxedStrategy<ScriptedReply<ToolCheck>> {
    let word = select(PermissionWord::ALL.to_vec());
    let found = vary!(ToolCheck::default(), 0.3;
        problem: words().prop_map(Some),
        permission: word.prop_map(Some),
        reason: words().prop_map(Some),
        suggestions: vec(rule(), 1..3),
    );
    reply(found).boxed()
}

/// The question of a server.
pub fn elicitation() -> BoxedStrategy<ScriptedElicitation> {
    let answer = reply(option::of(words()));
    (words(), span(), answer, option::of(words()))
        .prop_map(|(message, after, reply, if_declined)| {
            // Who never answers takes no time for it.
            let reply = if reply.says.is_none() { ScriptedReply { latency: None, says: None, may: true } } else { reply };
            ScriptedElicitation { message, after, reply, if_declined }
        })
        .boxed()
}

/// An answer to a question, and sometimes silence.
pub fn reply<T: core::fmt::Debug + Clone + 'static>(says: impl Strategy<Value = T> + 'static) -> BoxedStrategy<ScriptedReply<T>> {
    let says = prop_oneof![9 => says.prop_map(Some), 1 => Just(None)];
    (option::weighted(0.4, latency()), says).prop_map(|(latency, says)| ScriptedReply { latency, says, may: true }).boxed()
}

/// The part of an outcome that these features allow and that goes together: a hanging run has no result, and only errors have causes. `None`
/// when nothing is left.
pub fn fitting(features: &CaseFeatures, mut outcome: ScriptedOutcome) -> Option<ScriptedOutcome> {
    let usual = ScriptedOutcome::default();
    let has = |feature| features.contains(&feature);
    if !has(Feature::Outcomes) {
        (outcome.content, outcome.is_error, outcome.latency) = (usual.content, usual.is_error, usual.latency);
    }
    outcome.safe = outcome.safe.filter(|_| has(Feature::OddTools));
    if !has(Feature::Signals) {
        (outcome.progress, outcome.context_change, outcome.aborts) = (usual.progress, usual.context_change, usual.aborts);
        outcome.structured = usual.structured;
    }
    if !has(Feature::Endings) {
        (outcome.ending, outcome.stopping) = (usual.ending, usual.stopping);
    }
    if outcome.ending == ToolEnding::Hangs && !has(Feature::Endless) {
        outcome.ending = ToolEnding::Returns;
    }
    outcome.check = outcome.check.filter(|check| has(Feature::Checks) && (check.says.is_some() || has(Feature::Endless)));
    outcome.asks = outcome.asks.filter(|asks| has(Feature::Elicitation) && (asks.reply.says.is_some() || has(Feature::Endless)));
    if !matches!(outcome.ending, ToolEnding::Returns | ToolEnding::ReturnsTwice) {
        (outcome.content, outcome.structured, outcome.aborts) = (None, None, None);
    }
    outcome.cause = outcome.cause.filter(|_| outcome.is_error);
    if !outcome.agents.tasks.is_empty() {
        // The answers of the agents make the result.
        (outcome.content, outcome.latency, outcome.ending) = (None, None, ToolEnding::Returns);
        outcome.structured = None;
    }
    if outcome.agents.tasks.len() < 2 {
        outcome.agents = AgentScript { synthesis: None, ..outcome.agents };
    }
    (outcome != ScriptedOutcome::default()).then_some(outcome)
}
