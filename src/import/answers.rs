//! Answers alone: the body of one streamed answer, its events a line each, a message, or status, headers and body (K-5).

use super::collect::{FoundExchange, TapeCollector};
use super::parts::{RESPONSE_SPELLING, body, headers, status};
use reenact_files::recording::node::DataNode;
use reenact_wire::raw_json::RawObject;

/// The facts that a recording of answers alone does not have.
pub(super) const LOST: [&str; 2] = ["requests", "status"];

/// The body of one streamed answer.
pub(super) fn stream(mut bytes: Vec<u8>, collector: &mut TapeCollector) -> FoundExchange {
    let missing = missing_end(&bytes);
    if !missing.is_empty() {
        collector.lose("the blank line after the last event, which was added");
        bytes.extend_from_slice(missing);
    }
    alone(bytes, collector)
}

/// The answers of a file that holds several, one after another: each begins with a `message_start`.
pub(super) fn each_stream(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut cuts, mut event, mut at) = (Vec::new(), 0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        if ["event: message_start", "event:message_start", "data: {\"type\":\"message_start\"", "data:{\"type\":\"message_start\""]
            .iter()
            .any(|start| text.starts_with(start.as_bytes()))
            && cuts.last() != Some(&event)
        {
            cuts.push(event);
        }
        at += line.len();
        if text.is_empty() {
            event = at;
        }
    }
    // What stands before the first one, say a comment, is a part of it.
    let mut answers = Vec::new();
    let mut from = 0;
    for cut in cuts.into_iter().skip(1).chain([bytes.len()]) {
        answers.push(&bytes[from..cut]);
        from = cut;
    }
    answers
}

/// Appends an event, rebuilt as the API writes it, from its data.
pub(super) fn push_event(stream: &mut String, event: &DataNode, text: Option<&str>) {
    let kind = event.get("type").and_then(DataNode::text).unwrap_or_default();
    // An event's data is one line, however the file breaks it.
    let data = text.filter(|text| !text.contains(['\n', '\r'])).map_or_else(
        || {
            let mut json = String::new();
            event.push_json(&mut json);
            json
        },
        str::to_owned,
    );
    stream.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
}

/// Status, headers and body, without a request.
pub(super) fn answer(node: &DataNode, collector: &mut TapeCollector) -> Result<FoundExchange, String> {
    collector.lose("requests");
    let response_body = body(node, RESPONSE_SPELLING, collector)?;
    Ok(FoundExchange {
        method: "POST".into(),
        status: status(node)?,
        response_headers: headers(node.get("headers")),
        response_body,
        ..FoundExchange::default()
    })
}

/// A body whose request is not known: as the API answers when all is well.
pub(super) fn alone(response_body: Vec<u8>, collector: &mut TapeCollector) -> FoundExchange {
    LOST.iter().for_each(|lost| collector.lose(lost));
    FoundExchange { method: "POST".into(), status: 200, response_body, ..FoundExchange::default() }
}

/// The bytes that the last event lacks to be dispatched. Editors strip blank lines from the ends of files. But only after a `message_stop`
/// it is sure that the stream was not cut there.
fn missing_end(bytes: &[u8]) -> &'static [u8] {
    let text = bytes.trim_ascii_end();
    let last_line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let stops = last_line
        .strip_prefix(b"data:")
        .and_then(|data| std::str::from_utf8(data).ok())
        .and_then(|data| RawObject::parse(data.trim()).ok());
    if stops.is_none_or(|event| event.string("type").as_deref() != Some("message_stop")) {
        return b"";
    }
    let tail = &bytes[text.len()..];
    match tail.iter().filter(|byte| **byte == b'\n').count() {
        0 => b"\n\n",
        1 => b"\n",
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_5_only_a_finished_answer_gets_its_last_line_back() {
        let table: [(&[u8], &[u8]); 6] = [
            (b"data: {\"type\":\"message_stop\"  }", b"\n\n"),
            (b"data: {\"type\":\"message_stop\"}\r\n", b"\n"),
            (b"data: {\"type\":\"message_stop\"}\n\n", b""),
            (b"data: {\"type\":\"message_sto", b""),
            (b"data: {\"type\":\"ping\"}", b""),
            (b"\xff", b""),
        ];
        for (body, missing) in table {
            assert_eq!(missing_end(body), missing, "{}", String::from_utf8_lossy(body));
        }
    }
}
