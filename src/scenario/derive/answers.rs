//! A recording that holds answers only: what they let one guess of the session (K-4).

use super::NOT_RECORDED;
use super::settings::safe;
use crate::engine::settings::{Settings, ToolDefinition};
use crate::prelude::*;
use crate::scenario::tape::Exchange;
use crate::scenario::types::{Prompt, Scenario, ScriptedTool};
use crate::wire::block::Block;
use crate::wire::json::{Json, push_string};
use crate::wire::raw::Object;
use crate::wire::sse::Framer;

/// A prompt that says that there is none, the model that answered, and the tools that it used.
pub(super) fn only(exchanges: &[&Exchange], scenario: &mut Scenario, notes: &mut Vec<String>) {
    notes.push(String::from("The prompt, the settings and the results of tools are made up."));
    scenario.prompts = vec![Prompt { content: vec![Block::text(NOT_RECORDED)], ..Prompt::default() }];
    scenario.settings = Settings { system_prompt: Some(Json::of("")), cache_breakpoints: false, ..Settings::default() };
    let mut models = Vec::new();
    for exchange in exchanges {
        let body = exchange.answer.body();
        let streamed = exchange.answer.is_event_stream();
        scenario.settings.stream = streamed;
        if streamed {
            let mut framer = Framer::new();
            // A stream with an event that is too large is no answer; what came before it counts.
            let _ = framer.feed(&body, &mut |frame| of_object(frame.data, &mut models, &mut scenario.tools));
        } else if let Ok(text) = core::str::from_utf8(&body) {
            of_object(text, &mut models, &mut scenario.tools);
        }
    }
    if let Some(model) = models.into_iter().next() {
        scenario.settings.model = model;
    }
}

/// Looks at one event, or at one whole answer.
fn of_object(text: &str, models: &mut Vec<Arc<str>>, tools: &mut Vec<ScriptedTool>) {
    let Ok(object) = Object::parse(text) else { return };
    match object.string("type").as_deref() {
        Some("message_start") => models.extend(object.object("message").and_then(|message| message.string("model")).map(Arc::from)),
        Some("content_block_start") => tool_used(object.object("content_block"), tools),
        Some("message") => {
            models.extend(object.string("model").map(Arc::from));
            let content = object.get("content").and_then(|content| crate::wire::raw::elements(content).ok());
            content.into_iter().flatten().for_each(|block| tool_used(Object::parse(block).ok(), tools));
        }
        _ => (),
    }
}

fn tool_used(block: Option<Object<'_>>, tools: &mut Vec<ScriptedTool>) {
    let Some(block) = block.filter(|block| block.string("type").as_deref() == Some("tool_use")) else { return };
    let Some(name) = block.string("name").map(Arc::<str>::from) else { return };
    if tools.iter().any(|tool| tool.definition.name == name) {
        return;
    }
    let mut json = String::from(r#"{"name":"#);
    push_string(&mut json, &name);
    json.push_str(r#","input_schema":{"type":"object"}}"#);
    let definition = ToolDefinition::new(&name, safe(&name), Json::trusted(json));
    tools.push(ScriptedTool { definition, latency: None, outcome: None });
}
