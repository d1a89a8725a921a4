//! The body of one streamed answer, alone (K-5).

use super::collect::{Collector, Found};
use crate::wire::raw::Object;

/// What a recording of answers alone does not have.
pub(super) const LOST: [&str; 6] = ["requests", "status", "request times", "response times", "chunk times", "packet boundaries"];

pub(super) fn read(bytes: &[u8], collector: &mut Collector) -> Result<(), String> {
    LOST.iter().for_each(|lost| collector.lose(lost));
    let mut body = bytes.to_vec();
    let missing = missing_end(bytes);
    if !missing.is_empty() {
        collector.lose("the blank line after the last event, which was added");
        body.extend_from_slice(missing);
    }
    collector.push(answer(body))
}

/// What the last event lacks to be dispatched. Editors strip blank lines from the ends of files; but only after a `message_stop` is it sure that the
/// stream was not cut there.
fn missing_end(bytes: &[u8]) -> &'static [u8] {
    let text = bytes.trim_ascii_end();
    let last_line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let stops =
        last_line.strip_prefix(b"data:").and_then(|data| std::str::from_utf8(data).ok()).and_then(|data| Object::parse(data.trim()).ok());
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

/// An answer whose request is not known: as the API answers when all is well.
pub(super) fn answer(body: Vec<u8>) -> Found {
    Found { method: "POST".into(), url: "/v1/messages".into(), status: 200, response_body: body, ..Found::default() }
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
