//! Requests and answers of Claude on Vertex AI and on Bedrock, put as the Messages API has them (K-5).
//!
//! ```text
//! POST …/models/claude-x@1:streamRawPredict {…,"anthropic_version":"vertex-2023-10-16"}
//!      ──> POST /v1/messages {…,"model":"claude-x@1","stream":true}
//! ```
//!
//! A client of this program has one way to speak to the API, so what is on a tape is put in this way. Everything else stays byte for byte.

use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The path of the Messages API.
pub(super) const PATH: &str = "/v1/messages";

/// The request's body with the model in the place of the cloud's version, and what its path says of streaming. Headers that stand in the
/// body become headers.
pub(super) fn request(body: &str, model: &str, streams: bool, headers: &mut Vec<HttpHeader>) -> Option<String> {
    let object = RawObject::parse(body).ok()?;
    let model = format!("\"model\":{}", Json::from_value(model));
    let mut members = Vec::new();
    let mut put = Some(model).filter(|_| object.get("model").is_none());
    for (name, value) in object.members() {
        match name {
            "anthropic_version" => members.extend(put.take()),
            "anthropic_beta" => headers.extend(beta(value)),
            _ => members.push(format!("{}:{value}", Json::from_value(name))),
        }
    }
    members.extend(put);
    if streams && object.get("stream").is_none() {
        members.push(String::from("\"stream\":true"));
    }
    Some(format!("{{{}}}", members.join(",")))
}

/// `["a","b"]` as the header that it is elsewhere.
fn beta(value: &str) -> Option<HttpHeader> {
    let names: Vec<String> = serde_json::from_str(value).ok()?;
    Some(HttpHeader::new("anthropic-beta", &names.join(",")))
}

/// The answer's headers for a body that was put as server-sent events.
pub(super) fn stream_headers(headers: &mut [HttpHeader]) {
    for header in headers.iter_mut().filter(|header| header.name.eq_ignore_ascii_case("content-type")) {
        header.value = "text/event-stream".into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_5_a_cloud_s_request_is_put_as_the_api_s() {
        let mut headers = Vec::new();
        let body = r#"{"anthropic_version":"bedrock-2023-05-31","max_tokens":1.0,"anthropic_beta":["a","b"],"messages":[ ]}"#;
        assert_eq!(request(body, "m", true, &mut headers).unwrap(), r#"{"model":"m","max_tokens":1.0,"messages":[ ],"stream":true}"#);
        assert_eq!(headers, [HttpHeader::new("anthropic-beta", "a,b")]);
        assert_eq!(request(r#"{"model":"n","stream":false}"#, "m", true, &mut headers).unwrap(), r#"{"model":"n","stream":false}"#);
        assert_eq!(request("[]", "m", true, &mut headers), None);
    }
}
