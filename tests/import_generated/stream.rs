//! A message as the API streams it.

use serde_json::{Value, json};

/// A message as the events of a stream.
pub(super) fn streamed(message: &Value) -> String {
    let mut events = Vec::new();
    let mut start = message.clone();
    (start["content"], start["stop_reason"], start["container"]) = (json!([]), Value::Null, Value::Null);
    events.push(json!({ "type": "message_start", "message": start }));
    for (index, block) in message["content"].as_array().unwrap().iter().enumerate() {
        let (mut first, delta) = (
            block.clone(),
            match block["type"].as_str().unwrap() {
                "text" => Some(json!({ "type": "text_delta", "text": block["text"] })),
                "thinking" => Some(json!({ "type": "thinking_delta", "thinking": block["thinking"] })),
                "tool_use" | "server_tool_use" => Some(json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })),
                _ => None, // it comes whole
            },
        );
        match block["type"].as_str().unwrap() {
            "text" => first["text"] = json!(""),
            "thinking" => (first["thinking"], first["signature"]) = (json!(""), json!("")),
            "tool_use" | "server_tool_use" => first["input"] = json!({}),
            _ => (),
        }
        if block.get("citations").is_some() {
            first["citations"] = json!([]);
        }
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": first }));
        for citation in block.get("citations").and_then(Value::as_array).into_iter().flatten() {
            let delta = json!({ "type": "citations_delta", "citation": citation });
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        if let Some(delta) = delta {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        if let Some(signature) = block.get("signature") {
            events.push(
                json!({ "type": "content_block_delta", "index": index, "delta": { "type": "signature_delta", "signature": signature } }),
            );
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let mut delta = json!({ "stop_reason": message["stop_reason"], "stop_sequence": null });
    if let Some(container) = message.get("container") {
        delta["container"] = container.clone();
    }
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 4 } }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}
