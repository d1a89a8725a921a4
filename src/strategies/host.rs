//! Actions of the session's host before requests (S-11): other settings from one request on, messages of its own.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::tools::NAMES;
use super::turns::content;
use super::values::words;
use reenact_engine::settings::{HostMessage, MessagePlace, RequestChange, RequestPlace};
use reenact_wire::block::{Block, Message, Role};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The changes and messages of a host, each list in the order of its requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// The changes of requests.
    pub changes: Vec<RequestChange>,
    /// Its content.
    pub messages: Vec<HostMessage>,
}

/// Some changes and some messages.
pub fn host() -> BoxedStrategy<Host> {
    (vec(change(), 0..3), vec(message(), 0..3))
        .prop_map(|(mut changes, mut messages)| {
            changes.sort_by_key(|change| change.from);
            messages.sort_by_key(|message| message.at);
            Host { changes, messages }
        })
        .boxed()
}

/// Members of requests, some of which were there, and other tools.
pub fn change() -> BoxedStrategy<RequestChange> {
    let set = select(vec![
        r#"{"max_tokens":3000}"#,
        r#"{"max_tokens":12000}"#,
        r#"{"temperature":1}"#,
        r#"{"tool_choice":{"type":"auto"}}"#,
        r#"{"stream":false}"#,
        r#"{"stream":true}"#,
        r#"{"model":"claude-haiku-4-5"}"#,
        r#"{"model":"claude-opus-4-6"}"#,
        r#"{"metadata":{"user_id":"v"},"top_k":9}"#,
        r#"{"system":"Be brief."}"#,
        r#"{"thinking":{"type":"disabled"}}"#,
        "{}",
    ]);
    let unset = subsequence(vec!["metadata", "tool_choice", "system", "thinking"], 0..3);
    let tools = option::weighted(0.3, subsequence(NAMES.to_vec(), 0..NAMES.len()));
    (place(), set, unset, tools)
        .prop_map(|(from, set, unset, tools)| RequestChange {
            from,
            set: Json::trusted(set),
            unset: unset.into_iter().map(Arc::from).collect(),
            tools: tools.map(|tools| tools.into_iter().map(Arc::from).collect()),
        })
        .boxed()
}

/// A message of the host's where the API takes one: nothing stands between tool uses and their results.
pub fn message() -> BoxedStrategy<HostMessage> {
    let anywhere = vec![MessagePlace::Before, MessagePlace::Beside, MessagePlace::After];
    let said = |role| words().prop_map(move |words| (role, MessagePlace::After, vec![Block::text(&words)]));
    let who = prop_oneof![
        3 => (select(anywhere), content()).prop_map(|(place, content)| (Role::User, place, content)),
        1 => said(Role::Assistant),
        1 => said(Role::System),
    ];
    (place(), who)
        .prop_map(|(at, (role, place, content))| {
            let place = if place == MessagePlace::Before && at.request > 1 { MessagePlace::After } else { place };
            HostMessage { at, place, message: Arc::new(Message { role, content }) }
        })
        .boxed()
}

/// One of the first requests.
pub fn place() -> impl Strategy<Value = RequestPlace> {
    (1_u32..3, 1_u32..4).prop_map(|(prompt, request)| RequestPlace { prompt, request })
}
