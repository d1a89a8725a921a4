//! `tools`, `[tools]` and `[[tool]]`: which tools there are, as the engine knows them, and how they behave here (M-7).

use super::outcome;
use super::reader::{TableReader, known_word};
use super::tree::{TextPlace, TreeMember, TreeValueKind};
use super::values::JsonObjectText;
use crate::engine::settings::{AgentTool, InterruptBehaviour, ObservableField, ToolDefinition, ToolSafety};
use crate::prelude::*;
use crate::scenario::known_tools::{KNOWN_TOOLS, KnownInterrupts, KnownTool, known_tool};
use crate::scenario::latency::Latency;
use crate::scenario::types::ScriptedTool;
use crate::wire::json::{Json, push_string};

/// All tools: first those of the short form, then the others, each in the order written.
pub(super) fn tools(reader: &mut TableReader<'_, '_>) -> Vec<ScriptedTool> {
    let (mut declared, interrupts) = known_tools(reader);
    declared.extend(reader.entries("tool", "[[tool]]", |reader| tool(reader, interrupts)));
    let mut tools: Vec<ScriptedTool> = Vec::new();
    for (place, tool) in declared {
        let name = &tool.definition.name;
        if tools.iter().any(|other| other.definition.name == *name) {
            reader.report.value(place, format!("tool `{name}` is declared already; keep one of the two"), None);
        }
        tools.push(tool);
    }
    tools
}

/// `tools = ["Read", "Bash"]`, or `[tools]` with these as `names`: well-known tools, and how all of them take a submitted message (T-17).
fn known_tools(reader: &mut TableReader<'_, '_>) -> (Vec<(TextPlace, ScriptedTool)>, KnownInterrupts) {
    let Some(member) = reader.member("tools") else { return Default::default() };
    if let TreeValueKind::Table(_) = member.value.kind {
        let both = reader.section("tools", "[tools]", |reader| {
            let words = [("block", KnownInterrupts::Block), ("readers-cancel", KnownInterrupts::ReadersCancel)];
            let interrupts = reader.choice("interrupts", &words).unwrap_or_default();
            let names = reader.member("names");
            (names.map(|names| named(reader, names, interrupts)).unwrap_or_default(), interrupts)
        });
        return both.unwrap_or_default();
    }
    (named(reader, member, KnownInterrupts::default()), KnownInterrupts::default())
}

fn named(reader: &mut TableReader<'_, '_>, member: &TreeMember, interrupts: KnownInterrupts) -> Vec<(TextPlace, ScriptedTool)> {
    let names: Vec<&str> = KNOWN_TOOLS.iter().map(|tool| tool.name).collect();
    match &member.value.kind {
        TreeValueKind::List(items) => {
            let of = |item| known_word(item, reader.report, "tool", &names).and_then(known_tool).map(|tool| (item.place, tool));
            let plain = |tool: &KnownTool| {
                let definition = ToolDefinition { interrupt: Some(tool.interrupt(interrupts)), ..tool.definition() };
                ScriptedTool { definition, latency: None, outcome: None }
            };
            items.iter().filter_map(of).map(|(place, tool)| (place, plain(tool))).collect()
        }
        TreeValueKind::StandIn => Vec::new(),
        _ => {
            reader.report.mismatch(&member.value, "an array of names");
            Vec::new()
        }
    }
}

