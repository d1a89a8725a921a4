//! The form that headless clients print: one JSON object a line.
//!
//! A run can be held against what a real client printed. Ids come from lineage, as everywhere: `p1.r2.a1.b0`. A line without a name of its own in the run has
//! no `uuid`. What such clients have no line for is left out: progress, tombstones, hooks, boundaries but that of a summary.

use reenact_engine::contract::Effect;
use reenact_engine::emission::{AssistantMessage, Emission, PermissionDenial, ResultMessage, SessionSurroundings, UserMessage};
use reenact_wire::block::Block;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;
use serde_json::{Map, Value, json};

use super::event::{Event, EventKind, Transcript};

/// The id of the session in each line.
const SESSION: &str = "reenact";

/// A line for each message that a client prints.
pub fn to_stream_json(transcript: &Transcript) -> String {
    let mut out = String::new();
    for line in transcript.events.iter().filter_map(line) {
        out += &Value::Object(line).to_string();
        out.push('\n');
    }
    out
}

fn line(event: &Event) -> Option<Map<String, Value>> {
    let EventKind::Effect(Effect::Emit(emission)) = &event.what else { return None };
    let Value::Object(mut line) = message(emission)? else { return None };
    line.insert("session_id".into(), SESSION.into());
    if matches!(emission, Emission::Assistant(_) | Emission::Aborted(_) | Emission::User(_) | Emission::StreamEvent { .. }) {
        line.insert("parent_tool_use_id".into(), event.agent.tool_use_id().map_or(Value::Null, Value::from));
    }
    Some(line)
}

fn message(emission: &Emission) -> Option<Value> {
    Some(match emission {
        Emission::Init { prompt, model, tools, surroundings } => init(*prompt, model, tools, surroundings),
        Emission::StreamEvent { event, time_to_first_token, .. } => {
            let mut line = json!({ "type": "stream_event", "event": value(event.data()) });
            if let Some(time) = time_to_first_token {
                line["ttft_ms"] = milliseconds(time.0);
            }
            line
        }
        Emission::Assistant(message) => assistant(message),
        Emission::Aborted(message) => {
            let mut line = assistant(message);
            line["aborted"] = true.into();
            line
        }
        Emission::User(message) => user(message),
        Emission::Interrupted { text, .. } => text_of_user(text),
        Emission::Hidden { uuid, text, .. } => {
            let mut line = text_of_user(text);
            line["uuid"] = (&**uuid).into();
            line["isSynthetic"] = true.into();
            line
        }
        Emission::QueuedCommand { content, .. } | Emission::UserPrompt { content, .. } => {
            json!({ "type": "user", "message": { "role": "user", "content": blocks(content) }, "isReplay": true })
        }
        Emission::ApiRetry { id, retry, of, delay, status, kind, .. } => json!({
            "type": "system", "subtype": "api_retry", "uuid": format!("{id}.retry"), "attempt": retry, "max_retries": of,
            "retry_delay_ms": milliseconds(delay.0), "error_status": status, "error": &**kind,
        }),
        Emission::ModelFallback { id, from, to, reason } => json!({
            "type": "system", "subtype": "model_fallback", "uuid": format!("{id}.fallback"), "trigger": &**reason, "original_model": &**from,
            "fallback_model": &**to,
        }),
        Emission::CompactBoundary { trigger, tokens_before, tokens_after, .. } => json!({
            "type": "system", "subtype": "compact_boundary",
            "compact_metadata": { "trigger": trigger.as_str(), "pre_tokens": tokens_before, "post_tokens": tokens_after },
        }),
        Emission::Status { status } => json!({ "type": "system", "subtype": "status", "status": &**status }),
        Emission::Warning { text } | Emission::LocalOutput { text, .. } => {
            json!({ "type": "system", "subtype": "informational", "content": &**text })
        }
        Emission::Result(result) => of_prompt(result),
        _ => return None,
    })
}

