//! One exchange as a request and a response: what cassettes of many recorders have in common (K-5).
//!
//! vcrpy, go-vcr, Ruby's VCR and its namesakes, httpmock, opencode's recorder, inline snapshots of the Anthropic SDK and what people
//! write by themselves differ in the names of members and in how a body is written, and never so that one could be taken for another. So
//! each form of a member is known here once, for all recorders.

use super::collect::{FoundExchange, TapeCollector};
use super::parts::{REQUEST_SPELLING, RESPONSE_SPELLING, body, headers, method, plain, status};
use reenact_engine::time::Micros;
use reenact_files::recording::RecordingFormat;
use reenact_files::recording::format::answer_shape;
use reenact_files::recording::node::DataNode;
use reenact_scenario::tape::ResponseEnd;

/// Reads an exchange that a recorder of this format wrote.
pub(super) fn exchange(entry: &DataNode, format: RecordingFormat, collector: &mut TapeCollector) -> Result<FoundExchange, String> {
    let part = |one: &str, other: &str| entry.get(one).or_else(|| entry.get(other)).ok_or_else(|| format!("it has no `{one}`"));
    let (request, response) = (part("request", "when")?, part("response", "then")?);
    // YAML's writers sort the members of what they have parsed.
    let (of_request, of_response) = match format {
        RecordingFormat::Vcrpy | RecordingFormat::GoVcr => ("request key order", "response key order"),
        _ => (REQUEST_SPELLING, RESPONSE_SPELLING),
    };
    if format == RecordingFormat::Httpmock {
        collector.lose("host");
    }
    let found = FoundExchange {
        method: method(request),
        url: url(request),
        request_headers: headers(request.get("headers").or_else(|| request.get("header"))),
        request_body: if is_bare(request) { plain(Some(request), of_request, collector) } else { body(request, of_request, collector)? },
        when: entry.get("recorded_at").and_then(DataNode::text).map(str::to_owned),
        ..FoundExchange::default()
    };
    if *response == DataNode::Null {
        return Ok(FoundExchange { end: Some(ResponseEnd::ClientGone), ..found });
    }
    Ok(FoundExchange {
        status: match format {
            // A mock that names none answers with this one.
            RecordingFormat::Httpmock if response.present("status").is_none() => 200,
            _ if is_bare(response) => 200,
            _ => status(response)?,
        },
        response_headers: headers(response.get("headers").or_else(|| response.get("header"))),
        response_body: if is_bare(response) {
            plain(Some(response), of_response, collector)
        } else {
            body(response, of_response, collector)?
        },
        end_at: response.get("duration").and_then(DataNode::text).and_then(duration),
        ..found
    })
}

/// Whether this is the body itself, without what is around it: a request to the Messages API, its events, or the message of a success.
fn is_bare(part: &DataNode) -> bool {
    match part {
        DataNode::Text(_) => true,
        part => part.get("messages").is_some_and(|messages| messages.list().is_some()) || answer_shape(part) == Some(None),
    }
}

/// The URL, or the path with its query.
fn url(request: &DataNode) -> String {
    let whole = ["uri", "url"].iter().find_map(|name| request.get(name)?.text());
    whole.map_or_else(|| format!("{}{}", request.get("path").and_then(DataNode::text).unwrap_or_default(), query(request)), str::to_owned)
}

/// The parameters as a URL has them, names and values escaped.
fn query(request: &DataNode) -> String {
    let mut query = String::new();
    for (name, value) in headers(request.get("query_param")) {
        query.push(if query.is_empty() { '?' } else { '&' });
        escape(&mut query, &name);
        query.push('=');
        escape(&mut query, &value);
    }
    query
}

fn escape(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
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
    fn k_5_query_parameters_become_a_query() {
        let when = DataNode::from_json(r#"{"query_param":[{"name":"beta","value":"true"},{"name":"a b","value":"ü&"}]}"#).unwrap();
        assert_eq!(query(&when), "?beta=true&a%20b=%C3%BC%26");
        assert_eq!(query(&DataNode::Null), "");
    }

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
