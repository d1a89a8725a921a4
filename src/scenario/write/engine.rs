//! `[engine]` and `[engine.pipeline]` as TOML.

use super::texts::texts_section;
use super::{TomlLines, text_or_json};
use crate::engine::settings::{EmissionOrder, NeighbourMerging, PipelineSettings, ResultDelivery, ResultOrder, Settings};
use crate::prelude::*;

/// `[engine]`; always there, because the model is what people look for first.
pub(super) fn engine(out: &mut TomlLines, settings: &Settings, files: [(&str, &Option<String>); 2]) {
    let Settings { model, max_tokens, stream, system_prompt, memory, append_system_prompt, user_context, system_context, .. } = settings;
    let default = Settings::default();
    out.table("[engine]");
    out.text("model", model);
    out.raw("max_tokens", max_tokens);
    for (key, path) in files {
        if let Some(path) = path {
            out.text(key, path);
        }
    }
    out.flag("stream", *stream, default.stream);
    if let Some(system) = system_prompt {
        text_or_json(out, "system_prompt", system);
    }
    out.flag("memory", *memory, default.memory);
    for (key, value) in [("append_system_prompt", append_system_prompt), ("user_context", user_context), ("system_context", system_context)]
    {
        if let Some(value) = value {
            out.text(key, value);
        }
    }
    engine_behaviour(out, settings, &default);
    texts_section(out, &settings.texts);
}

/// The rest of the settings; together with [`engine`] it names each field, and leaves out nothing by `..` that the other does not name.
fn engine_behaviour(out: &mut TomlLines, settings: &Settings, default: &Settings) {
    let Settings {
        model: _,
        max_tokens: _,
        stream: _,
        system_prompt: _,
        memory: _,
        append_system_prompt: _,
        user_context: _,
        system_context: _,
        cache_breakpoints,
        request_extra,
        neighbours,
        partial_messages,
        emission_order,
        result_order,
        result_delivery,
        max_concurrent_tools,
        max_pause_resumes,
        retry_refusal,
        background,
        texts: _, // a table of its own
        streaming_execution,
        max_batch_tools,
        sibling_abort,
        batch_sibling_abort,
        tool_grace,
        pipeline,
        retry,
        compaction,
        permissions: _,
        session,
    } = settings;
    out.flag("cache_breakpoints", *cache_breakpoints, default.cache_breakpoints);
    if *request_extra != default.request_extra {
        out.text("request_extra", request_extra.as_str());
    }
    match neighbours {
        NeighbourMerging::Joined => (),
        NeighbourMerging::Apart => out.text("neighbours", "apart"),
        NeighbourMerging::ApartWithResults => out.text("neighbours", "apart_with_results"),
    }
    out.flag("partial_messages", *partial_messages, default.partial_messages);
    result_orders(out, *emission_order, *result_order, *result_delivery);
    if let Some(most) = max_concurrent_tools {
        out.raw("max_concurrent_tools", most);
    }
    if *max_pause_resumes != default.max_pause_resumes {
        out.raw("max_pause_resumes", max_pause_resumes);
    }
    out.flag("retry_refusal", *retry_refusal, default.retry_refusal);
    out.flag("background", *background, default.background);
    out.flag("streaming_execution", *streaming_execution, default.streaming_execution);
    if *max_batch_tools != default.max_batch_tools {
        out.raw("max_batch_tools", max_batch_tools);
    }
    out.flag("sibling_abort", *sibling_abort, default.sibling_abort);
    out.flag("batch_sibling_abort", *batch_sibling_abort, default.batch_sibling_abort);
    out.span("tool_grace", *tool_grace, default.tool_grace);
    super::session::session(out, session);
    super::session::orphan_section(out, session);
    pipeline_section(out, pipeline);
    super::retry::retry_section(out, retry);
    super::compaction::compaction_section(out, compaction);
}

/// T-8 and Q-9.
fn result_orders(out: &mut TomlLines, emission_order: EmissionOrder, result_order: ResultOrder, result_delivery: ResultDelivery) {
    out.word(
        "emission_order",
        emission_order,
        match emission_order {
            EmissionOrder::Eager => "eager",
            EmissionOrder::Arrival => "arrival",
        },
    );
    out.word(
        "result_order",
        result_order,
        match result_order {
            ResultOrder::ToolUse => "tool_use",
            ResultOrder::Emission => "emission",
        },
    );
    out.word(
        "result_delivery",
        result_delivery,
        match result_delivery {
            ResultDelivery::NextItem => "next_item",
            ResultDelivery::AtOnce => "at_once",
        },
    );
}

fn pipeline_section(out: &mut TomlLines, pipeline: &PipelineSettings) {
    let PipelineSettings { check_inputs, result_limit, result_preview, exit_code_aborts, hooks_shown_from, slow_from } = pipeline;
    let default = PipelineSettings::default();
    if *pipeline == default {
        return;
    }
    out.table("[engine.pipeline]");
    out.flag("check_inputs", *check_inputs, default.check_inputs);
    for (key, value, usual) in
        [("result_limit", result_limit, default.result_limit), ("result_preview", result_preview, default.result_preview)]
    {
        if *value != usual {
            out.raw(key, value);
        }
    }
    out.flag("exit_code_aborts", *exit_code_aborts, default.exit_code_aborts);
    out.span("hooks_shown_from", *hooks_shown_from, default.hooks_shown_from);
    out.span("slow_from", *slow_from, default.slow_from);
}
