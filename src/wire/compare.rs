//! Where two requests differ (M-3): a list of paths with both values, without what may differ.
//!
//! Requests are compared as values, so key order and spacing never matter; what else may differ is named in [`VolatileMember`].

use serde_json::{Map, Value};

use crate::prelude::*;

/// The members that may differ between a request and the recorded one, each by its name in scenario files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VolatileMember {
    rules: Vec<VolatileRule>,
}

words! {
    /// One thing that may differ.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum VolatileRule {
        /// Where cache breakpoints stand.
        CacheControl = "cache_control",
        /// `metadata`, which holds ids of user and session.
        Metadata = "metadata",
        /// Text as a string, or as a list of one text block.
        TextShorthand = "text_shorthand",
        /// `is_error: false`, `stream: false`, `cache_control: null`, a result of no text and the like said or left unsaid.
        Defaults = "defaults",
        /// Members that an answer's blocks carry and that clients need not send back (`caller`, empty `citations`).
        Echo = "echo",
        /// Text of white space alone beside other blocks of an assistant message: some clients put it before a tool use.
        BlankText = "blank_text",
    }
}

impl Default for VolatileMember {
    /// All rules: each is something that real clients were seen to do differently with the same meaning.
    fn default() -> Self {
        Self::from_rules(VolatileRule::ALL)
    }
}

impl VolatileMember {
    /// These rules alone.
    pub fn from_rules(rules: impl IntoIterator<Item = VolatileRule>) -> Self {
        Self { rules: rules.into_iter().collect() }
    }

    /// The rules, in the order given.
    pub fn rules(&self) -> &[VolatileRule] {
        &self.rules
    }

    fn has(&self, rule: VolatileRule) -> bool {
        self.rules.contains(&rule)
    }

    /// The request without what may differ.
    #[must_use]
    pub fn normalised(&self, request: Value) -> Value {
        let Value::Object(mut members) = request else { return request };
        if self.has(VolatileRule::Metadata) {
            members.remove("metadata");
        }
        if let Some(system) = members.get_mut("system").filter(|_| self.has(VolatileRule::TextShorthand)) {
            expand_text(system);
        }
        for message in members.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
            self.normalise_message(message);
        }
        let mut request = Value::Object(members);
        self.prune(&mut request, MemberPlace::Request);
        request
    }

    fn normalise_message(&self, message: &mut Value) {
        let is_answer = message.get("role").and_then(Value::as_str) == Some("assistant");
        let Some(content) = message.get_mut("content") else { return };
        if self.has(VolatileRule::TextShorthand) {
            expand_text(content);
            expand_results(content);
        }
        if self.has(VolatileRule::Defaults) {
            drop_empty_results(content);
        }
        if let Some(blocks) = content.as_array_mut().filter(|blocks| is_answer && blocks.len() > 1 && self.has(VolatileRule::BlankText)) {
            let text = |block: &Value| block.get("text").and_then(Value::as_str).map(str::trim).map(str::is_empty);
            blocks.retain(|block| text(block) != Some(true));
        }
    }

    /// Removes members that may differ, except inside tool inputs and schemas, where every member means something.
    fn prune(&self, value: &mut Value, place: MemberPlace) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.prune(item, place)),
            Value::Object(members) => {
                members.retain(|name, member| !self.may_go(name, member, place));
                for (name, member) in members {
                    match name.as_str() {
                        "input" | "input_schema" => (),
                        "messages" | "content" | "system" | "tools" => self.prune(member, MemberPlace::Inside),
                        _ => (),
                    }
                }
            }
            _ => (),
        }
    }

    fn may_go(&self, name: &str, member: &Value, place: MemberPlace) -> bool {
        let default = match name {
            "is_error" | "stream" | "disable_parallel_tool_use" => member == &Value::Bool(false),
            "stop_sequences" | "tools" => member.as_array().is_some_and(Vec::is_empty),
            "cache_control" => member.is_null(),
            _ => false,
        };
        (default && self.has(VolatileRule::Defaults))
            || (name == "cache_control" && self.has(VolatileRule::CacheControl))
            || (place == MemberPlace::Inside && self.has(VolatileRule::Echo) && is_echo(name, member))
    }
}

/// Where in a request a member stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum MemberPlace {
    Request,
    Inside,
}

fn is_echo(name: &str, member: &Value) -> bool {
    match name {
        "caller" => true,
        "citations" => member.is_null() || member.as_array().is_some_and(Vec::is_empty),
        _ => false,
    }
}

/// A string becomes a list of one text block.
fn expand_text(content: &mut Value) {
    if let Value::String(text) = content {
        let mut block = Map::new();
        block.insert(String::from("type"), Value::from("text"));
        block.insert(String::from("text"), Value::String(core::mem::take(text)));
        *content = Value::Array(vec![Value::Object(block)]);
    }
}

