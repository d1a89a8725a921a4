//! httpmock recordings: a document of `when` and `then` for each exchange, without the host (K-5).

use super::collect::{Collector, Found};
use super::node::Node;
use super::parts::{REQUEST_SPELLING, RESPONSE_SPELLING, ShapeError, UNTIMED, body, from_base64, headers, method, part, text};

/// `tree` is the list of the file's documents.
pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    UNTIMED.iter().chain(&["host"]).for_each(|lost| collector.lose(lost));
    let documents = tree.list().unwrap_or_default();
    // A file may end with `---`.
    for (number, document) in (1..).zip(documents).filter(|(_, document)| **document != Node::Null) {
        let place = format!("document {number}");
        let (when, then) = (part(document, &place, "when")?, part(document, &place, "then")?);
        let status = match then.present("status") {
            Some(status) => status.number().ok_or_else(|| ShapeError::at(&place, "`then.status` is not a status"))?,
            // A mock that names none answers with this one.
            None => 200,
        };
        let found = Found {
            method: method(when),
            url: format!("{}{}", text(when, "path"), query(when)),
            request_headers: headers(when.get("header")),
            request_body: encoded_body(when, REQUEST_SPELLING, collector)
                .map_err(|what| ShapeError::at(&place, &format!("`when.{what}")))?,
            status,
            response_headers: headers(then.get("header")),
            response_body: encoded_body(then, RESPONSE_SPELLING, collector)
                .map_err(|what| ShapeError::at(&place, &format!("`then.{what}")))?,
            ..Found::default()
        };
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}

fn encoded_body(side: &Node, lost: &str, collector: &mut Collector) -> Result<Vec<u8>, String> {
    match (side.get("body_encoding").and_then(Node::text), side.get("body").and_then(Node::text)) {
        (Some("base64"), Some(packed)) => from_base64(packed).map_err(|problem| format!("body` is not base64: {problem}")),
        (Some(other), _) if !["base64", "text", "utf-8", "utf8"].contains(&other) => Err(format!("body_encoding` is not known: {other}")),
        _ => Ok(body(side.get("body"), lost, collector)),
    }
}

/// The parameters as a URL has them, names and values escaped.
fn query(when: &Node) -> String {
    let mut query = String::new();
    for (name, value) in headers(when.get("query_param")) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_5_query_parameters_become_a_query() {
        let when = Node::from_json(r#"{"query_param":[{"name":"beta","value":"true"},{"name":"a b","value":"ü&"}]}"#).unwrap();
        assert_eq!(query(&when), "?beta=true&a%20b=%C3%BC%26");
        assert_eq!(query(&Node::Null), "");
    }
}