fn init(prompt: u32, model: &str, tools: &[Arc<str>], surroundings: &SessionSurroundings) -> Value {
    let names = |names: &[Arc<str>]| -> Vec<Value> { names.iter().map(|name| (&**name).into()).collect() };
    let servers: Vec<Value> = surroundings.mcp_servers.iter().map(|name| json!({ "name": &**name, "status": "connected" })).collect();
    json!({
        "type": "system", "subtype": "init", "uuid": format!("p{prompt}.init"), "model": model, "tools": names(tools), "mcp_servers": servers,
        "permissionMode": surroundings.permission_mode, "skills": names(&surroundings.skills), "plugins": names(&surroundings.plugins),
        "agents": names(&surroundings.agents),
    })
}

fn assistant(message: &AssistantMessage) -> Value {
    let mut line = json!({
        "type": "assistant", "uuid": &*message.uuid,
        "message": {
            "id": &*message.api_id, "type": "message", "role": "assistant", "model": &*message.model, "content": [block(&message.block)],
            "stop_reason": null, "stop_sequence": null,
        },
    });
    if let Some(error) = &message.error {
        line["error"] = (&**error).into();
    }
    line
}

fn user(message: &UserMessage) -> Value {
    let mut line = json!({ "type": "user", "uuid": &*message.uuid, "message": { "role": "user", "content": [block(&message.block)] } });
    if let Some(structured) = &message.structured {
        line["tool_use_result"] = value(structured.as_str());
    }
    line
}

fn text_of_user(text: &str) -> Value {
    json!({ "type": "user", "message": { "role": "user", "content": [{ "type": "text", "text": text }] } })
}

fn of_prompt(result: &ResultMessage) -> Value {
    let denial = |denial: &PermissionDenial| json!({ "tool_name": &*denial.tool, "tool_use_id": &*denial.tool_use_id, "tool_input": value(denial.input.as_str()) });
    let denials: Vec<Value> = result.permission_denials.iter().map(denial).collect();
    let cost_of =
        |model: &str| result.cost_by_model.iter().find(|(name, _)| **name == *model).map_or(Value::Null, |(_, cost)| dollars(cost));
    let of_model = |(model, usage): &(Arc<str>, Usage)| {
        let usage = json!({
            "inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens, "cacheReadInputTokens": usage.cache_read_input_tokens,
            "cacheCreationInputTokens": usage.cache_creation_input_tokens, "costUSD": cost_of(model),
        });
        (model.to_string(), usage)
    };
    let by_model: Map<String, Value> = result.usage_by_model.iter().map(of_model).collect();
    let errors: Vec<Value> = result.errors.iter().map(|error| (&**error).into()).collect();
    let mut line = json!({
        "type": "result", "subtype": result.subtype.as_str(), "uuid": format!("p{}.result", result.prompt), "is_error": result.is_error,
        "terminal_reason": result.terminal.as_str(), "duration_ms": milliseconds(result.duration.0),
        "duration_api_ms": milliseconds(result.api_duration.0), "num_turns": result.turns, "stop_reason": result.stop_reason.as_deref(),
        "total_cost_usd": dollars(&result.cost), "usage": result.usage, "modelUsage": by_model, "permission_denials": denials,
    });
    if errors.is_empty() {
        line["result"] = (&*result.text).into();
    } else {
        line["errors"] = errors.into();
    }
    if let Some(output) = &result.structured_output {
        line["structured_output"] = value(output.as_str());
    }
    line
}

fn blocks(content: &[Block]) -> Vec<Value> {
    content.iter().map(block).collect()
}

fn block(block: &Block) -> Value {
    value(block.json().as_str())
}

/// A JSON text as a value. What the API sent may be no JSON: then it is a text.
fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| json.into())
}

/// Whole milliseconds, as clients print them.
fn milliseconds(micros: u64) -> Value {
    (micros / 1_000).into()
}

fn dollars(cost: &reenact_engine::budget::NanoUsd) -> Value {
    cost.to_string().trim_start_matches('$').parse::<f64>().map_or(Value::Null, Value::from)
}
