//! `[[tool]]` and what tool runs do, as TOML.

use super::replies::{check_keys, elicitation};
use super::text::{duration, latency, string};
use super::{TomlLines, text_or_json};
use crate::engine::settings::{AgentTool, InterruptBehaviour, ObservableField, ToolDefinition};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::known_tools::{KnownTool, known_tool};
use crate::scenario::types::{ScriptedOutcome, ScriptedProgress, ScriptedTool, StopDeafness, ToolEnding, ToolStopping};

/// `[[tool]]`.
pub(super) fn tool_entry(out: &mut TomlLines, tool: &ScriptedTool) {
    let ScriptedTool { definition, latency: span, outcome } = tool;
    let ToolDefinition { name, safe, json, observable, shell, interrupt, checks, reads_only, edits, result_limit, agent } = definition;
    out.table("[[tool]]");
    out.text("name", name);
    let known = known_tool(name);
    if known.is_none_or(|known| known.definition().json != *json) {
        out.text("definition", json.as_str());
    }
    if let Some(safe) = safe
        && known.is_none_or(|known| known.safe != Some(*safe))
    {
        out.raw("safe", safe);
    }
    if *shell != known.is_some_and(|known| known.shell) {
        out.raw("shell", shell);
    }
    if *interrupt != known.map(|known| known.interrupt) {
        let word = match interrupt {
            Some(InterruptBehaviour::Cancel) => "cancel",
            Some(InterruptBehaviour::Block) => "block",
            None => "unknown",
        };
        out.text("interrupt", word);
    }
    if !observable.is_empty() {
        let entry = |ObservableField { name, from, base }: &ObservableField| {
            format!("{{ name = {}, from = {}, base = {} }}", string(name), string(from), string(base))
        };
        out.raw("observable", format!("[{}]", observable.iter().map(entry).collect::<Vec<_>>().join(", ")));
    }
    if let Some(AgentTool { fast_model }) = agent {
        out.raw("agent", format!("{{ fast_model = {} }}", string(fast_model)));
    }
    let finds = outcome.as_ref().is_some_and(|outcome| outcome.check.is_some());
    out.flag("checks", *checks, finds);
    out.flag("reads_only", *reads_only, known.is_some_and(KnownTool::reads_only));
    out.flag("edits", *edits, known.is_some_and(KnownTool::edits));
    if let Some(limit) = result_limit {
        out.raw("result_limit", limit);
    }
    if let Some(span) = span {
        out.raw("latency", latency(span));
    }
    if let Some(outcome) = outcome {
        outcome_keys(out, outcome);
    }
}

/// What a tool run does, as keys of whatever it belongs to.
pub(super) fn outcome_keys(out: &mut TomlLines, outcome: &ScriptedOutcome) {
    let ScriptedOutcome {
        content,
        is_error,
        cause,
        latency: span,
        structured,
        progress: steps,
        context_change,
        aborts,
        ending,
        stopping,
        check,
        asks,
        agents: _,
        may: _,
    } = outcome;
    if let Some(content) = content {
        text_or_json(out, "result", content);
    }
    out.flag("is_error", *is_error, false);
    if let Some(cause) = cause {
        out.text("cause", cause.as_str());
    }
    if let Some(span) = span {
        out.raw("latency", latency(span));
    }
    if let Some(structured) = structured {
        out.text("structured", structured.as_str());
    }
    if !steps.is_empty() {
        out.raw("progress", progress(steps));
    }
    if let Some(change) = context_change {
        out.text("context_change", change);
    }
    if let Some(reason) = aborts {
        out.text("aborts", reason);
    }
    match ending {
        ToolEnding::Returns => (),
        ToolEnding::ReturnsTwice => out.raw("returns_twice", true),
        ToolEnding::ReturnsNothing => out.raw("no_result", true),
        ToolEnding::Hangs => out.raw("hangs", true),
        ToolEnding::Panics(message) => out.text("panics", message),
    }
    let ToolStopping { ignores, takes } = stopping;
    match ignores {
        StopDeafness::No => (),
        StopDeafness::For(span) => out.raw("ignores_stop", duration(*span)),
        StopDeafness::Forever => out.raw("ignores_stop", true),
    }
    out.span("stop_takes", *takes, Micros::ZERO);
    if let Some(check) = check {
        check_keys(out, check);
    }
    if let Some(asks) = asks {
        out.raw("asks", elicitation(asks));
    }
}

fn progress(progress: &[ScriptedProgress]) -> String {
    let entry = |ScriptedProgress { at, text, kind }: &ScriptedProgress| {
        let kind = kind.map(|kind| format!(", kind = {}", string(kind.as_str()))).unwrap_or_default();
        format!("{{ at = {}, text = {}{kind} }}", duration(*at), string(text))
    };
    format!("[{}]", progress.iter().map(entry).collect::<Vec<_>>().join(", "))
}
