//! A frame from some request on (S-11): what the host has set anew.

use super::{RequestFrame, listed};
use crate::key::KeylessValue;
use crate::settings::{Environment, RequestChange};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::request::{Request, list_with_breakpoint, system_with_breakpoint};
use reenact_wire::tokens;

impl RequestFrame {
    /// The same with what holds from there on; breakpoints go where they went before (N-7).
    #[doc(hidden)]
    pub fn with_change(&self, env: &Environment, change: &RequestChange) -> Self {
        let mut frame = self.clone();
        let request = &mut frame.request;
        for name in &change.unset {
            match &**name {
                "system" => request.system = None,
                "tools" => request.tools = None,
                "stream" => request.stream = false,
                name => request.extra = without(&request.extra, name),
            }
        }
        if let Some(names) = &change.tools {
            request.tools = listed(names.iter().filter_map(|name| env.tool(name)));
        }
        if let Ok(members) = RawObject::parse(change.set.as_str()) {
            members.members().for_each(|(name, value)| set(request, name, value));
        }
        if env.settings.cache_breakpoints {
            request.system = request.system.take().map(|system| system_with_breakpoint(&system));
            request.tools = request.tools.take().map(|tools| list_with_breakpoint(&tools));
        }
        frame.tokens = KeylessValue(tokens::frame(&frame.request));
        frame
    }
}

/// Sets one member of a request's body; a value of a wrong type is left out, because the reader of scenarios refuses it.
fn set(request: &mut Request, name: &str, value: &str) {
    match name {
        "model" => request.model = serde_json::from_str::<String>(value).map_or_else(|_| request.model.clone(), Arc::from),
        "max_tokens" => request.max_tokens = value.parse().unwrap_or(request.max_tokens),
        "stream" => request.stream = value == "true",
        "system" => request.system = Some(Json::trusted(value)),
        "tools" => request.tools = Some(Json::trusted(value)),
        _ => {
            if let Ok(members) = RawObject::parse(request.extra.as_str()) {
                request.extra = Json::trusted(members.with(&[(name, String::from(value))]));
            }
        }
    }
}

fn without(extra: &Json, name: &str) -> Json {
    RawObject::parse(extra.as_str()).map_or_else(|_| extra.clone(), |members| Json::trusted(members.without(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{RequestPlace, Settings, ToolDefinition};

    #[test]
    fn s_11_from_a_request_on_other_members_hold() {
        let tool = |name: &str| ToolDefinition::new(name, None, Json::trusted(format!(r#"{{"name":"{name}"}}"#)));
        let settings = Settings {
            cache_breakpoints: false,
            system_prompt: Some(Json::from_value("old")),
            request_extra: Json::trusted(r#"{"temperature":1,"thinking":{"type":"adaptive"}}"#),
            ..Settings::default()
        };
        let env = Environment { settings, tools: vec![tool("A"), tool("B")], ..Environment::default() };
        let change = RequestChange {
            from: RequestPlace::START,
            set: Json::trusted(r#"{"model":"m2","max_tokens":7,"stream":false,"temperature":0,"system":"new","top_k":4}"#),
            unset: vec!["thinking".into()],
            tools: Some(vec!["B".into()]),
        };
        let request = RequestFrame::from_environment(&env).with_change(&env, &change).request(Vec::new(), None);
        assert_eq!((&*request.model, request.max_tokens, request.stream), ("m2", 7, false));
        assert_eq!(request.system, Some(Json::from_value("new")));
        assert_eq!(request.tools.unwrap().as_str(), r#"[{"name":"B"}]"#);
        assert_eq!(request.extra.as_str(), r#"{"temperature":0,"top_k":4}"#);
        let gone = RequestChange { unset: vec!["tools".into(), "system".into()], tools: None, ..change };
        let request = RequestFrame::from_environment(&env).with_change(&env, &gone).request(Vec::new(), None);
        assert_eq!((request.tools, request.system), (None, Some(Json::from_value("new"))), "what is set counts");
    }
}
