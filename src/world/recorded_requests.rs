//! Recorded requests as they are compared with those that a run makes.
//!
//! Each request of a loop repeats the conversation before it. So the common part of two requests is held once, and a recording takes as much
//! memory as there is different in it.

use alloc::collections::BTreeMap;

use serde_json::Value;
use twox_hash::XxHash3_128;

use reenact_wire::prelude::*;

/// A recorded request without what may differ.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedRequest {
    /// One with a list of messages.
    Conversation {
        /// Its other members.
        frame: BTreeMap<String, Arc<Value>>,
        /// Its messages.
        messages: Vec<Arc<Value>>,
    },
    /// Anything else.
    Other(Value),
}

/// A digest of a request's text: most requests of a replay are the recorded ones to the letter, and need not be read to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestDigest(u128);

impl RequestDigest {
    pub(crate) fn new(body: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(body))
    }
}

impl RecordedRequest {
    /// The system prompt and the first message, as a request has them.
    pub(crate) fn beginning(&self) -> Option<Value> {
        let Self::Conversation { frame, messages } = self else { return None };
        let system = frame.get("system").map_or(Value::Null, |system| Value::clone(system));
        let first: Vec<Value> = messages.first().map(|message| Value::clone(message)).into_iter().collect();
        Some(serde_json::json!({ "system": system, "messages": first }))
    }

    /// Of a body; `before` is the request before it.
    pub(crate) fn new(mut body: Value, before: Option<&Self>) -> Self {
        let messages = match body.get_mut("messages") {
            Some(Value::Array(messages)) => core::mem::take(messages),
            _ => return Self::Other(body),
        };
        let Value::Object(mut members) = body else { return Self::Other(body) };
        members.remove("messages");
        let known = match before {
            Some(Self::Conversation { frame, messages }) => Some((frame, messages)),
            Some(Self::Other(_)) | None => None,
        };
        let message = |(index, message): (usize, Value)| shared(message, known.and_then(|(_, messages)| messages.get(index)));
        let member = |(name, value): (String, Value)| {
            let value = shared(value, known.and_then(|(frame, _)| frame.get(&name)));
            (name, value)
        };
        Self::Conversation {
            frame: members.into_iter().map(member).collect(),
            messages: messages.into_iter().enumerate().map(message).collect(),
        }
    }

    /// The whole of it.
    #[doc(hidden)]
    pub fn value(&self) -> Value {
        match self {
            Self::Conversation { frame, messages } => {
                let mut members: serde_json::Map<String, Value> =
                    frame.iter().map(|(name, value)| (name.clone(), Value::clone(value))).collect();
                members.insert("messages".into(), messages.iter().map(|message| Value::clone(message)).collect());
                Value::Object(members)
            }
            Self::Other(value) => value.clone(),
        }
    }
}

fn shared(value: Value, before: Option<&Arc<Value>>) -> Arc<Value> {
    match before {
        Some(before) if **before == value => before.clone(),
        _ => Arc::new(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn k_5_what_a_request_repeats_is_held_once() {
        let first = json!({ "model": "m", "system": "s", "messages": [{ "role": "user", "content": "hi" }] });
        let mut second = first.clone();
        second["model"] = json!("n");
        second["messages"].as_array_mut().unwrap().push(json!({ "role": "assistant", "content": "yes" }));
        let held = RecordedRequest::new(first.clone(), None);
        let next = RecordedRequest::new(second.clone(), Some(&held));
        let parts = |request: &RecordedRequest| match request {
            RecordedRequest::Conversation { frame, messages } => (frame["system"].clone(), frame["model"].clone(), messages[0].clone()),
            RecordedRequest::Other(value) => panic!("{value}"),
        };
        let (held_parts, next_parts) = (parts(&held), parts(&next));
        assert!(Arc::ptr_eq(&held_parts.0, &next_parts.0) && Arc::ptr_eq(&held_parts.2, &next_parts.2));
        assert!(!Arc::ptr_eq(&held_parts.1, &next_parts.1));
        assert_eq!((held.value(), next.value()), (first, second));
        for other in [json!({ "messages": "hi" }), json!({}), json!(["messages"])] {
            assert_eq!(RecordedRequest::new(other.clone(), Some(&held)).value(), other);
        }
    }
}
