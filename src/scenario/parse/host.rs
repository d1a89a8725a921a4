//! `[[change]]` and `[[message]]`: what the session's host does from a certain request on (S-11).

use super::prompts::{ROLES, content};
use super::reader::TableReader;
use super::values::JsonObjectText;
use crate::engine::settings::{HostMessage, MessagePlace, RequestChange, RequestPlace};
use crate::prelude::*;
use crate::scenario::types::Scenario;
use crate::wire::block::{Message, Role};
use crate::wire::json::Json;

/// Reads both; tools that a change names are those of the scenario.
pub(super) fn read(reader: &mut TableReader<'_, '_>, scenario: &mut Scenario) {
    let known: Vec<Arc<str>> = scenario.tools.iter().map(|tool| tool.definition.name.clone()).collect();
    let session = &mut scenario.settings.session;
    session.changes = reader.entries("change", "[[change]]", |reader| change(reader, &known));
    session.host_messages = reader.entries("message", "[[message]]", message);
    // They stand in the order in which they come about, so that a reader, and a message that names an entry, need not sort them.
    let places = [
        ("change", session.changes.iter().map(|change| change.from).collect()),
        ("message", session.host_messages.iter().map(|message| message.at).collect()),
    ];
    for (key, places) in places {
        check_order(reader, key, places);
    }
    for (nth, pair) in session.changes.windows(2).enumerate() {
        if let [one, other] = pair
            && one.from == other.from
            && let Some(name) = members(one).into_iter().find(|name| members(other).contains(name))
        {
            let place = reader.entry_place("change", nth + 1);
            let message = format!("two [[change]] entries say `{name}` from one request on; keep one of them");
            reader.report.value(place, message, None);
        }
    }
}

/// The members of a request that a change is about.
fn members(change: &RequestChange) -> Vec<Arc<str>> {
    let set = change.set.to_value();
    let set = set.as_object().into_iter().flat_map(|set| set.keys().map(|name| Arc::from(name.as_str())));
    set.chain(change.unset.iter().cloned()).chain(change.tools.iter().map(|_| "tools".into())).collect()
}

/// The members that a request cannot do without.
const REQUIRED: [&str; 3] = ["model", "max_tokens", "messages"];

/// What is taken out can be, and is not said as well.
fn check_unset(reader: &mut TableReader<'_, '_>, change: &RequestChange) {
    let Some(member) = reader.member("unset") else { return };
    for (nth, name) in change.unset.iter().enumerate() {
        let is_set = change.set.to_value().get(&**name).is_some() || (&**name == "tools" && change.tools.is_some());
        let problem = if REQUIRED.contains(&&**name) {
            format!("every request has `{name}`: it cannot be taken out")
        } else if is_set || change.unset[..nth].contains(name) {
            format!("this [[change]] says `{name}` twice; keep one of the two")
        } else {
            continue;
        };
        reader.report.value(member.value.place, problem, None);
    }
}

fn check_order(reader: &mut TableReader<'_, '_>, key: &'static str, places: Vec<RequestPlace>) {
    if places.is_sorted() {
        return;
    }
    let place = reader.member(key).map_or(reader.place, |member| member.value.place);
    reader.report.value(place, format!("[[{key}]] entries stand in the order of their requests: sort them"), None);
}

fn change(reader: &mut TableReader<'_, '_>, known: &[Arc<str>]) -> Option<RequestChange> {
    let from = required_place(reader, "from");
    if ["set", "unset", "tools"].iter().all(|key| reader.member(key).is_none()) {
        reader.lacks(&["set", "unset", "tools"], "[[change]] needs `set`, `unset` or `tools`".into(), None);
    }
    let set = reader.get("set").map_or_else(|| Json::trusted("{}"), |JsonObjectText(json)| json);
    check_members(reader, &set);
    let unset: Vec<Arc<str>> = reader.get("unset").unwrap_or_default();
    let tools: Option<Vec<Arc<str>>> = reader.get("tools");
    for name in tools.iter().flatten().filter(|name| !known.contains(name)) {
        let place = reader.member("tools").map_or(reader.place, |member| member.value.place);
        let names: Vec<&str> = known.iter().map(|name| &**name).collect();
        reader.report.unknown(place, "tool", name, "", &names);
    }
    let change = RequestChange { from: from?, set, unset, tools };
    check_unset(reader, &change);
    Some(change)
}

/// What the engine would have to make up is refused here.
fn check_members(reader: &mut TableReader<'_, '_>, set: &Json) {
    let value = set.to_value();
    let is = |name: &str, fits: fn(&serde_json::Value) -> bool| value.get(name).is_none_or(fits);
    let problem = match () {
        () if value.get("messages").is_some() => "`messages` cannot be set; write [[message]] for what the host says",
        () if !is("model", |model| model.as_str().is_some_and(|model| !model.is_empty())) => "`model` in `set` is the name of a model",
        () if !is("max_tokens", serde_json::Value::is_u64) => "`max_tokens` in `set` is a whole number",
        () if !is("stream", serde_json::Value::is_boolean) => "`stream` in `set` is true or false",
        () if !is("tools", serde_json::Value::is_array) => "`tools` in `set` is an array of definitions",
        () => return,
    };
    if let Some(member) = reader.member("set") {
        reader.report.value(member.value.place, problem.into(), None);
    }
}

fn message(reader: &mut TableReader<'_, '_>) -> Option<HostMessage> {
    let at = required_place(reader, "at");
    let role = reader.choice("role", &ROLES).unwrap_or(Role::User);
    let places = [
        ("before", MessagePlace::Before),
        ("beside", MessagePlace::Beside),
        ("after", MessagePlace::After),
        ("instead", MessagePlace::Instead),
    ];
    let place = reader.choice("place", &places).unwrap_or_default();
    let content = content(reader);
    Some(HostMessage { at: at?, place, message: Arc::new(Message { role, content }) })
}

fn required_place(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<RequestPlace> {
    if reader.member(key).is_none() {
        let message = format!("{} needs `{key}`, a request such as {{ prompt = 1, request = 2 }}", reader.title());
        reader.lacks(&[key], message, None);
    }
    reader.section(key, "the place of a request", |reader| {
        let mut count = |key| reader.get_above_zero(key, "prompts and requests are counted from 1").unwrap_or(1);
        RequestPlace { prompt: count("prompt"), request: count("request") }
    })
}
