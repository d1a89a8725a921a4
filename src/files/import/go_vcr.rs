//! go-vcr cassettes: bodies as text, one duration for each response (K-5).

use super::collect::{Collector, Found};
use super::node::Node;
use super::parts::{ShapeError, body, entries, headers, method, part, text};
use crate::engine::time::Micros;

pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    for lost in ["chunk times", "packet boundaries", "request times"] {
        collector.lose(lost);
    }
    for (place, interaction) in entries(tree, "interactions")? {
        let (request, response) = (part(interaction, &place, "request")?, part(interaction, &place, "response")?);
        let status = response.get("code").and_then(Node::number);
        let found = Found {
            method: method(request),
            url: text(request, "url"),
            request_headers: headers(request.get("headers")),
            request_body: body(request.get("body"), "request key order", collector),
            status: status.ok_or_else(|| ShapeError::at(&place, "`response.code` is not a status"))?,
            response_headers: headers(response.get("headers")),
            response_body: body(response.get("body"), "response key order", collector),
            end_at: response.get("duration").and_then(Node::text).and_then(duration),
            ..Found::default()
        };
        if found.end_at.is_none() {
            collector.lose("response times");
        }
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}

/// `1m2.5s`, `968.753458ms`, as Go writes durations. None measured is written as zero.
fn duration(text: &str) -> Option<Micros> {
    let mut rest = text.trim();
    let mut total = 0_f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += value
            * match &rest[..end] {
                "h" => 3_600e6,
                "m" => 60e6,
                "s" => 1e6,
                "ms" => 1e3,
                "µs" | "μs" | "us" => 1.0,
                "ns" => 1e-3,
                _ => return None,
            };
        rest = &rest[end..];
    }
    (total > 0.0).then(|| Micros(total.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_5_go_durations() {
        let table = [
            ("1.588085084s", Some(1_588_085)),
            ("968.753458ms", Some(968_753)),
            ("1m2.5s", Some(62_500_000)),
            ("2h0m0s", Some(7_200_000_000)),
            ("12.4µs", Some(12)),
            ("0s", None),
            ("", None),
            ("5", None),
            ("soon", None),
        ];
        for (text, micros) in table {
            assert_eq!(duration(text).map(|micros| micros.0), micros, "{text}");
        }
    }
}
