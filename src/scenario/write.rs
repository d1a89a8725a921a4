//! A scenario as TOML for people (F-6): what the parser reads back as the same scenario.
//!
//! Settings that have their default are left out. Text of several lines stands as it is; JSON stands in strings, since TOML has neither null nor
//! big numbers and its tables have no order (F-6).

mod text;

use self::text::{duration, latency, string};
use super::tape::Provenance;
use super::types::{Chunking, Expect, Limits, Matching, Prompt, Scenario, ScriptedOutcome, ScriptedTool, Timing, Turn, TurnBlock};
use crate::engine::settings::{EmissionOrder, ResultDelivery, ResultOrder, Settings};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::known_tools::known_tool;
use crate::wire::block::Block;
use crate::wire::compare::Rule;
use crate::wire::json::Json;

/// Writes a scenario, `comments` first.
pub fn toml(scenario: &Scenario, comments: &[String]) -> String {
    let mut out = Out(String::new());
    for line in comments.iter().flat_map(|comment| comment.lines()) {
        // A comment may hold no control characters.
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        out.0.push_str(&format!("# {line}\n"));
    }
    if !comments.is_empty() {
        out.0.push('\n');
    }
    top(&mut out, scenario);
    settings(&mut out, &scenario.settings);
    timing(&mut out, &scenario.timing);
    limits(&mut out, scenario.limits);
    matching(&mut out, &scenario.matching);
    scenario.tools.iter().for_each(|tool| tool_entry(&mut out, tool));
    for message in &scenario.history {
        out.table("[[history]]");
        out.text("role", message.role.as_str());
        content(&mut out, &message.content);
    }
    scenario.prompts.iter().for_each(|prompt| prompt_entry(&mut out, prompt));
    for (id, outcome) in &scenario.results {
        out.table("[[result]]");
        out.text("tool_use", id);
        outcome_keys(&mut out, outcome);
    }
    expect(&mut out, &scenario.expect);
    out.0
}

/// Lines of TOML.
struct Out(String);

impl Out {
    fn table(&mut self, header: &str) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
        self.0.push_str(header);
        self.0.push('\n');
    }

    /// A key with a value that is TOML already.
    fn raw(&mut self, key: &str, value: impl core::fmt::Display) {
        self.0.push_str(&format!("{key} = {value}\n"));
    }

    fn text(&mut self, key: &str, value: &str) {
        self.raw(key, string(value));
    }

    fn texts<T: AsRef<str>>(&mut self, key: &str, values: &[T]) {
        if !values.is_empty() {
            self.raw(key, list(values));
        }
    }

    fn flag(&mut self, key: &str, value: bool, default: bool) {
        if value != default {
            self.raw(key, value);
        }
    }

    fn word<T: PartialEq + Default>(&mut self, key: &str, value: T, word: &str) {
        if value != T::default() {
            self.text(key, word);
        }
    }
}

fn list<T: AsRef<str>>(values: &[T]) -> String {
    format!("[{}]", values.iter().map(|value| string(value.as_ref())).collect::<Vec<_>>().join(", "))
}

fn top(out: &mut Out, scenario: &Scenario) {
    if let Some(title) = &scenario.title {
        out.text("title", title);
    }
    out.texts("rules", &scenario.rules);
    if scenario.seed != Scenario::default().seed {
        let seed = scenario.seed.0;
        // TOML's integers end at 63 bits.
        out.raw("seed", if i64::try_from(seed).is_ok() { seed.to_string() } else { format!("\"{seed}\"") });
    }
    if let Some(tape) = &scenario.tape {
        out.text("tape", &tape.path);
        if &*tape.thread != super::thread::MAIN {
            out.text("thread", &tape.thread);
        }
    }
    match scenario.chunking {
        Chunking::AsRecorded => (),
        Chunking::Bytes => out.text("chunking", "bytes"),
        Chunking::Random => out.text("chunking", "random"),
        Chunking::Every(size) => out.raw("chunking", size),
    }
}

