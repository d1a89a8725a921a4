//! Inline snapshots of the Anthropic SDK for Python: bodies parsed where they were JSON, each attempt an entry of its own (K-5).

use super::collect::{Collector, Found};
use super::node::Node;
use super::parts::{REQUEST_SPELLING, RESPONSE_SPELLING, ShapeError, UNTIMED, body, headers, method, part, text};

pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    UNTIMED.iter().for_each(|lost| collector.lose(lost));
    for (index, entry) in tree.list().unwrap_or_default().iter().enumerate() {
        let place = format!("[{index}]");
        let (request, response) = (part(entry, &place, "request")?, part(entry, &place, "response")?);
        let found = Found {
            method: method(request),
            url: text(request, "url"),
            request_headers: headers(request.get("headers")),
            request_body: body(request.get("body"), REQUEST_SPELLING, collector),
            status: response
                .get("status_code")
                .and_then(Node::number)
                .ok_or_else(|| ShapeError::at(&place, "`response.status_code` is not a status"))?,
            response_headers: headers(response.get("headers")),
            response_body: body(response.get("body"), RESPONSE_SPELLING, collector),
            ..Found::default()
        };
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}
