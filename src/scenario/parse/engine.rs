//! `[engine]`: the reference engine's settings.

use super::reader::Reader;
use super::values::{ContentJson, Object, TextAsJson};
use crate::engine::settings::{EmissionOrder, ResultDelivery, ResultOrder, Settings};
use crate::wire::json::Json;

/// Reads the settings; what is not said keeps its default.
pub(super) fn settings(reader: &mut Reader<'_, '_>) -> Settings {
    let mut settings = Settings::default();
    reader.set("model", &mut settings.model);
    reader.set("max_tokens", &mut settings.max_tokens);
    reader.set("stream", &mut settings.stream);
    settings.system_prompt = text_or_json(reader, "system_prompt", "system_prompt_json");
    reader.set("memory", &mut settings.memory);
    reader.set_some("append_system_prompt", &mut settings.append_system_prompt);
    reader.set_some("user_context", &mut settings.user_context);
    reader.set_some("system_context", &mut settings.system_context);
    reader.set("cache_breakpoints", &mut settings.cache_breakpoints);
    if let Some(Object(json)) = reader.get("request_extra") {
        settings.request_extra = json;
    }
    reader.set("partial_messages", &mut settings.partial_messages);
    let emission_orders = [("eager", EmissionOrder::Eager), ("arrival", EmissionOrder::Arrival)];
    settings.emission_order = reader.choice("emission_order", &emission_orders).unwrap_or_default();
    let result_orders = [("tool_use", ResultOrder::ToolUse), ("emission", ResultOrder::Emission)];
    settings.result_order = reader.choice("result_order", &result_orders).unwrap_or_default();
    let deliveries = [("next_item", ResultDelivery::NextItem), ("at_once", ResultDelivery::AtOnce)];
    settings.result_delivery = reader.choice("result_delivery", &deliveries).unwrap_or_default();
    reader.set_some("max_concurrent_tools", &mut settings.max_concurrent_tools);
    reader.set("max_pause_resumes", &mut settings.max_pause_resumes);
    reader.set("retry_refusal", &mut settings.retry_refusal);
    settings
}

/// Content given as plain text, or as JSON under another key.
pub(super) fn text_or_json(reader: &mut Reader<'_, '_>, text: &'static str, json: &'static str) -> Option<Json> {
    reader.one_of(&[text, json]);
    let plain = reader.get(text).map(|TextAsJson(json)| json);
    plain.or(reader.get(json).map(|ContentJson(json)| json))
}