fn settings(out: &mut Out, settings: &Settings) {
    let default = Settings::default();
    out.table("[engine]");
    out.text("model", &settings.model);
    out.raw("max_tokens", settings.max_tokens);
    out.flag("stream", settings.stream, default.stream);
    if let Some(system) = &settings.system_prompt {
        text_or_json(out, "system_prompt", system);
    }
    out.flag("memory", settings.memory, default.memory);
    for (key, value) in [
        ("append_system_prompt", &settings.append_system_prompt),
        ("user_context", &settings.user_context),
        ("system_context", &settings.system_context),
    ] {
        if let Some(value) = value {
            out.text(key, value);
        }
    }
    out.flag("cache_breakpoints", settings.cache_breakpoints, default.cache_breakpoints);
    if settings.request_extra != default.request_extra {
        out.text("request_extra", settings.request_extra.as_str());
    }
    out.flag("partial_messages", settings.partial_messages, default.partial_messages);
    out.word("emission_order", settings.emission_order, match settings.emission_order {
        EmissionOrder::Eager => "eager",
        EmissionOrder::Arrival => "arrival",
    });
    out.word("result_order", settings.result_order, match settings.result_order {
        ResultOrder::ToolUse => "tool_use",
        ResultOrder::Emission => "emission",
    });
    out.word("result_delivery", settings.result_delivery, match settings.result_delivery {
        ResultDelivery::NextItem => "next_item",
        ResultDelivery::AtOnce => "at_once",
    });
    if let Some(most) = settings.max_concurrent_tools {
        out.raw("max_concurrent_tools", most);
    }
    if settings.max_pause_resumes != default.max_pause_resumes {
        out.raw("max_pause_resumes", settings.max_pause_resumes);
    }
    out.flag("retry_refusal", settings.retry_refusal, default.retry_refusal);
}

/// Content under `key` when it is plain text, else its JSON under `key_json`.
fn text_or_json(out: &mut Out, key: &str, json: &Json) {
    match serde_json::from_str::<String>(json.as_str()) {
        Ok(text) if Json::of(&text) == *json => out.text(key, &text),
        _ => out.text(&format!("{key}_json"), json.as_str()),
    }
}

fn timing(out: &mut Out, timing: &Timing) {
    let default = Timing::default();
    if *timing == default {
        return;
    }
    out.table("[timing]");
    for (key, value, usual) in [
        ("head", &timing.head, &default.head),
        ("first_event", &timing.first_event, &default.first_event),
        ("between_events", &timing.between_events, &default.between_events),
    ] {
        if value != usual {
            out.raw(key, latency(value));
        }
    }
}

fn limits(out: &mut Out, limits: Limits) {
    let default = Limits::default();
    if limits == default {
        return;
    }
    out.table("[limits]");
    if limits.time != default.time {
        out.raw("time", duration(limits.time));
    }
    for (key, value, usual) in [("events", limits.events, default.events), ("requests", limits.requests, default.requests)] {
        if value != usual {
            out.raw(key, value);
        }
    }
}

fn matching(out: &mut Out, matching: &Matching) {
    let default = Matching::default();
    if *matching == default {
        return;
    }
    out.table("[matching]");
    out.flag("strict", matching.strict, default.strict);
    if matching.volatile != default.volatile {
        let name = |rule: &Rule| Rule::ALL.iter().find(|(known, _)| known == rule).map(|(_, name)| *name);
        let names: Vec<&str> = matching.volatile.rules().iter().filter_map(name).collect();
        out.raw("volatile", list(&names));
    }
}

fn tool_entry(out: &mut Out, tool: &ScriptedTool) {
    let definition = &tool.definition;
    out.table("[[tool]]");
    out.text("name", &definition.name);
    let known = known_tool(&definition.name);
    if known.is_none_or(|known| known.definition().json != definition.json) {
        out.text("definition", definition.json.as_str());
    }
    if let Some(safe) = definition.safe
        && known.is_none_or(|known| known.safe != Some(safe))
    {
        out.raw("safe", safe);
    }
    if let Some(span) = &tool.latency {
        out.raw("latency", latency(span));
    }
    if let Some(outcome) = &tool.outcome {
        outcome_keys(out, outcome);
    }
}

