//! Ruby's VCR and its namesakes (R's vcr): bodies as text or base64, the status as a map or a plain number (K-5).

use super::collect::{Collector, Found};
use super::node::Node;
use super::parts::{REQUEST_SPELLING, RESPONSE_SPELLING, ShapeError, UNTIMED, entries, headers, method, part, text, wrapped_body};

pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    // `recorded_at` is in whole seconds and says nothing of how long an answer took.
    UNTIMED.iter().for_each(|lost| collector.lose(lost));
    for (place, interaction) in entries(tree, "http_interactions")? {
        let (request, response) = (part(interaction, &place, "request")?, part(interaction, &place, "response")?);
        if let Some(when) = interaction.get("recorded_at").and_then(Node::text) {
            collector.recorded_at(when);
        }
        let status =
            response.get("status").and_then(|status| status.get("code").or_else(|| status.get("status_code")).unwrap_or(status).number());
        let found = Found {
            // Old cassettes write Ruby's symbols.
            method: method(request).trim_start_matches(':').to_owned(),
            url: text(request, "uri"),
            request_headers: headers(request.get("headers")),
            request_body: wrapped_body(request, REQUEST_SPELLING, collector).map_err(|what| ShapeError::at(&place, &what))?,
            status: status.ok_or_else(|| ShapeError::at(&place, "`response.status` is not a status"))?,
            response_headers: headers(response.get("headers")),
            response_body: wrapped_body(response, RESPONSE_SPELLING, collector).map_err(|what| ShapeError::at(&place, &what))?,
            ..Found::default()
        };
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}
