//! vcrpy and pytest-recording cassettes: bodies as text, as `!!binary`, or already parsed (K-5).

use super::collect::{Collector, Found};
use super::node::Node;
use super::parts::{ShapeError, UNTIMED, body, entries, headers, method, part, text, wrapped_body};

pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    UNTIMED.iter().for_each(|lost| collector.lose(lost));
    for (place, interaction) in entries(tree, "interactions")? {
        let (request, response) = (part(interaction, &place, "request")?, part(interaction, &place, "response")?);
        let status = response.get("status").and_then(|status| status.get("code").unwrap_or(status).number());
        let found = Found {
            method: method(request),
            url: text(request, "uri"),
            request_headers: headers(request.get("headers")),
            request_body: any_body(request, "request key order", collector).map_err(|what| ShapeError::at(&place, &what))?,
            status: status.ok_or_else(|| ShapeError::at(&place, "`response.status.code` is not a status"))?,
            response_headers: headers(response.get("headers")),
            response_body: any_body(response, "response key order", collector).map_err(|what| ShapeError::at(&place, &what))?,
            ..Found::default()
        };
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}

/// A body in any of its forms; YAML sorts the members of those that were parsed.
fn any_body(message: &Node, lost: &str, collector: &mut Collector) -> Result<Vec<u8>, String> {
    match message.present("parsed_body") {
        Some(parsed) => Ok(body(Some(parsed), lost, collector)),
        None => wrapped_body(message, lost, collector),
    }
}