fn expand_results(content: &mut Value) {
    for block in content.as_array_mut().into_iter().flatten() {
        if block.get("type").and_then(Value::as_str) == Some("tool_result")
            && let Some(inner) = block.get_mut("content")
        {
            expand_text(inner);
        }
    }
}

/// A result without content is the same as one of no text.
fn drop_empty_results(content: &mut Value) {
    for block in content.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        let is_result = block.get("type").and_then(Value::as_str) == Some("tool_result");
        let is_empty = block.get("content").is_some_and(|content| match content {
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.iter().all(|item| item.get("text").and_then(Value::as_str) == Some("")),
            other => other.is_null(),
        });
        if is_result && is_empty {
            block.remove("content");
        }
    }
}

/// One place where two requests differ.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct BodyDifference {
    /// Where, e.g. `messages[2].content[0].text`.
    pub path: String,
    /// The recorded value; `None` when only the sent request has one.
    pub recorded: Option<Value>,
    /// The sent value; `None` when only the recorded request has one.
    pub sent: Option<Value>,
}

/// All places where two normalised requests differ, outermost first, in the order of the paths.
pub fn differences(recorded: &Value, sent: &Value) -> Vec<BodyDifference> {
    let mut found = Vec::new();
    walk(&mut String::new(), Some(recorded), Some(sent), &mut found);
    found
}

fn walk(path: &mut String, recorded: Option<&Value>, sent: Option<&Value>, found: &mut Vec<BodyDifference>) {
    match (recorded, sent) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let mut names: Vec<&String> = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name))).collect();
            names.sort();
            for name in names {
                let dot = if path.is_empty() { "" } else { "." };
                at(path, &format!("{dot}{name}"), |path| walk(path, left.get(name), right.get(name), found));
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                at(path, &format!("[{index}]"), |path| walk(path, left.get(index), right.get(index), found));
            }
        }
        (left, right) if same(left, right) => (),
        (left, right) => found.push(BodyDifference { path: path.clone(), recorded: left.cloned(), sent: right.cloned() }),
    }
}

/// Numbers are the same when their values are: `1` and `1.0`.
fn same(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::Number(left)), Some(Value::Number(right))) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

fn at(path: &mut String, step: &str, body: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(step);
    body(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(volatile: &VolatileMember, recorded: &str, sent: &str) -> Vec<String> {
        let read = |text: &str| volatile.normalised(serde_json::from_str(text).unwrap());
        differences(&read(recorded), &read(sent)).into_iter().map(|difference| difference.path).collect()
    }

    #[test]
    fn m_3_a_difference_is_named_by_its_path() {
        let recorded = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":1.0}"#;
        let sent = r#"{"model":"n","messages":[{"role":"user","content":[{"type":"text","text":"ho"}]},{"role":"user","content":"x"}],"temperature":1}"#;
        assert_eq!(compare(&VolatileMember::default(), recorded, sent), ["messages[0].content[0].text", "messages[1]", "model"]);
    }

    #[test]
    fn m_3_volatile_fields_may_differ_and_only_they() {
        let recorded = r#"{"metadata":{"user_id":"a"},"messages":[{"role":"user","content":[{"type":"tool_result","is_error":false,"content":"x","cache_control":{"type":"ephemeral"}}]}]}"#;
        let sent = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"x"}]}]}]}"#;
        assert!(compare(&VolatileMember::default(), recorded, sent).is_empty());
        assert_eq!(compare(&VolatileMember::from_rules([]), recorded, sent).len(), 4);
    }

    #[test]
    fn m_3_blank_text_beside_a_tool_use_may_differ_and_other_text_may_not() {
        let of = |text: &str| {
            format!(r#"{{"messages":[{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"tool_use"}}]}}]}}"#)
        };
        let without = r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use"}]}]}"#;
        assert!(compare(&VolatileMember::default(), &of(" "), without).is_empty());
        assert!(!compare(&VolatileMember::default(), &of("x"), without).is_empty());
        assert!(!compare(&VolatileMember::from_rules([]), &of(" "), without).is_empty());
    }

    #[test]
    fn m_3_a_result_of_no_text_may_be_left_unsaid() {
        let of = |content: &str| format!(r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result"{content}}}]}}]}}"#);
        for empty in [r#","content":[]"#, r#","content":[{"type":"text","text":""}]"#] {
            assert!(compare(&VolatileMember::default(), &of(""), &of(empty)).is_empty(), "{empty}");
        }
        assert!(!compare(&VolatileMember::default(), &of(""), &of(r#","content":"x""#)).is_empty());
    }

    #[test]
    fn m_3_members_of_a_tool_input_are_never_volatile() {
        let of = |caller: &str| format!(r#"{{"messages":[{{"content":[{{"type":"tool_use","input":{{"caller":{caller}}}}}]}}]}}"#);
        assert_eq!(compare(&VolatileMember::default(), &of("1"), &of("2")), ["messages[0].content[0].input.caller"]);
    }
}
