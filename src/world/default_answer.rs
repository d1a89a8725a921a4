//! The answer that the model makes up where the scenario has none: it keeps to what the request asks for (M-3).
//!
//! A request may force a tool (`tool_choice`), and a short `max_tokens` ends the answer early. The input of a forced tool is the least that its schema
//! allows.

use serde_json::{Map, Value, json};

use super::setup::{PreparedAnswer, RunSetup, scripted_answer};
use reenact_engine::contract::RequestId;
use reenact_scenario::script::{AnswerOrigin, TurnPlace};
use reenact_scenario::types::{Scenario, ScriptedTurn, TurnBlock};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::request::Request;

/// So many characters are a token, as the output of scripted answers is counted.
const TOKEN_CHARACTERS: u64 = 4;

/// How deep schemas may refer to others.
const DEPTH_MAX: u32 = 8;

impl RunSetup {
    /// The answer to a request that exists only because of an injection (M-3).
    pub(crate) fn default_answer(&self, id: RequestId, request: &Request) -> PreparedAnswer {
        let text = self.scenario.default_answer.as_deref().unwrap_or(Scenario::DEFAULT_ANSWER);
        self.made_up(text, request, TurnPlace { origin: AnswerOrigin::Nothing(id.prompt), turn: id.turn })
    }

    /// An answer that no turn scripts, as the request asks for it.
    pub(crate) fn made_up(&self, text: &str, request: &Request, place: TurnPlace) -> PreparedAnswer {
        scripted_answer(&self.scenario, &turn(text, request), place)
    }
}

/// The answer to a request: `text`, or the tool that it forces.
fn turn(text: &str, request: &Request) -> ScriptedTurn {
    // Nothing is asked for where a cache is filled, or where the API is lenient.
    let most = if request.max_tokens == 0 { u64::MAX } else { request.max_tokens.saturating_mul(TOKEN_CHARACTERS) };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let forced = forced_tool(request);
    let whole = forced.as_ref().map_or(text, |(_, input)| input);
    let cut: Arc<str> = whole.chars().take(most).collect::<String>().into();
    let is_cut = cut.len() < whole.len();
    let block = match forced {
        Some((name, _)) => TurnBlock::Tool { name: name.into(), input: cut, id: None, outcome: None, safe: None, slip: None },
        None => TurnBlock::Text(cut),
    };
    ScriptedTurn { content: vec![block], stop_reason: is_cut.then(|| "max_tokens".into()), ..ScriptedTurn::default() }
}

/// The tool that a request forces, with an input; of several the first.
fn forced_tool(request: &Request) -> Option<(String, String)> {
    let extra = RawObject::parse(request.extra.as_str()).ok()?;
    let choice = extra.object("tool_choice")?;
    let wanted = match &*choice.string("type")? {
        "tool" => Some(choice.string("name")?),
        "any" => None,
        _ => return None,
    };
    let tools: Vec<Value> = serde_json::from_str(request.tools.as_ref()?.as_str()).ok()?;
    let is_wanted = |tool: &&Value| tool["input_schema"].is_object() && wanted.as_ref().is_none_or(|name| tool["name"] == **name);
    let tool = tools.iter().find(is_wanted)?;
    let schema = &tool["input_schema"];
    Some((tool["name"].as_str()?.into(), example(schema, schema, DEPTH_MAX).to_string()))
}

/// The least value that a schema allows, where that can be seen: no patterns, and of several forms the first. `whole` holds the definitions.
fn example(schema: &Value, whole: &Value, depth: u32) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    let inner = |schema: &Value| example(schema, whole, depth - 1);
    if let Some(path) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        return whole.pointer(path).map_or(Value::Null, inner);
    }
    let given = ["const", "default"].into_iter().find_map(|key| schema.get(key)).or_else(|| schema["enum"].get(0));
    if let Some(given) = given {
        return given.clone();
    }
    if let Some(form) = ["anyOf", "oneOf", "allOf"].into_iter().find_map(|key| schema[key].get(0)) {
        return inner(form);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") => Value::String("x".repeat(least(schema, "minLength"))),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        Some("boolean") => json!(false),
        Some("array") => Value::Array(vec![inner(&schema["items"]); least(schema, "minItems")]),
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let members: Map<String, Value> = required.map(|name| (name.into(), inner(&schema["properties"][name]))).collect();
            Value::Object(members)
        }
        _ => Value::Null,
    }
}

/// How long a text or a list has to be. An input of a thousand items shows nothing more than one of a few.
fn least(schema: &Value, key: &str) -> usize {
    schema[key].as_u64().map_or(0, |least| usize::try_from(least.min(1_000)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::json::Json;

    fn request(max_tokens: u64, choice: &str) -> Request {
        let schema = r##"{"type":"object","required":["a","n","k","l","o","r"],"$defs":{"R":{"type":["boolean","null"]}},"properties":{
            "a":{"type":"string","minLength":2},"n":{"type":"integer","minimum":3},"k":{"enum":["x","y"]},"free":{"type":"string"},
            "l":{"type":"array","minItems":1,"items":{"type":"number"}},"o":{"type":"object"},"r":{"$ref":"#/$defs/R"}}}"##;
        let tools = format!(
            r#"[{{"type":"web_search_20250305","name":"web"}},{{"name":"First","input_schema":{{"type":"object"}}}},{{"name":"Second","input_schema":{schema}}}]"#
        );
        Request {
            tools: Some(Json::parse(&tools).unwrap()),
            extra: Json::parse(choice).unwrap(),
            ..Request::new("claude-sonnet-4-5", max_tokens)
        }
    }

    fn said(request: &Request) -> (String, String, Option<Arc<str>>) {
        let turn = turn("All right.", request);
        match &turn.content[..] {
            [TurnBlock::Text(text)] => (String::new(), text.to_string(), turn.stop_reason),
            [TurnBlock::Tool { name, input, .. }] => (name.to_string(), input.to_string(), turn.stop_reason),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn m_3_a_made_up_answer_uses_the_tool_that_is_forced() {
        let of = |choice: &str| said(&request(100, choice));
        let text = (String::new(), String::from("All right."), None);
        assert_eq!(of("{}"), text);
        assert_eq!(of(r#"{"tool_choice":{"type":"auto"}}"#), text);
        assert_eq!(of(r#"{"tool_choice":{"type":"none"}}"#), text);
        assert_eq!(of(r#"{"tool_choice":{"type":"any"}}"#), ("First".into(), "{}".into(), None), "of several the first with a schema");
        let (name, input, stop) = of(r#"{"tool_choice":{"type":"tool","name":"Second"}}"#);
        assert_eq!((&*name, stop), ("Second", None));
        assert_eq!(serde_json::from_str::<Value>(&input).unwrap(), json!({ "a": "xx", "n": 3, "k": "x", "l": [0], "o": {}, "r": false }));
    }

    #[test]
    fn m_3_a_made_up_answer_ends_at_max_tokens() {
        assert_eq!(said(&request(3, "{}")), (String::new(), "All right.".into(), None), "ten characters are three tokens");
        assert_eq!(said(&request(1, "{}")), (String::new(), "All ".into(), Some("max_tokens".into())));
        let (name, input, stop) = said(&request(1, r#"{"tool_choice":{"type":"tool","name":"Second"}}"#));
        assert_eq!((&*name, input.len(), stop.as_deref()), ("Second", 4, Some("max_tokens")), "the input breaks off: {input}");
    }
}
