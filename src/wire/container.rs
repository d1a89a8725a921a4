//! The container in which the API's own tools run: answers name it, and a request that names it continues in it.

use serde_json::Value;

use super::json::Json;
use super::raw_json::RawObject;
use super::request::Request;
use crate::prelude::*;

/// The id that a whole answer, or an event of a stream, names; `None` when it names none.
pub fn container_id(json: &str) -> Option<Arc<str>> {
    // Most events do not, and need not be taken apart for that.
    memchr::memmem::find(json.as_bytes(), b"\"container\"")?;
    let value: Value = serde_json::from_str(json).ok()?;
    ["/container/id", "/message/container/id", "/delta/container/id"]
        .into_iter()
        .find_map(|place| value.pointer(place)?.as_str())
        .map(Arc::from)
}

impl Request {
    /// The same in this container, unless it names one.
    #[must_use]
    pub fn with_container(mut self, id: &str) -> Self {
        if let Ok(members) = RawObject::parse(self.extra.as_str())
            && members.get("container").is_none()
        {
            self.extra = Json::trusted(members.with(&[("container", Json::from_value(id).to_string())]));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_11_a_container_is_named_in_whole_answers_and_in_events() {
        for json in [
            r#"{"container":{"id":"c1","expires_at":"x"}}"#,
            r#"{"type":"message_start","message":{"container":{"id":"c1"}}}"#,
            r#"{"type":"message_delta","delta":{"container":{"id":"c1"}}}"#,
        ] {
            assert_eq!(container_id(json).as_deref(), Some("c1"));
        }
        assert_eq!(container_id(r#"{"type":"message_start","message":{"container":null}}"#), None);
        assert_eq!(container_id(r#"{"text":"container"}"#), None);
        let request = Request::new("m", 1).with_container("c1");
        assert_eq!(request.extra.as_str(), r#"{"container":"c1"}"#);
        assert_eq!(request.clone().with_container("c2"), request);
    }
}
