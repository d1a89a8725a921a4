//! A session read from answers alone, when a recording holds nothing else, and whether it continues after them (K-4).

use super::NOT_RECORDED;
use super::settings::{safe, undescribed};
use crate::conversation::may_be_repeated;
use crate::tape::{Exchange, RecordedResponse, ResponseEnd};
use crate::types::{Scenario, ScriptedPrompt, ScriptedTool};
use reenact_engine::settings::{RetrySettings, Settings, ToolDefinition};
use reenact_wire::block::Block;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};
use reenact_wire::sse::SseFramer;

/// A stand-in for the prompt, the model that answered, and the tools that it used.
pub(super) fn only<'a>(exchanges: impl Iterator<Item = Cow<'a, Exchange>>, scenario: &mut Scenario, notes: &mut Vec<String>) {
    notes.push(String::from("The prompt, the settings and the results of tools are made up."));
    scenario.settings = Settings { system_prompt: Some(Json::from_value("")), cache_breakpoints: false, ..Settings::default() };
    let (mut models, mut prompts, mut goes_on) = (Vec::new(), 0, false);
    for exchange in exchanges {
        // After a final answer the next message is a new one.
        prompts += usize::from(!goes_on);
        goes_on = asks_for_more(&exchange.answer);
        scenario.settings.stream = exchange.answer.is_event_stream();
        each_object(&exchange.answer, &mut |text| collect_from_object(text, &mut models, &mut scenario.tools));
    }
    scenario.prompts = vec![ScriptedPrompt { content: vec![Block::text(NOT_RECORDED)], ..ScriptedPrompt::default() }; prompts.max(1)];
    let session = &mut scenario.settings.session;
    (session.max_output_recoveries, session.raised_max_tokens) = (0, Some(0));
    scenario.settings.pipeline.check_inputs = scenario.tools.is_empty();
    if let Some(model) = models.into_iter().next() {
        scenario.settings.model = model;
    }
}

/// Whether the session continued after this answer: it asks for tools, or was paused. A stop for tools that it does not name asks for nothing.
pub(super) fn asks_for_more(answer: &RecordedResponse) -> bool {
    let (mut reason, mut tools) = (None, Vec::new());
    each_object(answer, &mut |text| {
        let Ok(object) = RawObject::parse(text) else { return };
        collect_from_object(text, &mut Vec::new(), &mut tools);
        reason = match object.string("type").as_deref() {
            Some("message_start") => object.object("message").and_then(|message| Some(message.string("stop_reason")?.into_owned())),
            Some("message_delta") => object.object("delta").and_then(|delta| Some(delta.string("stop_reason")?.into_owned())),
            Some("message") => object.string("stop_reason").map(Cow::into_owned),
            _ => return,
        };
    });
    match reason.as_deref() {
        Some("tool_use") => !tools.is_empty(),
        reason => reason == Some("pause_turn"),
    }
}

/// The note about an answer that is not complete; nothing for an error.
pub(super) fn failure(id: u32, answer: &RecordedResponse) -> Option<String> {
    let bytes: usize = answer.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
    let cut = match bytes {
        0 => format!("The answer of exchange {id} was cut."),
        bytes => format!("The answer of exchange {id} was cut after {}.", plural(bytes as u64, "byte")),
    };
    let is_strange = || format!("The answer of exchange {id} was not understood.");
    match (answer.status, answer.end) {
        (0, ResponseEnd::ClientGone) => Some(format!("Exchange {id} never got an answer: the client went away.")),
        (0, _) => Some(format!("Exchange {id} never got an answer.")),
        (200, ResponseEnd::Complete) if !answer.is_event_stream() => Some(is_strange()),
        (200, _) if last_type(answer).as_deref() == Some("message_stop") => Some(is_strange()),
        (200, _) => Some(error_type(answer).map_or(cut, |kind| format!("The answer of exchange {id} ends with an error ({kind})."))),
        (_, ResponseEnd::Complete) => None,
        _ => Some(cut),
    }
}

/// The type of the last event of a stream.
fn last_type(answer: &RecordedResponse) -> Option<String> {
    let mut last = None;
    each_object(answer, &mut |text| last = RawObject::parse(text).ok().and_then(|event| event.string("type").map(Cow::into_owned)));
    last
}

/// The type of the error that a stream ends with.
fn error_type(answer: &RecordedResponse) -> Option<String> {
    let mut kind = None;
    each_object(answer, &mut |text| {
        let error = RawObject::parse(text).ok().and_then(|event| event.object("error")?.string("type").map(Cow::into_owned));
        kind = error.or(kind.take());
    });
    kind
}

/// Whether the thread ends, with this exchange, with a failed attempt after which clients try again, so that a replay asks for more than there
/// is. So many attempts failed in a row, this one counted.
pub(super) fn invites_retry(failures: u32, last: &Exchange, settings: &RetrySettings) -> bool {
    failures > 0 && (last.answer.status == 0 || may_be_repeated(&last.answer, failures, settings))
}

/// The data of each event, or the whole answer.
pub(super) fn each_object(answer: &RecordedResponse, sink: &mut impl FnMut(&str)) {
    let body = answer.body();
    if answer.is_event_stream() {
        // A stream with an event that is too large is not an answer; what came before it counts.
        let _ = SseFramer::new().feed(&body, &mut |frame| sink(frame.data));
    } else if let Ok(text) = core::str::from_utf8(&body) {
        sink(text);
    }
}

/// Looks at one event, or at one whole answer.
fn collect_from_object(text: &str, models: &mut Vec<Arc<str>>, tools: &mut Vec<ScriptedTool>) {
    let Ok(object) = RawObject::parse(text) else { return };
    match object.string("type").as_deref() {
        Some("message_start") => object.object("message").iter().for_each(|message| collect_from_message(message, models, tools)),
        Some("content_block_start") => tool_used(object.object("content_block"), tools),
        Some("message") => collect_from_message(&object, models, tools),
        _ => (),
    }
}

fn collect_from_message(message: &RawObject<'_>, models: &mut Vec<Arc<str>>, tools: &mut Vec<ScriptedTool>) {
    models.extend(message.string("model").map(Arc::from));
    let content = message.get("content").and_then(|content| elements(content).ok());
    content.into_iter().flatten().for_each(|block| tool_used(RawObject::parse(block).ok(), tools));
}

fn tool_used(block: Option<RawObject<'_>>, tools: &mut Vec<ScriptedTool>) {
    let Some(block) = block.filter(|block| block.string("type").as_deref() == Some("tool_use")) else { return };
    let Some(name) = block.string("name").map(Arc::<str>::from) else { return };
    if tools.iter().any(|tool| tool.definition.name == name) {
        return;
    }
    let definition = ToolDefinition::new(&name, safe(&name), undescribed(&name));
    tools.push(ScriptedTool { definition, latency: None, outcome: None });
}
