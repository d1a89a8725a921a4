//! Members of requests that change from some request on (K-4): `[[change]]` of the scenario.

use alloc::collections::BTreeMap;

use super::UnderstoodExchange;
use super::settings::{list_without_breakpoints, without_member};
use crate::types::Scenario;
use reenact_engine::settings::{RequestChange, RequestPlace};
use reenact_wire::compare::{VolatileMember, differences};
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};
use reenact_wire::request::Request;

/// Members of a request's body beside the conversation, as text.
type BodyMembers = BTreeMap<Arc<str>, Arc<str>>;

/// Holds each request against what the engine will say at its place, and writes down what it has to say otherwise from there on.
pub(super) fn read(asked: &[UnderstoodExchange<'_>], places: &[RequestPlace], scenario: &mut Scenario) {
    let settings = &scenario.settings;
    let cached = settings.cache_breakpoints;
    let (raised, fallback) = (settings.session.raised_max_tokens, settings.session.fallback_model.clone());
    let mut known = members(&asked[0].request, scenario);
    // What the engine offers where nothing is said: all tools that there are.
    let all: Vec<&str> = scenario.tools.iter().map(|tool| tool.definition.json.as_str()).collect();
    match all.is_empty() {
        true => known.remove("tools"),
        false => known.insert("tools".into(), format!("[{}]", all.join(",")).into()),
    };
    let mut changes = Vec::new();
    for (index, (asked_now, place)) in asked.iter().zip(places).enumerate() {
        let before = index.checked_sub(1).map(|before| (&asked[before], places[before]));
        // What the engine does by itself lasts for its call, or its prompt.
        let mut own: Vec<&str> = Vec::new();
        if before.is_some_and(|(_, at)| at == *place) {
            own.extend(["max_tokens", "stream", "model"]);
        }
        if before.is_some_and(|(before, _)| before.request.messages == asked_now.request.messages)
            && raised == Some(asked_now.request.max_tokens)
        {
            own.push("max_tokens");
        }
        if fallback.as_ref() == Some(&asked_now.request.model)
            && before.is_some_and(|(before, at)| at.prompt == place.prompt && before.request.model == asked_now.request.model)
        {
            own.push("model");
        }
        let now = members(&asked_now.request, scenario);
        if let Some(change) = change(*place, &known, &now, &own, scenario, cached) {
            changes.push(change);
        }
        let kept: Vec<_> = own.iter().map(|name| (Arc::<str>::from(*name), known.get(*name).cloned())).collect();
        known = now;
        for (name, value) in kept {
            match value {
                Some(value) => known.insert(name, value),
                None => known.remove(&name),
            };
        }
    }
    scenario.settings.session.changes = changes;
}

/// All of a request that may change, without what the engine adds.
fn members(request: &Request, scenario: &Scenario) -> BodyMembers {
    let cached = scenario.settings.cache_breakpoints;
    let mut members = BodyMembers::new();
    members.insert("model".into(), Json::from_value(&*request.model).as_str().into());
    members.insert("max_tokens".into(), request.max_tokens.to_string().into());
    if request.stream {
        members.insert("stream".into(), "true".into());
    }
    for (name, list) in [("system", &request.system), ("tools", &request.tools)] {
        if let Some(list) = list {
            members.insert(name.into(), list_without_breakpoints(list, cached).as_str().into());
        }
    }
    let extra = RawObject::parse(request.extra.as_str());
    for (name, value) in extra.iter().flat_map(RawObject::members) {
        let is_kept = name == "container" && scenario.settings.session.keep_container;
        if name != "metadata" && !is_kept {
            members.insert(name.into(), value.into());
        }
    }
    members
}

fn change(
    from: RequestPlace,
    known: &BodyMembers,
    now: &BodyMembers,
    own: &[&str],
    scenario: &Scenario,
    cached: bool,
) -> Option<RequestChange> {
    let is_same =
        |name: &str, one: Option<&Arc<str>>, other: Option<&Arc<str>>| differences(&value(name, one), &value(name, other)).is_empty();
    let differs = |name: &&Arc<str>| !own.contains(&&***name) && !is_same(name, known.get(*name), now.get(*name));
    let mut change = RequestChange { from, set: Json::trusted("{}"), unset: Vec::new(), tools: None };
    let mut set = String::from("{");
    for (name, value) in now.iter().filter(|(name, _)| differs(name)) {
        if &**name == "tools"
            && let Some(names) = tool_names(value, scenario, cached)
        {
            change.tools = Some(names);
            continue;
        }
        if set.len() > 1 {
            set.push(',');
        }
        push_string(&mut set, name);
        set.push(':');
        set.push_str(value);
    }
    set.push('}');
    change.set = Json::trusted(set);
    for name in known.keys().filter(|name| !now.contains_key(*name)).filter(differs) {
        match &**name {
            "tools" => change.tools = Some(Vec::new()),
            _ => change.unset.push(name.clone()),
        }
    }
    let says_nothing = change.set.as_str() == "{}" && change.unset.is_empty() && change.tools.is_none();
    (!says_nothing).then_some(change)
}

/// A member as requests are compared.
fn value(name: &str, text: Option<&Arc<str>>) -> serde_json::Value {
    let mut request = serde_json::Map::new();
    if let Some(value) = text.and_then(|text| serde_json::from_str(text).ok()) {
        request.insert(name.into(), value);
    }
    VolatileMember::default().normalised(serde_json::Value::Object(request))
}

/// The names of these tools, where each is as the scenario declares it.
fn tool_names(list: &str, scenario: &Scenario, cached: bool) -> Option<Vec<Arc<str>>> {
    let name = |text: &str| {
        let json = if cached { without_member(text, "cache_control") } else { Json::trusted(text) };
        let name = RawObject::parse(text).ok()?.string("name").map(String::from)?;
        let declared = scenario.tools.iter().find(|tool| *tool.definition.name == *name)?;
        (declared.definition.json.to_value() == json.to_value()).then(|| declared.definition.name.clone())
    };
    elements(list).ok()?.into_iter().map(name).collect()
}
