//! What a tool run does, wherever it is said: at a tool, at a scripted tool use, or in `[[result]]` (M-7).

use alloc::collections::BTreeMap;

use super::engine::text_or_json;
use super::reader::TableReader;
use super::replies;
use super::tree::{TextPlace, TreeValue, TreeValueKind};
use super::values::JsonObjectText;
use crate::engine::contract::{FailureCause, ProgressKind};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::latency::Latency;
use crate::scenario::statement::tool_uses;
use crate::scenario::types::{AgentScript, Scenario, ScriptedOutcome, ScriptedProgress, StopDeafness, ToolEnding, ToolStopping, TurnBlock};

const KEYS: [&str; 15] = [
    "asks",
    "result",
    "result_json",
    "is_error",
    "cause",
    "structured",
    "progress",
    "context_change",
    "aborts",
    "hangs",
    "panics",
    "returns_twice",
    "no_result",
    "ignores_stop",
    "stop_takes",
];

/// An outcome without its latency; `None` when nothing is said.
pub(super) fn outcome(reader: &mut TableReader<'_, '_>) -> Option<ScriptedOutcome> {
    let mut said = false;
    for key in KEYS.into_iter().chain(replies::CHECK_KEYS) {
        said |= reader.member(key).is_some();
    }
    let outcome = ScriptedOutcome {
        content: text_or_json(reader, "result", "result_json"),
        is_error: reader.get("is_error").unwrap_or_default(),
        cause: cause(reader),
        latency: None,
        structured: reader.get("structured").map(|JsonObjectText(json)| json),
        progress: reader.entries("progress", "an entry of `progress`", |reader| {
            let kind = reader.choice("kind", &ProgressKind::ALL.map(|kind| (kind.as_str(), kind)));
            let (at, text) = (reader.required("at"), reader.required("text"));
            Some(ScriptedProgress { at: at?, text: text?, kind })
        }),
        context_change: reader.get("context_change"),
        aborts: reader.get("aborts"),
        ending: ending(reader),
        stopping: ToolStopping { ignores: ignores_stop(reader), takes: reader.get("stop_takes").unwrap_or_default() },
        check: replies::check(reader),
        asks: reader.section("asks", "`asks`", replies::elicitation).flatten(),
        agents: AgentScript::default(),
        may: false,
    };
    said.then_some(outcome)
}

/// What kind of error it is; what is no error has none.
fn cause(reader: &mut TableReader<'_, '_>) -> Option<FailureCause> {
    let causes = [FailureCause::ExitCode, FailureCause::NotStarted, FailureCause::TimedOut];
    let cause = reader.choice("cause", &causes.map(|cause| (cause.as_str(), cause)));
    if let Some(member) = reader.member("cause")
        && reader.get::<bool>("is_error") != Some(true)
    {
        reader.report.value(member.place, "`cause` says what kind of error it is: add is_error = true".into(), None);
    }
    cause
}

/// How it ends; what hangs or panics has no result.
fn ending(reader: &mut TableReader<'_, '_>) -> ToolEnding {
    reader.one_of(&["hangs", "panics", "returns_twice", "no_result"]);
    for key in ["result", "result_json", "structured", "aborts"] {
        for ending in ["hangs", "panics", "no_result"] {
            reader.one_of(&[ending, key]);
        }
    }
    let (hangs, twice, nothing) = (reader.mark("hangs"), reader.mark("returns_twice"), reader.mark("no_result"));
    match (hangs, panics(reader)) {
        (false, None) if nothing => ToolEnding::ReturnsNothing,
        (true, _) => ToolEnding::Hangs,
        (false, Some(message)) => ToolEnding::Panics(message),
        (false, None) if twice => ToolEnding::ReturnsTwice,
        (false, None) => ToolEnding::Returns,
    }
}

/// `panics = true`, or what the panic says.
fn panics(reader: &mut TableReader<'_, '_>) -> Option<Arc<str>> {
    match reader.member("panics")?.value.kind {
        TreeValueKind::Text(_) => reader.get("panics"),
        _ => reader.mark("panics").then(|| "explicit panic".into()),
    }
}

/// `ignores_stop = "2s"`, or `true` for ever.
fn ignores_stop(reader: &mut TableReader<'_, '_>) -> StopDeafness {
    match reader.member("ignores_stop").map(|member| &member.value.kind) {
        None => StopDeafness::No,
        Some(TreeValueKind::Boolean(true)) => StopDeafness::Forever,
        Some(TreeValueKind::Boolean(false)) => StopDeafness::No,
        Some(_) => reader.get::<Micros>("ignores_stop").map_or(StopDeafness::No, StopDeafness::For),
    }
}

/// An outcome with its latency; `None` when nothing is said.
pub(super) fn outcome_with_latency(reader: &mut TableReader<'_, '_>) -> Option<ScriptedOutcome> {
    let outcome = outcome(reader);
    match reader.get::<Latency>("latency") {
        Some(latency) => Some(ScriptedOutcome { latency: Some(latency), ..outcome.unwrap_or_default() }),
        None => outcome,
    }
}

/// `[[result]]`: outcomes by the API's id of the tool use.
pub(super) fn results(reader: &mut TableReader<'_, '_>) -> BTreeMap<Arc<str>, ScriptedOutcome> {
    let mut results = BTreeMap::new();
    reader.entries("result", "[[result]]", |reader| {
        let id: Option<Arc<str>> = reader.required("tool_use");
        let place = reader.member("tool_use").map_or(reader.place, |member| member.value.place);
        let outcome = outcome_with_latency(reader).unwrap_or_default();
        let may = reader.get("may").unwrap_or_default();
        let id = id?;
        if results.insert(id.clone(), ScriptedOutcome { may, ..outcome }).is_some() {
            reader.report.value(place, format!("tool use `{id}` has a [[result]] already; keep one of them"), None);
        }
        Some(())
    });
    results
}

/// A tool use that says itself what comes of it has no use for a `[[result]]`.
pub(super) fn check_results(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let says_it = |block: &TurnBlock| matches!(block, TurnBlock::Tool { outcome: Some(_), .. });
    let twice = tool_uses(scenario).into_iter().filter(|tool_use| says_it(tool_use.block) && scenario.results.contains_key(&tool_use.id));
    for tool_use in twice {
        let place = result_of(reader, &tool_use.id);
        let message =
            format!("tool use `{}` says itself what comes of it, so that this [[result]] is never used; keep one of them", tool_use.id);
        reader.report.value(place, message, None);
    }
}

/// Where the `[[result]]` of this tool use stands.
fn result_of(reader: &mut TableReader<'_, '_>, id: &str) -> TextPlace {
    let table = reader.place;
    let Some(member) = reader.member("result") else { return table };
    let TreeValueKind::List(entries) = &member.value.kind else { return member.place };
    let is_it = |entry: &&TreeValue| matches!(&entry.kind, TreeValueKind::Table(entry) if entry.get("tool_use").is_some_and(|id_of| id_of.value.is_text(id)));
    entries.iter().find(is_it).map_or(member.place, |entry| entry.place)
}
