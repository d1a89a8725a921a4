//! `[[change]]` and `[[message]]`: what the session's host does from a certain request on (S-11).

use crate::language::forms::{JsonObjectText, word_forms};
use crate::language::keys::{ConvertedTable, keys};
use crate::language::sections::prompt::Content;
use crate::language::tables::{Flat, Inline};
use crate::parse::reader::TableReader;
use crate::types::Scenario;
use reenact_engine::settings::{HostMessage, MessagePlace, RequestChange, RequestPlace};
use reenact_wire::block::{Message, Role};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

word_forms!(MessagePlace);

/// The members that a request cannot do without.
const REQUIRED: [&str; 3] = ["model", "max_tokens", "messages"];

keys! {
    /// The place of a request in the session.
    #[derive(Copy)]
    pub(crate) struct RequestPlaceKeys {
        /// The prompt.
        prompt: u32 = 1, above_zero("prompts and requests are counted from 1");
        /// Its request.
        request: u32 = 1, above_zero("prompts and requests are counted from 1");
    }
}

impl ConvertedTable for RequestPlace {
    type Keys = RequestPlaceKeys;
    const TITLE: Option<&'static str> = Some("the place of a request");

    fn from_keys(RequestPlaceKeys { prompt, request }: RequestPlaceKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { prompt, request })
    }

    fn to_keys(&self) -> RequestPlaceKeys {
        let Self { prompt, request } = *self;
        RequestPlaceKeys { prompt, request }
    }
}

keys! {
    /// `[[change]]`: members of requests that change from one request on.
    pub(crate) struct ChangeKeys {
        /// The first request with the change.
        from: Option<RequestPlace> as Option<Inline<RequestPlace>> = None,
            required_such_as(", a request such as { prompt = 1, request = 2 }"), example("{ prompt = 1, request = 2 }");
        /// Members of the request with their values, as a JSON object.
        set: Json as JsonObjectText = Json::trusted("{}"), example("'{\"temperature\":0}'");
        /// Members that requests no longer have.
        unset: Vec<Arc<str>> = Vec::new(), example("[\"tool_choice\"]");
        /// The names of the tools that requests offer from there on.
        tools: Option<Vec<Arc<str>>> = None, example("[\"Read\"]");
    }
}

impl ConvertedTable for RequestChange {
    type Keys = ChangeKeys;

    fn from_keys(keys: ChangeKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        const CHANGES: [&str; 3] = ["set", "unset", "tools"];
        if !reader.has_any(&CHANGES) {
            reader.lacks(&CHANGES, format!("{} needs `set`, `unset` or `tools`", reader.title()), None);
        }
        check_set(reader, &keys.set);
        check_unset(reader, &keys);
        let ChangeKeys { from, set, unset, tools } = keys;
        Some(Self { from: from?, set, unset, tools })
    }

    fn to_keys(&self) -> ChangeKeys {
        let Self { from, set, unset, tools } = self.clone();
        ChangeKeys { from: Some(from), set, unset, tools }
    }
}

/// The engine would have to make these values up.
fn check_set(reader: &mut TableReader<'_, '_>, set: &Json) {
    let value = set.to_value();
    let is = |name: &str, fits: fn(&serde_json::Value) -> bool| value.get(name).is_none_or(fits);
    let problem = match () {
        () if value.get("messages").is_some() => "`messages` cannot be set; write [[message]] for messages of the host",
        () if !is("model", |model| model.as_str().is_some_and(|model| !model.is_empty())) => "`model` in `set` is the name of a model",
        () if !is("max_tokens", serde_json::Value::is_u64) => "`max_tokens` in `set` is a whole number",
        () if !is("stream", serde_json::Value::is_boolean) => "`stream` in `set` is true or false",
        () if !is("tools", serde_json::Value::is_array) => "`tools` in `set` is an array of definitions",
        () => return,
    };
    reader.value_problem("set", problem.into());
}

/// A member that is taken out can be, and is not set as well.
fn check_unset(reader: &mut TableReader<'_, '_>, keys: &ChangeKeys) {
    for (nth, name) in keys.unset.iter().enumerate() {
        let is_set = keys.set.to_value().get(&**name).is_some() || (&**name == "tools" && keys.tools.is_some());
        let problem = if REQUIRED.contains(&&**name) {
            format!("every request has `{name}`: it cannot be removed")
        } else if is_set || keys.unset[..nth].contains(name) {
            format!("this [[change]] has `{name}` twice; keep one of the two")
        } else {
            continue;
        };
        reader.value_problem("unset", problem);
    }
}

keys! {
    /// `[[message]]`: a message that the host puts into the conversation before a request.
    pub(crate) struct HostMessageKeys {
        /// The request.
        at: Option<RequestPlace> as Option<Inline<RequestPlace>> = None,
            required_such_as(", a request such as { prompt = 1, request = 2 }"), example("{ prompt = 1, request = 2 }");
        /// The role of a message.
        role: Role = Role::User;
        /// Where the message goes.
        place: MessagePlace = MessagePlace::default();
        /// The message.
        content: Option<Content> as Option<Flat<Content>> = None;
    }
}

impl ConvertedTable for HostMessage {
    type Keys = HostMessageKeys;

    fn from_keys(keys: HostMessageKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        let HostMessageKeys { at, role, place, content } = keys;
        Some(Self { at: at?, place, message: Arc::new(Message { role, content: content.unwrap_or_default().0 }) })
    }

    fn to_keys(&self) -> HostMessageKeys {
        let Self { at, place, message } = self;
        HostMessageKeys { at: Some(*at), role: message.role, place: *place, content: Some(Content(message.content.clone())) }
    }
}

/// Holds the entries against each other and against the tools.
pub(crate) fn check(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let session = &scenario.settings.session;
    // They stand in the order in which they come, so that a message that names an entry means the same one.
    if !session.changes.is_sorted_by_key(|change| change.from) {
        reader.value_problem("change", "[[change]] entries stand in the order of their requests: sort them".into());
    }
    if !session.host_messages.is_sorted_by_key(|message| message.at) {
        reader.value_problem("message", "[[message]] entries stand in the order of their requests: sort them".into());
    }
    for (nth, pair) in session.changes.windows(2).enumerate() {
        if let [one, other] = pair
            && one.from == other.from
            && let Some(name) = members(one).into_iter().find(|name| members(other).contains(name))
        {
            let place = reader.entry_place("change", nth + 1);
            let message = format!("two [[change]] entries set `{name}` from the same request on; keep one of them");
            reader.report.value(place, message, None);
        }
    }
    let known: Vec<&str> = scenario.tools.iter().map(|tool| &*tool.definition.name).collect();
    for (nth, change) in session.changes.iter().enumerate() {
        for name in change.tools.iter().flatten().filter(|name| !known.contains(&&***name)) {
            let place = reader.entry_member_place("change", nth, "tools");
            reader.report.unknown(place, "tool", name, "", &known);
        }
    }
}

/// The members of a request that a change is about.
fn members(change: &RequestChange) -> Vec<Arc<str>> {
    let set = change.set.to_value();
    let set = set.as_object().into_iter().flat_map(|set| set.keys().map(|name| Arc::from(name.as_str())));
    set.chain(change.unset.iter().cloned()).chain(change.tools.iter().map(|_| "tools".into())).collect()
}
