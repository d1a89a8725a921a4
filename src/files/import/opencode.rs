//! opencode's http-recorder, version 1, with and without `transport` (K-5).
//!
//! A cassette may also hold web sockets. No client of the Messages API uses them, so they are left out, and counted.

use super::collect::{Collector, Found};
use super::node::Node;
use super::parts::{REQUEST_SPELLING, RESPONSE_SPELLING, ShapeError, UNTIMED, body, entries, from_base64, headers, method, part, text};

pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    UNTIMED.iter().for_each(|lost| collector.lose(lost));
    if let Some(when) = tree.get("metadata").and_then(|metadata| metadata.get("recordedAt")?.text()) {
        collector.recorded_at(when);
    }
    let all = entries(tree, "interactions")?;
    let count = all.len();
    let http: Vec<_> = all.into_iter().filter(|(_, entry)| entry.get("transport").and_then(Node::text) != Some("websocket")).collect();
    match count - http.len() {
        0 => (),
        sockets if sockets == count => return Err(ShapeError::at("interactions", "it holds web sockets only, which are not imported")),
        sockets => collector.lose(&format!("web sockets ({sockets})")),
    }
    for (place, interaction) in http {
        let (request, response) = (part(interaction, &place, "request")?, part(interaction, &place, "response")?);
        let response_body = match (response.get("bodyEncoding").and_then(Node::text), response.get("body").and_then(Node::text)) {
            (Some("base64"), Some(packed)) => {
                from_base64(packed).map_err(|problem| ShapeError::at(&place, &format!("`response.body` is not base64: {problem}")))?
            }
            _ => body(response.get("body"), RESPONSE_SPELLING, collector),
        };
        let found = Found {
            method: method(request),
            url: text(request, "url"),
            request_headers: headers(request.get("headers")),
            request_body: body(request.get("body"), REQUEST_SPELLING, collector),
            status: response
                .get("status")
                .and_then(Node::number)
                .ok_or_else(|| ShapeError::at(&place, "`response.status` is not a status"))?,
            response_headers: headers(response.get("headers")),
            response_body,
            ..Found::default()
        };
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}