/// `[[tool]]`: what is not said of a well-known tool is as usual.
fn tool(reader: &mut TableReader<'_, '_>, interrupts: KnownInterrupts) -> Option<(TextPlace, ScriptedTool)> {
    let whole: Option<Json> = reader.get("definition").map(|JsonObjectText(json)| json);
    let name: Option<Arc<str>> = reader.required("name");
    let place = reader.member("name").map_or(reader.place, |member| member.value.place);
    let known = name.as_deref().and_then(known_tool);
    let description: Option<Arc<str>> = reader.get("description");
    let schema: Option<Json> = reader.get("input_schema").map(|JsonObjectText(json)| json);
    let safe = safety(reader);
    let shell: Option<bool> = reader.get("shell");
    let behaviours = [("cancel", Some(InterruptBehaviour::Cancel)), ("block", Some(InterruptBehaviour::Block)), ("unknown", None)];
    let interrupt = reader.choice("interrupt", &behaviours);
    let latency: Option<Latency> = reader.get("latency");
    let checks: Option<bool> = reader.get("checks");
    let (reads_only, edits): (Option<bool>, Option<bool>) = (reader.get("reads_only"), reader.get("edits"));
    let result_limit: Option<u64> = reader.get("result_limit");
    let outcome = outcome::outcome(reader);
    let observable = reader.entries("observable", "observable", observable);
    let agent = agent(reader);
    let name = name?;
    if let Some(whole) = &whole {
        check_name(reader, whole, &name);
    }
    let json = whole.unwrap_or_else(|| definition(&name, description.as_deref(), schema.as_ref(), known));
    let mut definition = ToolDefinition::new(&name, safe.or(known.map(|known| known.safe)).unwrap_or_default(), json);
    definition.shell = shell.unwrap_or(known.is_some_and(|known| known.shell));
    definition.interrupt = interrupt.unwrap_or(known.map(|known| known.interrupt(interrupts)));
    definition.observable = observable;
    definition.agent = agent;
    // A tool of which it is said what its check finds has one.
    definition.checks = checks.unwrap_or(outcome.as_ref().is_some_and(|outcome| outcome.check.is_some()));
    definition.reads_only = reads_only.unwrap_or(known.is_some_and(KnownTool::reads_only));
    definition.edits = edits.unwrap_or(known.is_some_and(KnownTool::edits));
    definition.result_limit = result_limit;
    Some((place, ScriptedTool { definition, latency, outcome }))
}

/// `safe = true`, `false`, or a word: what the tool says of running beside others (T-3).
fn safety(reader: &mut TableReader<'_, '_>) -> Option<ToolSafety> {
    match reader.member("safe")?.value.kind {
        TreeValueKind::Text(_) => reader.choice("safe", &[("by_command", ToolSafety::ByCommand), ("unknown", ToolSafety::Unknown)]),
        _ => reader.get::<bool>("safe").map(|safe| Some(safe).into()),
    }
}

/// `observable = [{ name = "absolute_path", from = "path", base = "/w" }]`.
fn observable(reader: &mut TableReader<'_, '_>) -> Option<ObservableField> {
    let name: Option<Arc<str>> = reader.required("name");
    let from: Option<Arc<str>> = reader.required("from");
    let base: Option<Arc<str>> = reader.get("base");
    Some(ObservableField { name: name?, from: from?, base: base.unwrap_or_else(|| "/w".into()) })
}

/// `agent = true`, or a table of what is not as usual: sub-agents of the engine carry the tool out (B-8).
fn agent(reader: &mut TableReader<'_, '_>) -> Option<AgentTool> {
    if matches!(reader.member("agent")?.value.kind, TreeValueKind::Boolean(_)) {
        return reader.mark("agent").then(AgentTool::default);
    }
    reader.section("agent", "`agent`", |reader| {
        let usual = AgentTool::default();
        AgentTool { fast_model: reader.model("fast_model").unwrap_or(usual.fast_model) }
    })
}

/// A request would list one name while the model's tool uses have another.
fn check_name(reader: &mut TableReader<'_, '_>, whole: &Json, name: &str) {
    let value = whole.to_value();
    if value.get("name").and_then(serde_json::Value::as_str) != Some(name)
        && let Some(member) = reader.member("definition")
    {
        let message = format!("the definition's own `name` is not \"{name}\"; make them the same");
        reader.report.value(member.value.place, message, None);
    }
}

/// Name, description and schema, in this order.
fn definition(name: &str, description: Option<&str>, schema: Option<&Json>, known: Option<&KnownTool>) -> Json {
    let mut json = String::from("{\"name\":");
    push_string(&mut json, name);
    if let Some(description) = description.or(known.map(|known| known.description)) {
        json.push_str(",\"description\":");
        push_string(&mut json, description);
    }
    json.push_str(",\"input_schema\":");
    json.push_str(schema.map(Json::as_str).or(known.map(|known| known.schema)).unwrap_or("{\"type\":\"object\"}"));
    json.push('}');
    Json::trusted(json)
}
