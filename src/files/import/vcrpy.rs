//! vcrpy and pytest-recording cassettes: bodies as text, as `!!binary`, or already parsed (K-5).

use super::collect::{Collector, Found};
use super::node::Node;
use super::{ShapeError, headers, interactions};

pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    for lost in ["chunk times", "packet boundaries", "request times"] {
        collector.lose(lost);
    }
    for (place, interaction) in interactions(tree)? {
        let request = interaction.get("request").ok_or_else(|| ShapeError::at(&place, "it has no `request`"))?;
        let response = interaction.get("response").ok_or_else(|| ShapeError::at(&place, "it has no `response`"))?;
        let status = response.get("status").and_then(|status| status.get("code").unwrap_or(status).number());
        let found = Found {
            method: request.get("method").and_then(Node::text).unwrap_or("POST").to_owned(),
            url: request.get("uri").and_then(Node::text).unwrap_or_default().to_owned(),
            request_headers: headers(request.get("headers")),
            request_body: body(request, "request key order", collector).map_err(|what| ShapeError::at(&place, &what))?,
            status: status.ok_or_else(|| ShapeError::at(&place, "`response.status.code` is not a status"))?,
            response_headers: headers(response.get("headers")),
            response_body: body(response, "response key order", collector).map_err(|what| ShapeError::at(&place, &what))?,
            ..Found::default()
        };
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}

/// A body in any of its forms. What was parsed is written as JSON again: the bytes are not those that travelled, and that is noted as `lost`.
fn body(message: &Node, lost: &str, collector: &mut Collector) -> Result<Vec<u8>, String> {
    if let Some(parsed) = message.present("parsed_body") {
        collector.lose(lost);
        return Ok(json(parsed));
    }
    let mut body = message.get("body").unwrap_or(&Node::Null);
    if let Node::Map(_) = body {
        let inner = ["string", "base64_string", "content"].iter().find_map(|name| body.get(name));
        body = inner.ok_or("`body` has neither `string` nor `content`")?;
    }
    Ok(match body {
        Node::Null => Vec::new(),
        Node::Bytes(bytes) => bytes.clone(),
        Node::Text(text) | Node::Number(text) => text.clone().into_bytes(),
        parsed => {
            collector.lose(lost);
            json(parsed)
        }
    })
}

fn json(parsed: &Node) -> Vec<u8> {
    let mut out = String::new();
    parsed.push_json(&mut out);
    out.into_bytes()
}
