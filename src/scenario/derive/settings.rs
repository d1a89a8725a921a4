//! Settings and tools as the requests show them (K-4).

use super::Asked;
use crate::engine::settings::{Settings, ToolDefinition};
use crate::prelude::*;
use crate::scenario::known_tools::known_tool;
use crate::scenario::types::{Scenario, ScriptedTool};
use crate::wire::json::{Json, push_string};
use crate::wire::raw::{Object, elements};
use crate::wire::request::Request;

/// Reads settings and tools from the first request; where later ones differ it is noted.
pub(super) fn read(asked: &[Asked<'_>], scenario: &mut Scenario, notes: &mut Vec<String>) {
    let request = &asked[0].request;
    let cached = asked.iter().any(|asked| has_breakpoint(&asked.request));
    scenario.settings = Settings {
        model: request.model.clone(),
        max_tokens: request.max_tokens,
        stream: request.stream,
        // An empty prompt is none at all, and no prompt at all would be the default one.
        system_prompt: Some(
            request.system.as_ref().map_or_else(|| Json::of(""), |system| shorthand(list_without_breakpoints(system, cached))),
        ),
        cache_breakpoints: cached,
        request_extra: extra(&request.extra),
        ..Settings::default()
    };
    // A client that asks the same again with a larger limit raises its cap (Q-15).
    let raises = |pair: &[Asked<'_>]| {
        let (before, after) = (&pair[0].request, &pair[1].request);
        (before.messages == after.messages && before.max_tokens == request.max_tokens && after.max_tokens > before.max_tokens)
            .then_some(after.max_tokens)
    };
    scenario.settings.session.raised_max_tokens = asked.windows(2).find_map(raises);
    // A client that asked nothing more after too long a prompt does not compact then (C-5).
    let ends_too_long = asked.last().is_some_and(|last| matches!(last.exchange.answer.status, 400 | 413));
    scenario.settings.compaction.reactive = !ends_too_long;
    scenario.tools = tools(request, cached);
    for later in &asked[1..] {
        let changed = changes(request, &later.request);
        if !changed.is_empty() {
            notes.push(format!("Exchange {} asks with other {}; the scenario keeps the first.", later.exchange.id, changed.join(", ")));
        }
    }
}

fn changes(first: &Request, later: &Request) -> Vec<&'static str> {
    let texts = |request: &Request| {
        let plain = |json: &Option<Json>| json.as_ref().map(|json| list_without_breakpoints(json, true));
        (plain(&request.system), plain(&request.tools), extra(&request.extra))
    };
    let ((first_system, first_tools, first_extra), (system, tools, extra)) = (texts(first), texts(later));
    let table = [
        ("model", first.model != later.model),
        ("max_tokens", first.max_tokens != later.max_tokens),
        ("stream", first.stream != later.stream),
        ("system prompt", first_system != system),
        ("tools", first_tools != tools),
        ("settings", first_extra != extra),
    ];
    table.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Whether system prompt, tools or messages hold a breakpoint; one for the whole request is a setting of its own.
///
/// Inside a string the quote after the name would be escaped.
fn has_breakpoint(request: &Request) -> bool {
    let marked = |json: &Json| json.as_str().contains(r#""cache_control""#);
    request.system.as_ref().is_some_and(marked)
        || request.tools.as_ref().is_some_and(marked)
        || request.messages.iter().flat_map(|message| &message.content).any(|block| marked(block.json()))
}

/// Further members, without the ids of user and session.
fn extra(extra: &Json) -> Json {
    without_member(extra.as_str(), "metadata")
}

fn tools(request: &Request, cached: bool) -> Vec<ScriptedTool> {
    let list = request.tools.as_ref().and_then(|tools| elements(tools.as_str()).ok()).unwrap_or_default();
    let tool = |text: &str| {
        let object = Object::parse(text).ok()?;
        let name = object.string("name")?;
        let json = if cached { without_member(text, "cache_control") } else { Json::trusted(text) };
        let definition = match known_tool(&name) {
            Some(known) => known.describe(&name, json),
            None => ToolDefinition::new(&name, safe(&name), json),
        };
        Some(ScriptedTool { definition, latency: None, outcome: None })
    };
    list.into_iter().filter_map(tool).collect()
}

/// A recording does not say which tools may run beside others; well-known ones are known.
pub(super) fn safe(name: &str) -> Option<bool> {
    match known_tool(name) {
        Some(known) => known.safe,
        None => (name == "LS").then_some(true),
    }
}

/// A list of blocks or tools without the breakpoints that the engine sets itself; text stays as it is.
pub(super) fn list_without_breakpoints(list: &Json, cached: bool) -> Json {
    match elements(list.as_str()) {
        Ok(items) if cached && list.as_str().contains(r#""cache_control""#) => {
            let items: Vec<Json> = items.into_iter().map(|item| without_member(item, "cache_control")).collect();
            Json::trusted(format!("[{}]", items.iter().map(Json::as_str).collect::<Vec<_>>().join(",")))
        }
        _ => list.clone(),
    }
}

/// Content that is exactly one block of plain text as that text, which reads better in the scenario's file. The two are the same where requests are
/// compared. Empty text stays a block: an empty system prompt is none.
pub(super) fn shorthand(content: Json) -> Json {
    let only = elements(content.as_str()).ok().filter(|blocks| blocks.len() == 1).and_then(|blocks| Object::parse(blocks[0]).ok());
    let Some(block) = only.filter(|block| block.members().count() == 2 && block.string("type").as_deref() == Some("text")) else {
        return content;
    };
    match block.string("text") {
        // Half of a pair in an escape would be lost.
        Some(text) if !text.is_empty() && !text.contains('\u{fffd}') => Json::of(&text),
        _ => content,
    }
}

/// An object without one of its members, the others byte for byte; anything else as it is.
pub(super) fn without_member(text: &str, name: &str) -> Json {
    let Ok(object) = Object::parse(text) else { return Json::trusted(text) };
    if object.get(name).is_none() {
        return Json::trusted(text);
    }
    let mut out = String::from("{");
    for (other, value) in object.members().filter(|(other, _)| *other != name) {
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, other);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    Json::trusted(out)
}
