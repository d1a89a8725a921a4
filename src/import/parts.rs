//! Common parts of the readers of exchanges: methods, statuses, headers and bodies in the forms of the recorders.

use super::collect::TapeCollector;
use reenact_files::recording::base64_text::from_base64;
use reenact_files::recording::node::DataNode;

/// The loss in a request body that the recorder parsed and wrote again.
pub(super) const REQUEST_SPELLING: &str = "request JSON as it was spelt";

/// The loss in an answer that the recorder parsed and wrote again.
pub(super) const RESPONSE_SPELLING: &str = "response JSON as it was spelt";

/// A member that is text; empty when it is not there.
pub(super) fn text(node: &DataNode, name: &str) -> String {
    node.get(name).and_then(DataNode::text).unwrap_or_default().to_owned()
}

/// The method, for requests that say none that of the API's endpoints. Old cassettes write Ruby's symbols.
pub(super) fn method(request: &DataNode) -> String {
    request.get("method").and_then(DataNode::text).unwrap_or("POST").trim_start_matches(':').to_owned()
}

/// Headers in any of the forms that recorders use: names with a value or a list of values, or a list of pairs of `name` and `value`.
pub(super) fn headers(node: Option<&DataNode>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    match node {
        Some(DataNode::Map(members)) => {
            for (name, value) in members {
                let one = std::slice::from_ref(value);
                let values = value.list().unwrap_or(one);
                headers.extend(values.iter().filter_map(DataNode::text).map(|value| (name.clone(), value.to_owned())));
            }
        }
        Some(DataNode::List(items)) => {
            let text = |item: &DataNode, name: &str, position: usize| {
                item.get(name).or_else(|| item.list().and_then(|pair| pair.get(position))).and_then(DataNode::text).map(str::to_owned)
            };
            headers.extend(items.iter().filter_map(|item| Some((text(item, "name", 0)?, text(item, "value", 1)?))));
        }
        _ => (),
    }
    headers
}

/// The status of an answer: a number, text that begins with it, or either in a map.
pub(super) fn status(response: &DataNode) -> Result<u16, String> {
    let members = ["code", "status", "status_code", "statusCode"];
    let numbers = |node: &DataNode| members.iter().find_map(|name| number(node.get(name)?));
    let status = numbers(response).or_else(|| response.get("status").and_then(numbers));
    status.ok_or_else(|| String::from("the answer has no HTTP status"))
}

fn number(node: &DataNode) -> Option<u16> {
    node.text().and_then(|text| text.split(' ').next()?.parse().ok())
}

/// The members that a map has around a body.
const WRAPPERS: [&str; 11] =
    ["string", "base64_string", "content", "text", "data", "base64", "b64", "encoding", "type", "mimeType", "size"];

/// The body of a message in any of the forms that recorders use: text, bytes, parsed, in a map under the name of how it is written, or under a
/// name that says so itself. What was parsed is written as JSON again: the bytes are not those that travelled, and `lost` says so.
pub(super) fn body(message: &DataNode, lost: &str, collector: &mut TapeCollector) -> Result<Vec<u8>, String> {
    if let Some(parsed) = message.present("parsed_body").or_else(|| message.present("jsonBody")) {
        return Ok(plain(Some(parsed), lost, collector));
    }
    if let Some(packed) = message.get("base64Body").and_then(DataNode::text) {
        return from_base64(packed).map_err(|problem| format!("`base64Body` is not base64: {problem}"));
    }
    let outer = message.present("body_raw").or_else(|| message.get("body"));
    let encoding = ["bodyEncoding", "body_encoding"].iter().find_map(|name| message.get(name)?.text());
    let is_base64 = message.get("isBase64Encoded").and_then(DataNode::text) == Some("true");
    match outer {
        Some(DataNode::Map(members)) if is_wrapper(members) => wrapped(outer, lost, collector),
        _ => coded(outer, encoding.or(is_base64.then_some("base64")), lost, collector),
    }
}

/// Whether a map is around a body, and not the body, parsed.
fn is_wrapper(members: &[(String, DataNode)]) -> bool {
    members.iter().all(|(name, _)| WRAPPERS.contains(&name.as_str()))
        && members.iter().any(|(name, _)| WRAPPERS[..7].contains(&name.as_str()))
}

