//! What a tool run does, wherever it is said: at a tool, at a scripted tool use, or in `[[result]]` (M-7).

use alloc::collections::BTreeMap;

use super::engine::text_or_json;
use super::reader::Reader;
use crate::prelude::*;
use crate::scenario::latency::Latency;
use crate::scenario::types::ScriptedOutcome;

/// An outcome without its latency; `None` when nothing is said.
pub(super) fn outcome(reader: &mut Reader<'_, '_>) -> Option<ScriptedOutcome> {
    let keys = ["result", "result_json", "is_error", "progress", "context_change"];
    let mut said = false;
    for key in keys {
        said |= reader.member(key).is_some();
    }
    let outcome = ScriptedOutcome {
        content: text_or_json(reader, "result", "result_json"),
        is_error: reader.get("is_error").unwrap_or_default(),
        latency: None,
        progress: reader.entries("progress", "an entry of `progress`", |reader| {
            let (at, text) = (reader.required("at"), reader.required("text"));
            Some((at?, text?))
        }),
        context_change: reader.get("context_change"),
    };
    said.then_some(outcome)
}

/// An outcome with its latency; `None` when nothing is said.
pub(super) fn outcome_with_latency(reader: &mut Reader<'_, '_>) -> Option<ScriptedOutcome> {
    let outcome = outcome(reader);
    match reader.get::<Latency>("latency") {
        Some(latency) => Some(ScriptedOutcome { latency: Some(latency), ..outcome.unwrap_or_default() }),
        None => outcome,
    }
}

/// `[[result]]`: outcomes by the API's id of the tool use.
pub(super) fn results(reader: &mut Reader<'_, '_>) -> BTreeMap<Arc<str>, ScriptedOutcome> {
    let mut results = BTreeMap::new();
    reader.entries("result", "[[result]]", |reader| {
        let id: Option<Arc<str>> = reader.required("tool_use");
        let place = reader.member("tool_use").map_or(reader.place, |member| member.value.place);
        let outcome = outcome_with_latency(reader);
        let id = id?;
        if results.insert(id.clone(), outcome.unwrap_or_default()).is_some() {
            reader.report.value(place, format!("tool use `{id}` has a [[result]] already; keep one of them"), None);
        }
        Some(())
    });
    results
}
