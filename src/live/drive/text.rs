//! One run of a client as text for eyes and for diffs: what it asked, what it printed, how it ended.
//!
//! Requests and output stand apart, because which of a printed line and the next request comes first is a matter of scheduling. Times are left out.

use core::fmt::Write as _;

use serde_json::Value;

use super::profile::ClientProfile;
use super::{ClientOutput, ClientRun};
use reenact_engine::contract::{Agent, Message, RequestId};
use reenact_foreign::verdict::ServedExchange;
use reenact_transcript::event::{Event, EventKind, RequestRecord};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_world::normalise::Normaliser;
use reenact_world::setup::RunSetup;

/// How much of a text is shown; a digest of the whole stands behind it.
const SHOWN_MAX: usize = 160;

/// The whole.
pub(super) fn render(setup: &RunSetup, driven: &ClientRun, client: Option<&ClientProfile>, normaliser: &mut Normaliser) -> String {
    let mut out = String::new();
    let title = setup.scenario.title.as_deref().unwrap_or("(untitled)");
    let client = client.map_or("a client", |profile| &profile.name);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{title}\ndriven: {client}\n");
    let mut events: Vec<&Event> = driven.verdict.transcript.events.iter().collect();
    if normaliser.has("order") {
        // Agents ask beside each other: each one's requests stand together, in its own order.
        normaliser.note("order", !events.is_sorted_by_key(|event| event.agent.tool_use_id()));
        events.sort_by_key(|event| event.agent.tool_use_id());
    }
    for event in events {
        match &event.what {
            EventKind::Request { id, request } => {
                request_lines(&mut out, normaliser, &event.agent, *id, request);
                if let Some(asked) = asked_of(driven, &event.agent, *id) {
                    answer_line(&mut out, normaliser, asked);
                }
            }
            EventKind::Refused { rule, text, .. } => drop(writeln!(out, "  refused   {rule}: {text}")),
            EventKind::Difference { difference, .. } => drop(writeln!(out, "  differs   {}", normaliser.text(&difference.to_string()))),
            _ => (),
        }
    }
    for asked in driven.verdict.asked.iter().filter(|asked| asked.message.is_none()) {
        let _ = writeln!(out, "other     {} -> {}", normaliser.text(&asked.line), asked.status.unwrap_or(0));
    }
    output_lines(&mut out, normaliser, "output", &driven.output);
    if let Some(again) = &driven.again {
        output_lines(&mut out, normaliser, "again", again);
    }
    for failure in &driven.failures {
        let _ = writeln!(out, "FAILED    {}", normaliser.text(failure));
    }
    out
}

fn request_lines(out: &mut String, normaliser: &mut Normaliser, agent: &Agent, id: RequestId, request: &RequestRecord) {
    let RequestRecord { model, max_tokens, stream, frame, cache_last_message: _, kept, added } = request;
    let whole = if *stream { "" } else { ", not streamed" };
    let before = if *kept == 0 { String::new() } else { format!(", {} as before", plural(*kept as u64, "message")) };
    let _ = writeln!(out, "request   {}: {model}, max {max_tokens}{whole}{before}", agent.key(id));
    if let Some(frame) = frame {
        let further = Some(&frame.extra).filter(|extra| extra.as_str() != "{}");
        for (name, json) in [("system", frame.system.as_ref()), ("tools", frame.tools.as_ref()), ("further", further)] {
            if let Some(json) = json {
                let _ = writeln!(out, "  {name:<9} {}", frame_text(normaliser, name, json));
            }
        }
    }
    for message in added {
        message_lines(out, normaliser, message);
    }
}

/// The names of tools, and a digest: their descriptions are long and no matter of a run.
fn frame_text(normaliser: &mut Normaliser, name: &str, json: &Json) -> String {
    let value = normaliser.json(serde_json::from_str(json.as_str()).unwrap_or_default());
    let text = value.to_string();
    if name != "tools" {
        return cut(&text);
    }
    let names: Vec<&str> = value.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    format!("{} ({}: {})", names.join(", "), names.len(), digest(&text))
}

fn message_lines(out: &mut String, normaliser: &mut Normaliser, message: &Message) {
    let blocks: Vec<Value> = message.content.iter().map(|block| serde_json::from_str(block.json().as_str()).unwrap_or_default()).collect();
    let Value::Array(blocks) = normaliser.json(Value::Array(blocks)) else { return };
    for block in blocks {
        let _ = writeln!(out, "  {:<9} {}", message.role.as_str(), cut(&block.to_string()));
    }
}

fn answer_line(out: &mut String, normaliser: &mut Normaliser, asked: &ServedExchange) {
    let answer = normaliser.text(asked.answer.as_deref().unwrap_or("-"));
    let status = asked.status.map(|status| format!("{status}, ")).unwrap_or_default();
    let _ = writeln!(out, "answer    {answer}: {status}{}", asked.how.as_str());
}

fn output_lines(out: &mut String, normaliser: &mut Normaliser, name: &str, output: &ClientOutput) {
    let _ = writeln!(out);
    let mut lines = output.lines.clone();
    normaliser.order_lines(&mut lines);
    for line in &lines {
        let _ = writeln!(out, "{name:<9} {}", normaliser.line(line));
    }
    for line in output.errors.lines() {
        let _ = writeln!(out, "errors    {}", normaliser.text(line));
    }
    let _ = writeln!(out, "ended     {}", output.ended);
    if !output.left_behind.is_empty() {
        let _ = writeln!(out, "left      {}", output.left_behind.join(", "));
    }
}

fn asked_of<'a>(driven: &'a ClientRun, agent: &Agent, id: RequestId) -> Option<&'a ServedExchange> {
    let is_it = |asked: &&ServedExchange| asked.message.as_ref().is_some_and(|message| (&message.agent, message.id) == (agent, id));
    driven.verdict.asked.iter().find(is_it)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        None => text.into(),
        Some((at, _)) => format!("{}… ({})", &text[..at], digest(text)),
    }
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().as_str()[..8].into()
}
