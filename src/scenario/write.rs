//! A scenario as TOML for people (F-6): what the parser reads back as the same scenario.
//!
//! Settings that have their default are left out. Text of several lines stands as it is; JSON stands in strings, since TOML has neither null nor
//! big numbers and its tables have no order (F-6).
//!
//! What is written is taken apart field by field, so that a new field does not compile until it is written.

mod compaction;
mod drive;
mod engine;
mod fault;
mod host;
mod interrupt;
mod network;
mod plan;
mod replies;
mod retry;
mod session;
mod text;
mod texts;
mod tools;

use self::engine::engine;
use self::fault::fault_entry;
use self::interrupt::interrupt_entry;
use self::text::{duration, latency, range, string};
use self::tools::{outcome_keys, tool_entry};
use super::tape::Provenance;
use super::types::{
    AgentScript, AnswerTiming, Chunking, Expectations, RefreshOutcome, RequestMatching, RunLimits, Scenario, ScriptedAuth, ScriptedPrompt,
    ScriptedTurn, SimulatedApi, TapeSource, ToolUseSlip, TurnBlock,
};
use crate::engine::random::Seed;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::wire::block::Block;
use crate::wire::compare::VolatileRule;
use crate::wire::json::Json;
use crate::wire::models::SignaturePolicy;

/// Writes a scenario, `comments` first.
pub fn toml(scenario: &Scenario, comments: &[String]) -> String {
    let mut out = TomlLines(String::new());
    for line in comments.iter().flat_map(|comment| comment.lines()) {
        // A comment may hold no control characters.
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        out.0.push_str(&format!("# {line}\n"));
    }
    if !comments.is_empty() {
        out.0.push('\n');
    }
    sections(&mut out, scenario);
    out.0
}

/// All tables; together with [`head`] it names each field, and leaves out nothing by `..` that the other does not name.
fn sections(out: &mut TomlLines, scenario: &Scenario) {
    let Scenario {
        title: _,
        rules: _,
        seed: _,
        settings,
        tools,
        hooks,
        permissions,
        store,
        lookups,
        history,
        prompts,
        faults,
        interrupts,
        default_answer: _,
        tape: _,
        prices,
        windows,
        results,
        auth,
        api,
        timing,
        chunking: _,
        limits,
        matching,
        expect,
        plan,
        drive,
        network,
    } = scenario;
    head(out, scenario);
    engine(out, settings, [("prices", prices), ("windows", windows)]);
    timing_section(out, timing);
    limits_section(out, *limits);
    matching_section(out, matching);
    auth_section(out, auth);
    api_section(out, *api);
    tools.iter().for_each(|tool| tool_entry(out, tool));
    settings.session.commands.iter().for_each(|command| session::command_entry(out, command));
    hooks.iter().for_each(|hook| replies::hook_entry(out, hook));
    if let Some(permissions) = &settings.permissions {
        replies::permissions(out, permissions);
    }
    permissions.iter().for_each(|permission| replies::permission_entry(out, permission));
    replies::store_section(out, store);
    session::lookups_section(out, lookups);
    host::entries(out, &settings.session);
    for message in history {
        out.table("[[history]]");
        out.text("role", message.role.as_str());
        content(out, &message.content);
    }
    prompts.iter().for_each(|prompt| prompt_entry(out, prompt));
    faults.iter().for_each(|rule| fault_entry(out, rule));
    interrupts.iter().for_each(|interrupt| interrupt_entry(out, interrupt));
    for (id, outcome) in results {
        out.table("[[result]]");
        out.text("tool_use", id);
        outcome_keys(out, outcome);
        out.flag("may", outcome.may, false);
    }
    network::network_section(out, network.as_ref());
    if *expect != Expectations::default() {
        out.table("[expect]");
        expect_keys(out, expect);
    }
    plan::plan_section(out, plan);
    drive::drive_sections(out, drive);
}

/// What stands before the first table.
fn head(out: &mut TomlLines, scenario: &Scenario) {
    let Scenario { title, rules, seed, default_answer, tape, chunking, .. } = scenario;
    if let Some(title) = title {
        out.text("title", title);
    }
    out.texts("rules", rules);
    if seed.0 != Scenario::default().seed.0 {
        out.raw("seed", seed_number(*seed));
    }
    if let Some(TapeSource { path, thread }) = tape {
        out.text("tape", path);
        if **thread != *super::thread::MAIN {
            out.text("thread", thread);
        }
    }
    match chunking {
        Chunking::AsRecorded => (),
        Chunking::Bytes => out.text("chunking", "bytes"),
        Chunking::Random => out.text("chunking", "random"),
        Chunking::Every(size) => out.raw("chunking", size),
    }
    if let Some(answer) = default_answer {
        out.text("default_answer", answer);
    }
}

