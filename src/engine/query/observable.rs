//! A tool's input for consumers (Q-8 B): a copy with derived fields, if the tool has any.
//!
//! The original is what goes back to the API, byte for byte: prompt caching depends on it.

use crate::emission::AssistantMessage;
use crate::settings::{Environment, ObservableField};
use reenact_wire::block::{Block, BlockKind, ToolInput, ToolUse};
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;

/// The message to emit in place of `message`; the same one when nothing is added to it.
pub(super) fn emitted(env: &Environment, message: &Arc<AssistantMessage>) -> Arc<AssistantMessage> {
    let Some(tool_use) = message.block.as_tool_use() else { return message.clone() };
    let fields = env.tool(&tool_use.name).map_or(&[][..], |tool| &tool.observable);
    let ToolInput::Valid(input) = &tool_use.input else { return message.clone() };
    let Some(input) = with_fields(input, fields) else { return message.clone() };
    let block = with_input(tool_use, input);
    Arc::new(AssistantMessage { block, ..AssistantMessage::clone(message) })
}

/// The input with the fields at its end; `None` when none is added.
fn with_fields(input: &Json, fields: &[ObservableField]) -> Option<Json> {
    let value = (!fields.is_empty()).then(|| input.to_value())?;
    let members = value.as_object()?;
    let mut added = String::new();
    for field in fields.iter().filter(|field| !members.contains_key(&*field.name)) {
        let Some(from) = members.get(&*field.from).and_then(serde_json::Value::as_str) else { continue };
        added.push(',');
        push_string(&mut added, &field.name);
        added.push(':');
        push_string(&mut added, &absolute(&field.base, from));
    }
    let open = input.as_str().trim_end().strip_suffix('}')?;
    (!added.is_empty()).then(|| Json::trusted(format!("{open}{added}}}")))
}

fn absolute(base: &str, path: &str) -> String {
    if path.starts_with('/') { path.into() } else { format!("{}/{path}", base.trim_end_matches('/')) }
}

fn with_input(tool_use: &ToolUse, input: Json) -> Block {
    let mut json = String::from(r#"{"type":"tool_use","id":"#);
    push_string(&mut json, &tool_use.id);
    json.push_str(r#","name":"#);
    push_string(&mut json, &tool_use.name);
    json.push_str(&format!(r#","input":{input}}}"#));
    let observed = ToolUse { input: ToolInput::Valid(input), ..tool_use.clone() };
    Block::assembled(BlockKind::ToolUse(observed), Json::trusted(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Vec<ObservableField> {
        vec![ObservableField { name: "absolute_path".into(), from: "path".into(), base: "/w".into() }]
    }

    #[test]
    fn q_8_a_field_is_added_at_the_end_and_nothing_else_differs() {
        let of = |text: &str| with_fields(&Json::trusted(text), &fields()).map(|json| json.to_string());
        assert_eq!(of(r#"{"path": "a", "n":1e3 }"#).unwrap(), r#"{"path": "a", "n":1e3 ,"absolute_path":"/w/a"}"#);
        assert_eq!(of(r#"{"path":"/a"}"#).unwrap(), r#"{"path":"/a","absolute_path":"/a"}"#);
        assert_eq!(of(r#"{"path":"a","absolute_path":"x"}"#), None, "it is there already");
        assert_eq!(of(r#"{"other":"a"}"#), None);
        assert_eq!(of("[]"), None);
        assert_eq!(with_fields(&Json::trusted(r#"{"path":"a"}"#), &[]), None);
    }
}
