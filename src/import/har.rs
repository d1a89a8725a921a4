//! HTTP archives, as browsers, proxies and Polly.js write them (K-5).
//!
//! The order of entries is the writer's, so they are sorted by when they began.

use super::collect::FoundExchange;
use super::parts::{headers, method};
use reenact_engine::time::Micros;
use reenact_files::recording::base64_text::from_base64;
use reenact_files::recording::node::DataNode;
use reenact_wire::date::rfc3339_epoch_us;

/// Why an entry without its answer's body is of no use, and what to do.
const NO_BODY: &str = "the archive leaves out the answer's body: save it again with the contents of responses, which browsers leave out of streams; \
     or record with `reenact record`";

/// One entry.
pub(super) fn exchange(entry: &DataNode) -> Result<FoundExchange, String> {
    let request = entry.get("request").ok_or("it has no `request`")?;
    let response = entry.get("response").ok_or("it has no `response`")?;
    let status: i32 = response.get("status").and_then(DataNode::number).ok_or("the answer has no HTTP status")?;
    let (head_at, end_at) = times(entry);
    let when = entry.get("startedDateTime").and_then(DataNode::text);
    let post_data = request.get("postData");
    let body = post_data.and_then(|data| data.get("text")).and_then(DataNode::text).unwrap_or_default();
    let request_body = match post_data.and_then(|data| data.get("encoding")).and_then(DataNode::text) {
        Some("base64") => from_base64(body).map_err(|problem| format!("`request.postData.text` is not base64: {problem}"))?,
        _ => body.as_bytes().to_vec(),
    };
    let method = method(request);
    let is_answered = (200..300).contains(&status) && method == "POST";
    let response_body = content(response.get("content").unwrap_or(&DataNode::Null))?;
    Ok(FoundExchange {
        method,
        url: request.get("url").and_then(DataNode::text).unwrap_or_default().to_owned(),
        request_headers: headers(request.get("headers")),
        request_body,
        // Browsers write 0, and some tools -1, for a request that failed or was given up.
        status: u16::try_from(status).unwrap_or(0),
        response_headers: headers(response.get("headers")),
        problem: (is_answered && response_body.is_none()).then_some(NO_BODY),
        response_body: response_body.unwrap_or_default(),
        asked: when.and_then(rfc3339_epoch_us),
        when: when.map(str::to_owned),
        head_at,
        end_at,
        end: None,
    })
}

/// The body; `None` when the archive does not have it. That it says nothing of it does not mean that there was none.
fn content(content: &DataNode) -> Result<Option<Vec<u8>>, String> {
    let Some(text) = content.present("text").and_then(DataNode::text) else { return Ok(None) };
    match content.get("encoding").and_then(DataNode::text) {
        Some("base64") => from_base64(text).map(Some).map_err(|problem| format!("`response.content.text` is not base64: {problem}")),
        _ => Ok(Some(text.as_bytes().to_vec())),
    }
}

/// When the head and the end came, from the request. Polly.js counts the whole answer as waiting, so without a time of receiving
/// nothing is known of the head.
fn times(entry: &DataNode) -> (Option<Micros>, Option<Micros>) {
    let timing = |name: &str| entry.get("timings").and_then(|timings| timings.get(name)?.number::<f64>()).filter(|ms| *ms >= 0.0);
    let before: f64 = ["blocked", "dns", "connect", "send", "wait"].iter().filter_map(|name| timing(name)).sum();
    let receive = timing("receive").filter(|ms| *ms > 0.0);
    let whole = entry.get("time").and_then(DataNode::number::<f64>).filter(|ms| *ms > 0.0);
    let micros = |ms: f64| Micros((ms * 1e3).round() as u64);
    (receive.map(|_| micros(before)), whole.or_else(|| receive.map(|receive| before + receive)).map(micros))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{ImportOptions, import_bytes};
    use reenact_redact::RedactionRules;

    #[test]
    fn k_5_no_head_time_is_invented() {
        let entry = |timings: &str| DataNode::from_json(&format!(r#"{{"time":3504,"timings":{timings}}}"#)).unwrap();
        assert_eq!(times(&entry(r#"{"blocked":-1,"send":0,"wait":3504,"receive":0}"#)), (None, Some(Micros(3_504_000))));
        assert_eq!(times(&entry(r#"{"blocked":1.5,"dns":-1,"send":0,"wait":2,"receive":7}"#)).0, Some(Micros(3_500)));
    }

    #[test]
    fn k_5_a_request_that_is_not_compressed_as_it_says_does_not_cost_the_others() {
        let entry = |encoding: &str, body: &str| {
            serde_json::json!({
                "startedDateTime": "2026-03-02T09:15:00.000Z",
                "request": {
                    "method": "POST",
                    "url": "https://api.anthropic.com/v1/messages",
                    "headers": [{ "name": "content-encoding", "value": encoding }, { "name": "accept", "value": "*/*" }],
                    "postData": { "mimeType": "application/json", "text": body },
                },
                "response": { "status": 200, "headers": [], "content": { "text": "{}" } },
                "timings": {},
            })
        };
        let body = r#"{"model":"m","max_tokens":1,"messages":[]}"#;
        // What is left of compressed bytes that somebody took for text.
        let entries = [entry("br", "\u{1}\u{fffd}\u{fffd}sk-\u{3}garbled"), entry("br", body), entry("identity", body)];
        let har = serde_json::json!({ "log": { "version": "1.2", "creator": {}, "entries": entries } }).to_string();
        let imported = import_bytes(Path::new("x.har"), har.as_bytes(), &ImportOptions::with(&RedactionRules::with(&[]).unwrap())).unwrap();
        let tape = imported.tape();
        let bodies: Vec<&[u8]> = tape.exchanges.iter().map(|exchange| &*exchange.body).collect();
        assert_eq!(bodies, [&b""[..], body.as_bytes(), body.as_bytes()]);
        assert!(tape.exchanges.iter().all(|exchange| exchange.answer.status == 200 && exchange.headers.len() == 1));
        let lost = "request bodies that are not compressed as their headers state";
        assert!(imported.header.lost.iter().any(|known| known == lost), "{:?}", imported.header.lost);
    }
}
