//! Settings and tools as the requests show them (K-4): those of the session. What changes from some request on is read in
//! [`changes`](super::changes).

use super::UnderstoodExchange;
use crate::known_tools::known_tool;
use crate::types::{Scenario, ScriptedTool};
use reenact_engine::settings::{ContextWindow, NeighbourMerging, OverloadPolicy, Settings, ToolDefinition, ToolSafety};
use reenact_engine::windows::WindowTable;
use reenact_wire::block::{Block, BlockKind, Message, Role};
use reenact_wire::compare::{VolatileMember, differences};
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};
use reenact_wire::request::Request;

/// Reads settings from the first request, and how the client continued from answers from the others.
pub(super) fn read(asked: &[UnderstoodExchange<'_>], scenario: &mut Scenario) {
    let request = &asked[0].request;
    let cached = asked.iter().any(|asked| has_breakpoint(&asked.request));
    scenario.settings = Settings {
        model: request.model.clone(),
        max_tokens: request.max_tokens,
        stream: request.stream,
        system_prompt: Some(system(request, cached)),
        cache_breakpoints: cached,
        request_extra: Json::trusted(
            RawObject::parse(request.extra.as_str()).map_or_else(|_| String::from("{}"), |extra| extra.without("metadata")),
        ),
        neighbours: neighbours(asked),
        ..Settings::default()
    };
    // A client that asked nothing more after too long a prompt does not compact then (C-5).
    let ends_too_long = asked.last().is_some_and(|last| matches!(last.exchange.answer.status, 400 | 413));
    scenario.settings.compaction.reactive = !ends_too_long;
    // When and whether a client compacts is its own affair: where its context came so far, the tape knows what it did (C-4).
    if asked.iter().any(is_in_the_second_half) {
        scenario.settings.compaction.context_window = ContextWindow::None;
    }
    scenario.tools = tools(asked, cached);
    at_limits(asked, &mut scenario.settings);
    after_failures(asked, &mut scenario.settings);
    around_tools(asked, scenario);
    scenario.settings.session.keep_container = keeps_container(asked);
}

/// An empty prompt is none at all, and no prompt at all would be the default one; one that was sent and is empty is sent as a block.
fn system(request: &Request, cached: bool) -> Json {
    match &request.system {
        None => Json::from_value(""),
        Some(system) if matches!(system.as_str(), "\"\"") => Json::trusted(r#"[{"type":"text","text":""}]"#),
        Some(system) => shorthand(list_without_breakpoints(system, cached)),
    }
}

/// Whether the context has at least half of the tokens that the model takes.
fn is_in_the_second_half(asked: &UnderstoodExchange<'_>) -> bool {
    let tokens = asked.answered.as_ref().and_then(|answered| answered.usage.context_tokens());
    let window = WindowTable::shipped().tokens(&asked.request.model);
    tokens.zip(window).is_some_and(|(tokens, window)| tokens >= window / 2)
}

/// The client's behaviour at the output limit (Q-15), and with paused answers (Q-23).
fn at_limits(asked: &[UnderstoodExchange<'_>], settings: &mut Settings) {
    // A client that asks the same again with a larger limit raises its cap.
    let raised = |pair: &[UnderstoodExchange<'_>]| {
        let (before, after) = (&pair[0], &pair[1]);
        (before.is_at_output_limit()
            && before.request.messages == after.request.messages
            && after.request.max_tokens > before.request.max_tokens)
            .then_some(after.request.max_tokens)
    };
    settings.session.raised_max_tokens = asked.windows(2).find_map(raised);
    if asked.iter().any(UnderstoodExchange::is_at_output_limit) {
        // What it says next, if anything, is a prompt of the scenario.
        settings.session.max_output_recoveries = 0;
        let is_default = |asked: &UnderstoodExchange<'_>| asked.request.max_tokens == Settings::DEFAULT_MAX_TOKENS;
        if settings.session.raised_max_tokens.is_none() && asked.iter().any(is_default) {
            settings.session.raised_max_tokens = Some(0); // which is no raise
        }
    }
    let is_left = |pair: &[UnderstoodExchange<'_>]| {
        pair[0].is_paused() && pair[1].request.messages.last().is_some_and(|message| message.role != Role::Assistant)
    };
    if asked.windows(2).any(is_left) {
        settings.max_pause_resumes = 0;
    }
}

/// The client's behaviour after failed attempts (R-8, R-11), as far as not all clients behave so.
fn after_failures(asked: &[UnderstoodExchange<'_>], settings: &mut Settings) {
    let is_again = |pair: &&[UnderstoodExchange<'_>]| pair[0].answered.is_none() && pair[0].request.messages == pair[1].request.messages;
    let model = |pair: &[UnderstoodExchange<'_>]| (pair[0].request.model != pair[1].request.model).then(|| pair[1].request.model.clone());
    settings.session.fallback_model = asked.windows(2).filter(is_again).find_map(model);
    let again: Vec<bool> = asked.windows(2).map(|pair| is_again(&pair)).collect();
    let retries = again.split(|is_again| !is_again).map(<[bool]>::len).max().unwrap_or(0);
    settings.retry.max_retries = settings.retry.max_retries.max(u32::try_from(retries).unwrap_or(u32::MAX));
    if asked.iter().any(|asked| asked.answered.is_none()) {
        let streamed = || asked.windows(2).filter(is_again).filter(|pair| pair[0].request.stream);
        let unstreamed = streamed().map(|pair| (&pair[0].request, &pair[1].request)).find(|(_, again)| !again.stream);
        settings.retry.nonstreaming_fallback = unstreamed.is_some();
        let mut broken = streamed().filter(|pair| pair[0].exchange.answer.status == 200).peekable();
        settings.retry.nonstreaming_without_block = broken.peek().is_some() && broken.all(|pair| !pair[1].request.stream);
        if let Some((before, again)) = unstreamed {
            let cap = &mut settings.retry.nonstreaming_max_tokens;
            *cap = if again.max_tokens < before.max_tokens { again.max_tokens } else { again.max_tokens.max(*cap) };
        }
        settings.retry.on_overload = OverloadPolicy::GoOn;
    }
}

/// The tape knows what came of each tool use: nothing that the engine finds by itself may take its place (T-13, T-21, T-27).
fn around_tools(asked: &[UnderstoodExchange<'_>], scenario: &mut Scenario) {
    if !asked.iter().flat_map(UnderstoodExchange::tool_uses).any(|_| true) {
        return;
    }
    let settings = &mut scenario.settings;
    settings.pipeline.check_inputs = false;
    settings.sibling_abort = (!scenario.tools.iter().any(|tool| tool.definition.shell)).into();
    let blocks = asked.iter().flat_map(|asked| &asked.request.messages).flat_map(|message| &message.content);
    let results = blocks.filter(|block| matches!(block.kind(), BlockKind::ToolResult { .. }));
    let longest = results.map(|block| block.json().as_str().len() as u64).max().unwrap_or(0);
    settings.pipeline.result_limit = settings.pipeline.result_limit.max(longest);
}

/// Whether every request after an answer that named a container names that container (S-11).
fn keeps_container(asked: &[UnderstoodExchange<'_>]) -> bool {
    let (mut named, mut is_kept): (Option<Arc<str>>, bool) = (None, false);
    for asked in asked {
        let sent = RawObject::parse(asked.request.extra.as_str()).ok().and_then(|extra| extra.string("container").map(Arc::<str>::from));
        match (&named, sent) {
            (None, None) => (),
            (Some(named), Some(sent)) if *named == sent => is_kept = true,
            _ => return false,
        }
        named = asked.answered.as_ref().and_then(|answered| answered.container.clone()).or(named);
    }
    is_kept
}

/// Whether messages of one role in a row stay apart in the recorded requests, and each result is a message of its own (N-7).
fn neighbours(asked: &[UnderstoodExchange<'_>]) -> NeighbourMerging {
    let is_result = |block: &Block| matches!(block.kind(), BlockKind::ToolResult { .. });
    // What is beside the results comes with the last of them.
    let are_results = |pair: &[Arc<Message>]| pair[0].content.iter().all(is_result) && pair[1].content.first().is_some_and(is_result);
    let pairs = || asked.iter().flat_map(|asked| asked.request.messages.windows(2)).filter(|pair| pair[0].role == pair[1].role);
    match () {
        () if pairs().any(|pair| pair[0].role == Role::User && are_results(pair)) => NeighbourMerging::ApartWithResults,
        () if pairs().next().is_some() => NeighbourMerging::Apart,
        () => NeighbourMerging::Joined,
    }
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

/// All tools that are offered or used, each as it is offered first.
fn tools(asked: &[UnderstoodExchange<'_>], cached: bool) -> Vec<ScriptedTool> {
    let mut tools: Vec<ScriptedTool> = Vec::new();
    let mut declare = |name: &str, json: Json| {
        if !tools.iter().any(|tool| *tool.definition.name == *name) {
            let definition = match known_tool(name) {
                Some(known) => known.describe(name, json),
                None => ToolDefinition::new(name, safe(name), json),
            };
            tools.push(ScriptedTool { definition, latency: None, outcome: None });
        }
    };
    for asked in asked {
        let list = asked.request.tools.as_ref().and_then(|tools| elements(tools.as_str()).ok()).unwrap_or_default();
        for text in list {
            let Some(name) = RawObject::parse(text).ok().and_then(|object| object.string("name").map(String::from)) else { continue };
            declare(&name, if cached { without_member(text, "cache_control") } else { Json::trusted(text) });
        }
    }
    asked.iter().flat_map(UnderstoodExchange::tool_uses).for_each(|tool_use| declare(&tool_use.name, undescribed(&tool_use.name)));
    tools
}

/// A tool of which only the name is known.
pub(super) fn undescribed(name: &str) -> Json {
    let mut json = String::from(r#"{"name":"#);
    push_string(&mut json, name);
    json.push_str(r#","input_schema":{"type":"object"}}"#);
    Json::trusted(json)
}

/// A recording does not say which tools may run beside others; well-known ones are known.
pub(super) fn safe(name: &str) -> ToolSafety {
    match known_tool(name) {
        Some(known) => known.tool.safety(),
        None if name == "LS" => ToolSafety::Always,
        None => ToolSafety::Unknown,
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
    let only = elements(content.as_str()).ok().filter(|blocks| blocks.len() == 1).and_then(|blocks| RawObject::parse(blocks[0]).ok());
    let Some(block) = only.filter(|block| block.members().count() == 2 && block.string("type").as_deref() == Some("text")) else {
        return content;
    };
    match block.string("text") {
        // Half of a pair in an escape would be lost.
        Some(text) if !text.is_empty() && !text.contains('\u{fffd}') => Json::from_value(&text),
        _ => content,
    }
}

/// A block without the breakpoint that the engine sets itself. Plain text is written the usual way, whatever the order of its members was,
/// so that it reads as text in the scenario's file; requests compare as values, so this is no difference.
pub(super) fn plain(block: &Block, cached: bool) -> Block {
    let json = if cached { without_member(block.json().as_str(), "cache_control") } else { block.json().clone() };
    match (block.kind(), RawObject::parse(json.as_str())) {
        (BlockKind::Text(text), Ok(object)) if object.members().count() == 2 && !text.contains('\u{fffd}') => Block::text(text),
        _ => Block::from(json),
    }
}

/// Where what a client sends back differs from what it was answered; `None` when it does not, as requests are compared.
pub(super) fn first_change(answered: &[Block], sent: &[Block]) -> Option<String> {
    let volatile = VolatileMember::default();
    let [answered, sent] = [answered, sent].map(|blocks| {
        let content: Vec<serde_json::Value> = blocks.iter().map(|block| block.json().to_value()).collect();
        let message = serde_json::json!({ "messages": [{ "role": "assistant", "content": content }] });
        volatile.normalised(message)["messages"][0]["content"].clone()
    });
    differences(&answered, &sent).into_iter().next().map(|difference| format!("content{}", difference.path))
}

/// An object without one of its members; anything else, and one that lacks it, as it is.
pub(super) fn without_member(text: &str, name: &str) -> Json {
    match RawObject::parse(text) {
        Ok(object) if object.get(name).is_some() => Json::trusted(object.without(name)),
        _ => Json::trusted(text),
    }
}