fn wrapped(outer: Option<&DataNode>, lost: &str, collector: &mut TapeCollector) -> Result<Vec<u8>, String> {
    let inner = |name: &&str| outer.and_then(|outer| outer.get(name));
    if let Some(packed) = ["base64_string", "base64", "b64"].iter().find_map(inner).and_then(DataNode::text) {
        return from_base64(packed).map_err(|problem| format!("the body is not base64: {problem}"));
    }
    // Ruby's VCR writes the name of a character set.
    let encoding = inner(&"encoding").or_else(|| inner(&"type")).and_then(DataNode::text).filter(|encoding| *encoding == "base64");
    coded(["string", "content", "text", "data"].iter().find_map(inner), encoding, lost, collector)
}

fn coded(body: Option<&DataNode>, encoding: Option<&str>, lost: &str, collector: &mut TapeCollector) -> Result<Vec<u8>, String> {
    match (encoding, body.and_then(DataNode::text)) {
        (Some("base64"), Some(packed)) => from_base64(packed).map_err(|problem| format!("the body is not base64: {problem}")),
        (Some(other), _) if !["base64", "text", "utf-8", "utf8", "json"].contains(&other) => {
            Err(format!("the body has an unknown encoding: {other}"))
        }
        _ => Ok(plain(body, lost, collector)),
    }
}

/// A body as text, as bytes, or parsed.
pub(super) fn plain(body: Option<&DataNode>, lost: &str, collector: &mut TapeCollector) -> Vec<u8> {
    match body {
        None | Some(DataNode::Null) => Vec::new(),
        Some(DataNode::Bytes(bytes)) => bytes.clone(),
        Some(DataNode::Text(text) | DataNode::Number(text)) => text.clone().into_bytes(),
        Some(parsed) => {
            collector.lose(lost);
            let mut out = String::new();
            parsed.push_json(&mut out);
            out.into_bytes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImportOptions;
    use reenact_redact::RedactionRules;

    fn read(message: &str) -> Result<String, String> {
        let mut collector = TapeCollector::new(&ImportOptions::with(&RedactionRules::with(&[]).unwrap()));
        body(&DataNode::from_json(message).unwrap(), "", &mut collector).map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn k_5_a_body_is_found_in_each_form() {
        let hello = [
            r#"{"body":"hello"}"#,
            r#"{"body":{"string":"hello"}}"#,
            r#"{"body":{"encoding":"UTF-8","string":"hello"}}"#,
            r#"{"body":{"encoding":"ASCII-8BIT","base64_string":"aGVs\nbG8=\n"}}"#,
            r#"{"body":{"type":"text","content":"hello"}}"#,
            r#"{"body":{"encoding":"base64","string":"aGVsbG8"}}"#,
            r#"{"body":{"b64":"aGVsbG8="}}"#,
            r#"{"body":"aGVsbG8=","bodyEncoding":"base64"}"#,
            r#"{"body":"aGVsbG8=","body_encoding":"base64"}"#,
            r#"{"body":"aGVsbG8=","isBase64Encoded":true}"#,
            r#"{"body":"hello","isBase64Encoded":false}"#,
            r#"{"body_raw":"hello"}"#,
            r#"{"base64Body":"aGVsbG8="}"#,
        ];
        for message in hello {
            assert_eq!(read(message).unwrap(), "hello", "{message}");
        }
        let parsed = [r#"{"body":{"type":"message","id":1}}"#, r#"{"parsed_body":{"type":"message","id":1},"body":null}"#];
        for message in parsed {
            assert_eq!(read(message).unwrap(), r#"{"type":"message","id":1}"#, "{message}");
        }
        assert_eq!(read("{}").unwrap(), "");
        assert!(read(r#"{"body":"x","bodyEncoding":"rot13"}"#).unwrap_err().contains("rot13"));
        assert!(read(r#"{"body":{"base64_string":"?"}}"#).unwrap_err().contains("not base64"));
    }

    #[test]
    fn k_5_a_status_is_found_in_each_form() {
        let table = [
            r#"{"status":200}"#,
            r#"{"status":"200"}"#,
            r#"{"status":{"code":200,"message":"OK"}}"#,
            r#"{"status":{"status_code":200}}"#,
            r#"{"status_code":200}"#,
            r#"{"statusCode":200}"#,
            r#"{"status":"200 OK","code":200}"#,
        ];
        for response in table {
            assert_eq!(status(&DataNode::from_json(response).unwrap()), Ok(200), "{response}");
        }
        assert!(status(&DataNode::from_json(r#"{"status":"fine"}"#).unwrap()).is_err());
    }
}