fn outcome_keys(out: &mut Out, outcome: &ScriptedOutcome) {
    if let Some(content) = &outcome.content {
        text_or_json(out, "result", content);
    }
    out.flag("is_error", outcome.is_error, false);
    if let Some(span) = &outcome.latency {
        out.raw("latency", latency(span));
    }
    if !outcome.progress.is_empty() {
        out.raw("progress", progress(&outcome.progress));
    }
    if let Some(change) = &outcome.context_change {
        out.text("context_change", change);
    }
}

fn progress(progress: &[(Micros, Arc<str>)]) -> String {
    let entry = |(at, text): &(Micros, Arc<str>)| format!("{{ at = {}, text = {} }}", duration(*at), string(text));
    format!("[{}]", progress.iter().map(entry).collect::<Vec<_>>().join(", "))
}

fn content(out: &mut Out, blocks: &[Block]) {
    if let [block] = blocks
        && let Ok(serde_json::Value::Object(members)) = serde_json::from_str(block.json().as_str())
        && let Some(text) = members.get("text").and_then(serde_json::Value::as_str)
        && Block::text(text) == *block
    {
        return out.text("text", text);
    }
    let blocks: Vec<&str> = blocks.iter().map(|block| block.json().as_str()).collect();
    out.text("content_json", &format!("[{}]", blocks.join(",")));
}

fn prompt_entry(out: &mut Out, prompt: &Prompt) {
    out.table("[[prompt]]");
    content(out, &prompt.content);
    if let Some(at) = prompt.at {
        out.raw("at", duration(at));
    }
    prompt.turns.iter().for_each(|turn| turn_entry(out, turn));
}

fn turn_entry(out: &mut Out, turn: &Turn) {
    let default = Turn::default();
    out.table("[[prompt.turn]]");
    if let Some(reason) = &turn.stop_reason {
        out.text("stop_reason", reason);
    }
    if turn.status != default.status {
        out.raw("status", turn.status);
    }
    if let Some(body) = &turn.body {
        out.text("body", body);
    }
    if !turn.headers.is_empty() {
        let headers: Vec<String> = turn.headers.iter().map(|(name, value)| format!("{} = {}", string(name), string(value))).collect();
        out.raw("headers", format!("{{ {} }}", headers.join(", ")));
    }
    for (key, tokens) in [("input_tokens", turn.input_tokens), ("output_tokens", turn.output_tokens)] {
        if let Some(tokens) = tokens {
            out.raw(key, tokens);
        }
    }
    match turn.provenance {
        Provenance::Written => (),
        Provenance::Derived => out.text("provenance", "derived"),
        Provenance::Recorded => out.text("provenance", "recorded"),
    }
    for block in &turn.content {
        out.table("[[prompt.turn.content]]");
        match block {
            TurnBlock::Text(text) => out.text("text", text),
            TurnBlock::Thinking(text) => out.text("thinking", text),
            TurnBlock::Tool { name, input, id, outcome } => {
                out.table("[prompt.turn.content.tool]");
                out.text("name", name);
                out.text("input", input);
                if let Some(id) = id {
                    out.text("id", id);
                }
                if let Some(outcome) = outcome {
                    outcome_keys(out, outcome);
                }
            }
        }
    }
}

fn expect(out: &mut Out, expect: &Expect) {
    if *expect == Expect::default() {
        return;
    }
    out.table("[expect]");
    for (key, value) in [("terminal", &expect.terminal), ("result", &expect.result)] {
        if let Some(value) = value {
            out.text(key, value);
        }
    }
    for (key, values) in [("transitions", &expect.transitions), ("models", &expect.models)] {
        if let Some(values) = values {
            out.raw(key, list(values));
        }
    }
    if let Some(requests) = expect.requests {
        out.raw("requests", requests);
    }
    out.texts("text_present", &expect.text_present);
    out.texts("text_absent", &expect.text_absent);
    out.texts("order", &expect.order);
    for (key, at) in [("ends_after", expect.ends_after), ("ends_before", expect.ends_before)] {
        if let Some(at) = at {
            out.raw(key, duration(at));
        }
    }
}

#[cfg(test)]
mod tests;