/// TOML's integers end at 63 bits.
fn seed_number(seed: Seed) -> String {
    if i64::try_from(seed.0).is_ok() { seed.0.to_string() } else { format!("\"{}\"", seed.0) }
}

/// Lines of TOML.
struct TomlLines(String);

impl TomlLines {
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

    fn span(&mut self, key: &str, value: Micros, default: Micros) {
        if value != default {
            self.raw(key, duration(value));
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

/// Content under `key` when it is plain text, else its JSON under `key_json`.
fn text_or_json(out: &mut TomlLines, key: &str, json: &Json) {
    match serde_json::from_str::<String>(json.as_str()) {
        Ok(text) if Json::from_value(&text) == *json => out.text(key, &text),
        _ => out.text(&format!("{key}_json"), json.as_str()),
    }
}

fn timing_section(out: &mut TomlLines, timing: &AnswerTiming) {
    let AnswerTiming { head, first_event, between_events } = timing;
    let default = AnswerTiming::default();
    if *timing == default {
        return;
    }
    out.table("[timing]");
    for (key, value, usual) in [
        ("head", head, &default.head),
        ("first_event", first_event, &default.first_event),
        ("between_events", between_events, &default.between_events),
    ] {
        if value != usual {
            out.raw(key, latency(value));
        }
    }
}

fn limits_section(out: &mut TomlLines, limits: RunLimits) {
    let RunLimits { time, events, requests } = limits;
    let default = RunLimits::default();
    if limits == default {
        return;
    }
    out.table("[limits]");
    if time != default.time {
        out.raw("time", duration(time));
    }
    for (key, value, usual) in [("events", events, default.events), ("requests", requests, default.requests)] {
        if value != usual {
            out.raw(key, value);
        }
    }
}

fn matching_section(out: &mut TomlLines, matching: &RequestMatching) {
    let RequestMatching { strict, volatile } = matching;
    let default = RequestMatching::default();
    if *matching == default {
        return;
    }
    out.table("[matching]");
    out.flag("strict", *strict, default.strict);
    if *volatile != default.volatile {
        let name = |rule: &VolatileRule| VolatileRule::ALL.iter().find(|(known, _)| known == rule).map(|(_, name)| *name);
        let names: Vec<&str> = volatile.rules().iter().filter_map(name).collect();
        out.raw("volatile", list(&names));
    }
}

fn auth_section(out: &mut TomlLines, auth: &ScriptedAuth) {
    let ScriptedAuth { refresh, latency: span, may } = auth;
    let default = ScriptedAuth::default();
    if *auth == default {
        return;
    }
    out.table("[auth]");
    match refresh {
        RefreshOutcome::Works => (),
        RefreshOutcome::Fails => out.text("refresh", "fails"),
    }
    if *span != default.latency {
        out.raw("latency", latency(span));
    }
    out.flag("may", *may, false);
}

fn api_section(out: &mut TomlLines, api: SimulatedApi) {
    let SimulatedApi { context_window, count_tokens, counts_max_tokens, signatures } = api;
    if api == SimulatedApi::default() {
        return;
    }
    out.table("[api]");
    if let Some(window) = context_window {
        out.raw("context_window", window);
    }
    out.flag("count_tokens", count_tokens, false);
    if let Some(counts) = counts_max_tokens {
        out.raw("counts_max_tokens", counts);
    }
    match signatures {
        None => (),
        Some(SignaturePolicy::Ignore) => out.text("signatures", "ignore"),
        Some(SignaturePolicy::Drop) => out.text("signatures", "drop"),
        Some(SignaturePolicy::Refuse) => out.text("signatures", "refuse"),
    }
}

fn content(out: &mut TomlLines, blocks: &[Block]) {
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

fn prompt_entry(out: &mut TomlLines, prompt: &ScriptedPrompt) {
    let ScriptedPrompt { content: said, at, turns } = prompt;
    out.table("[[prompt]]");
    content(out, said);
    if let Some(at) = at {
        out.raw("at", duration(*at));
    }
    turns.iter().for_each(|turn| turn_entry(out, "prompt", turn));
}

/// A turn of the latest `[[owner]]`.
fn turn_entry(out: &mut TomlLines, owner: &str, turn: &ScriptedTurn) {
    let path = format!("{owner}.turn");
    out.table(&format!("[[{path}]]"));
    turn_keys(out, &path, turn);
}

/// What a turn says, as keys of the table at `path`.
fn turn_keys(out: &mut TomlLines, path: &str, turn: &ScriptedTurn) {
    let ScriptedTurn { content, stop_reason, status, body, headers, input_tokens, output_tokens, cleared_tokens, provenance, may } = turn;
    if let Some(reason) = stop_reason {
        out.text("stop_reason", reason);
    }
    if *status != ScriptedTurn::default().status {
        out.raw("status", status);
    }
    if let Some(body) = body {
        out.text("body", body);
    }
    inline_headers(out, headers);
    for (key, tokens) in [("input_tokens", input_tokens), ("output_tokens", output_tokens), ("cleared_tokens", cleared_tokens)] {
        if let Some(tokens) = tokens {
            out.raw(key, tokens);
        }
    }
    match provenance {
        Provenance::Written => (),
        Provenance::Derived => out.text("provenance", "derived"),
        Provenance::Recorded => out.text("provenance", "recorded"),
    }
    out.flag("may", *may, false);
    for block in content {
        out.table(&format!("[[{path}.content]]"));
        match block {
            TurnBlock::Text(text) => out.text("text", text),
            TurnBlock::Thinking(text) => out.text("thinking", text),
            TurnBlock::Tool { name, input, id, outcome, slip } => {
                let tool = format!("{path}.content.tool");
                out.table(&format!("[{tool}]"));
                out.text("name", name);
                out.text("input", input);
                if let Some(id) = id {
                    out.text("id", id);
                }
                match slip {
                    None => (),
                    Some(ToolUseSlip::UnknownTool) => out.raw("unknown", true),
                    Some(ToolUseSlip::InvalidInput) => out.raw("invalid", true),
                }
                if let Some(outcome) = outcome {
                    outcome_keys(out, outcome);
                    agents_entries(out, &tool, &outcome.agents);
                }
            }
        }
    }
}

/// What the agents are answered that the tool use at `tool` makes.
fn agents_entries(out: &mut TomlLines, tool: &str, agents: &AgentScript) {
    let AgentScript { tasks, synthesis } = agents;
    for turns in tasks {
        let agent = format!("{tool}.agent");
        out.table(&format!("[[{agent}]]"));
        turns.iter().for_each(|turn| turn_entry(out, &agent, turn));
    }
    if let Some(turn) = synthesis {
        let path = format!("{tool}.synthesis");
        out.table(&format!("[{path}]"));
        turn_keys(out, &path, turn);
    }
}

fn inline_headers(out: &mut TomlLines, headers: &[(String, String)]) {
    if !headers.is_empty() {
        let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{} = {}", string(name), string(value))).collect();
        out.raw("headers", format!("{{ {} }}", headers.join(", ")));
    }
}

fn expect_keys(out: &mut TomlLines, expect: &Expectations) {
    let Expectations {
        terminal,
        terminals,
        transitions,
        requests,
        delays,
        refusals,
        breaks,
        models,
        result,
        text_present,
        text_absent,
        sent,
        not_sent,
        order,
        ends_after,
        ends_before,
        may,
    } = expect;
    for (key, value) in [("terminal", terminal), ("result", result)] {
        if let Some(value) = value {
            out.text(key, value);
        }
    }
    for (key, values) in [("terminals", terminals), ("transitions", transitions), ("models", models)] {
        if let Some(values) = values {
            out.raw(key, list(values));
        }
    }
    for (key, count) in [("requests", requests), ("refusals", refusals)] {
        if let Some(count) = count {
            out.raw(key, count);
        }
    }
    out.texts("breaks", breaks);
    if let Some(delays) = delays {
        let spans: Vec<String> = delays.iter().map(|delay| range(*delay)).collect();
        out.raw("delays", format!("[{}]", spans.join(", ")));
    }
    out.texts("text_present", text_present);
    out.texts("text_absent", text_absent);
    out.texts("sent", sent);
    out.texts("not_sent", not_sent);
    out.texts("order", order);
    for (key, at) in [("ends_after", ends_after), ("ends_before", ends_before)] {
        if let Some(at) = at {
            out.raw(key, duration(*at));
        }
    }
    out.flag("may", *may, false);
}

#[cfg(test)]
mod tests;
