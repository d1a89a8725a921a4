//! The facts about a request that a timeline needs, taken from its body without keeping it.

use twox_hash::XxHash3_128;

use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};

/// The facts about one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestFacts {
    pub(crate) model: Arc<str>,
    /// How many messages it has.
    pub(crate) messages: usize,
    /// The tool results behind the last answer in it, each with the place of its message.
    pub(crate) results: Vec<SentResult>,
    pub(crate) keys: RequestKeys,
}

/// By these requests are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestKeys {
    /// The exchange whose conversation it extends, as the recording says it.
    pub(crate) parent: Option<String>,
    /// Equal for equal bodies.
    pub(crate) body: u128,
    /// Equal for the same messages under the same system prompt and tools, whatever else is asked for.
    pub(crate) conversation: u128,
    /// Equal for the same system prompt and tools.
    pub(crate) setting: u128,
}

/// A tool result as a request has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentResult {
    pub(crate) id: Arc<str>,
    pub(crate) is_error: bool,
    /// The place of its message among those of the request.
    pub(crate) message: usize,
}

impl RequestFacts {
    /// Of this body; one that is no request has nothing but its hash.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        let keys = RequestKeys { body: XxHash3_128::oneshot(body), ..RequestKeys::default() };
        let Some(request) = core::str::from_utf8(body).ok().and_then(|text| RawObject::parse(text).ok()) else {
            return Self { keys, ..Self::default() };
        };
        let part = |name: &str| request.get(name).unwrap_or("null");
        let messages = elements(part("messages")).unwrap_or_default();
        let hash = |texts: &[&str]| texts.iter().fold(0, |sum: u128, text| sum.rotate_left(7) ^ XxHash3_128::oneshot(text.as_bytes()));
        let setting = hash(&[part("system"), part("tools")]);
        Self {
            model: request.string("model").as_deref().unwrap_or_default().into(),
            messages: messages.len(),
            results: new_results(&messages),
            keys: RequestKeys { conversation: setting.rotate_left(7) ^ hash(&[part("messages")]), setting, ..keys },
        }
    }
}

impl RequestFacts {
    /// Whether it asks for what another request of its thread asked for: the same conversation, or as many messages for another model, which may not be
    /// able to read all of them (M-3).
    pub(crate) fn asks_the_same(&self, other: &Self) -> bool {
        let is_for_another_model = self.messages == other.messages && self.model != other.model;
        self.messages > 0 && (self.keys.conversation == other.keys.conversation || is_for_another_model)
    }
}

/// The results behind the last answer: those before it were sent with an earlier request.
fn new_results(messages: &[&str]) -> Vec<SentResult> {
    let role = |message: &str| RawObject::parse(message).ok().and_then(|message| message.string("role").map(Cow::into_owned));
    let behind_answer = messages.iter().rposition(|message| role(message).as_deref() == Some("assistant")).map_or(0, |place| place + 1);
    let mut results = Vec::new();
    for (place, message) in messages.iter().enumerate().skip(behind_answer) {
        let content = RawObject::parse(message).ok().and_then(|message| elements(message.get("content")?).ok());
        for block in content.unwrap_or_default() {
            let Ok(block) = RawObject::parse(block) else { continue };
            if block.string("type").as_deref() == Some("tool_result")
                && let Some(id) = block.string("tool_use_id")
            {
                results.push(SentResult { id: id.as_ref().into(), is_error: block.get("is_error") == Some("true"), message: place });
            }
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_8_results_behind_the_last_answer_are_new() {
        let result = |id: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x","is_error":true}}"#);
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{}]}},{{"role":"assistant","content":"a"}},{{"role":"user","content":[{},{}]}}]}}"#,
            result("old"),
            result("b"),
            result("a"),
        );
        let facts = RequestFacts::from_body(body.as_bytes());
        let ids: Vec<&str> = facts.results.iter().map(|result| &*result.id).collect();
        assert_eq!((ids, &*facts.model, facts.messages), (vec!["b", "a"], "m", 3));
        assert!(facts.results.iter().all(|result| result.is_error && result.message == 2));
    }

    #[test]
    fn v_8_another_model_is_the_same_conversation() {
        let facts = |text: &str| RequestFacts::from_body(text.as_bytes());
        let one = facts(r#"{"model":"a","messages":[{"role":"user","content":"x"}]}"#);
        let other = facts(r#"{"model":"b","messages":[{"role":"user","content":"x"}]}"#);
        assert!(one.keys.conversation == other.keys.conversation && one.keys.body != other.keys.body);
        let with_system = facts(r#"{"model":"a","system":"s","messages":[{"role":"user","content":"x"}]}"#);
        assert_ne!(one.keys.conversation, with_system.keys.conversation);
        assert_eq!(facts("no json").messages, 0);
    }
}
