//! `[engine]`: the reference engine's settings.

use super::compaction;
use super::reader::TableReader;
use super::retry;
use super::session::session;
use super::tree::TreeValueKind;
use super::values::{ContentJson, JsonObjectText, TextAsJson};
use crate::engine::settings::{
    AbortResultOrder, DiscardPolicy, EmissionOrder, NeighbourMerging, PipelineSettings, QueuedBlockPolicy, ResultDelivery, ResultOrder,
    Settings, SiblingAbort,
};
use crate::prelude::*;
use crate::wire::json::Json;

/// Reads the settings; what is not said keeps its default.
pub(super) fn settings(reader: &mut TableReader<'_, '_>) -> Settings {
    let mut settings = Settings::default();
    settings.model = reader.model("model").unwrap_or(settings.model);
    reader.set("max_tokens", &mut settings.max_tokens);
    reader.set("stream", &mut settings.stream);
    settings.system_prompt = text_or_json(reader, "system_prompt", "system_prompt_json");
    reader.set("memory", &mut settings.memory);
    reader.set_some("append_system_prompt", &mut settings.append_system_prompt);
    reader.set_some("user_context", &mut settings.user_context);
    reader.set_some("system_context", &mut settings.system_context);
    reader.set("cache_breakpoints", &mut settings.cache_breakpoints);
    if let Some(JsonObjectText(json)) = reader.get("request_extra") {
        refuse_own_members(reader, &json);
        settings.request_extra = json;
    }
    let neighbours = [
        ("joined", NeighbourMerging::Joined),
        ("apart", NeighbourMerging::Apart),
        ("apart_with_results", NeighbourMerging::ApartWithResults),
    ];
    settings.neighbours = reader.choice("neighbours", &neighbours).unwrap_or_default();
    reader.set("partial_messages", &mut settings.partial_messages);
    let emission_orders = [("eager", EmissionOrder::Eager), ("arrival", EmissionOrder::Arrival)];
    settings.emission_order = reader.choice("emission_order", &emission_orders).unwrap_or_default();
    let result_orders = [("tool_use", ResultOrder::ToolUse), ("emission", ResultOrder::Emission)];
    settings.result_order = reader.choice("result_order", &result_orders).unwrap_or_default();
    let deliveries = [("next_item", ResultDelivery::NextItem), ("at_once", ResultDelivery::AtOnce)];
    settings.result_delivery = reader.choice("result_delivery", &deliveries).unwrap_or_default();
    reader.set_some("max_concurrent_tools", &mut settings.max_concurrent_tools);
    reader.set("streaming_execution", &mut settings.streaming_execution);
    if let Some(most) = reader.get_above_zero("max_batch_tools", "a batch has room for at least 1 tool") {
        settings.max_batch_tools = most;
    }
    settings.sibling_abort = sibling_abort(reader, "sibling_abort").unwrap_or(settings.sibling_abort);
    settings.batch_sibling_abort = sibling_abort(reader, "batch_sibling_abort").unwrap_or(settings.batch_sibling_abort);
    reader.set("tool_grace", &mut settings.tool_grace);
    let abort_results = [("at_once", AbortResultOrder::AtOnce), ("in_turn", AbortResultOrder::InTurn)];
    settings.abort_results = reader.choice("abort_results", &abort_results).unwrap_or_default();
    let queued_block = [("answered", QueuedBlockPolicy::Answered), ("run", QueuedBlockPolicy::Run)];
    settings.queued_block = reader.choice("queued_block", &queued_block).unwrap_or_default();
    let discarded_tools = [("stop", DiscardPolicy::Stop), ("ignore", DiscardPolicy::Ignore)];
    settings.discarded_tools = reader.choice("discarded_tools", &discarded_tools).unwrap_or_default();
    settings.pipeline = reader.section("pipeline", "[engine.pipeline]", pipeline).unwrap_or_default();
    settings.retry = reader.section("retry", "[engine.retry]", retry::retry).unwrap_or_default();
    settings.compaction = reader.section("compaction", "[engine.compaction]", compaction::compaction).unwrap_or_default();
    reader.set("max_pause_resumes", &mut settings.max_pause_resumes);
    reader.set("retry_refusal", &mut settings.retry_refusal);
    reader.set("background", &mut settings.background);
    settings.session = session(reader);
    settings
}

/// `true`, `false`, or which failures of a shell abort its siblings, as a word (T-13, T-28).
fn sibling_abort(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<SiblingAbort> {
    match reader.member(key)?.value.kind {
        TreeValueKind::Text(_) => {
            reader.choice(key, &[("off", SiblingAbort::Off), ("failed", SiblingAbort::Failed), ("any", SiblingAbort::Any)])
        }
        _ => reader.get::<bool>(key).map(Into::into),
    }
}

/// What the engine writes itself would stand in a request twice.
fn refuse_own_members(reader: &mut TableReader<'_, '_>, extra: &Json) {
    const OWN: [(&str, &str); 6] = [
        ("model", "`model`"),
        ("max_tokens", "`max_tokens`"),
        ("stream", "`stream`"),
        ("system", "`system_prompt`"),
        ("tools", "[[tool]]"),
        ("messages", "[[history]] and [[prompt]]"),
    ];
    let value = extra.to_value();
    for (name, instead) in OWN.into_iter().filter(|(name, _)| value.get(name).is_some()) {
        if let Some(member) = reader.member("request_extra") {
            let message = format!("`{name}` is not an extra member of a request; write {instead} instead");
            reader.report.value(member.value.place, message, None);
        }
    }
}

/// `[engine.pipeline]`: figures of T-27 to T-29.
fn pipeline(reader: &mut TableReader<'_, '_>) -> PipelineSettings {
    let mut pipeline = PipelineSettings::default();
    reader.set("check_inputs", &mut pipeline.check_inputs);
    reader.set("result_limit", &mut pipeline.result_limit);
    reader.set("result_preview", &mut pipeline.result_preview);
    reader.set("exit_code_aborts", &mut pipeline.exit_code_aborts);
    reader.set("hooks_shown_from", &mut pipeline.hooks_shown_from);
    reader.set("slow_from", &mut pipeline.slow_from);
    pipeline
}

/// Content given as plain text, or as JSON under another key.
pub(super) fn text_or_json(reader: &mut TableReader<'_, '_>, text: &'static str, json: &'static str) -> Option<Json> {
    reader.one_of(&[text, json]);
    let plain = reader.get(text).map(|TextAsJson(json)| json);
    plain.or(reader.get(json).map(|ContentJson(json)| json))
}
