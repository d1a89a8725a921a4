//! What the readers of trees share: lists of exchanges with their places, headers and bodies in the forms that recorders use.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::collect::Collector;
use super::node::Node;

/// Something that a format has and this file lacks.
#[derive(Debug)]
pub(super) struct ShapeError {
    pub(super) place: String,
    pub(super) problem: String,
}

impl ShapeError {
    pub(super) fn at(place: &str, problem: &str) -> Self {
        Self { place: place.to_owned(), problem: problem.to_owned() }
    }
}

/// What a recorder that knows bodies only as wholes does not have, and no times either.
pub(super) const UNTIMED: [&str; 4] = ["chunk times", "packet boundaries", "request times", "response times"];

/// What is lost of a request body that the recorder parsed and wrote again.
pub(super) const REQUEST_SPELLING: &str = "request JSON as it was spelt";

/// What is lost of an answer that the recorder parsed and wrote again.
pub(super) const RESPONSE_SPELLING: &str = "response JSON as it was spelt";

/// The entries of the list `name`, each with its place.
pub(super) fn entries<'a>(tree: &'a Node, name: &str) -> Result<Vec<(String, &'a Node)>, ShapeError> {
    let list = tree.get(name).and_then(Node::list).ok_or_else(|| ShapeError::at(name, "it is not a list"))?;
    Ok(list.iter().enumerate().map(|(index, entry)| (format!("{name}[{index}]"), entry)).collect())
}

/// The member `name` of the entry at `place`.
pub(super) fn part<'a>(entry: &'a Node, place: &str, name: &str) -> Result<&'a Node, ShapeError> {
    entry.get(name).ok_or_else(|| ShapeError::at(place, &format!("it has no `{name}`")))
}

/// A member that is text; empty when it is not there.
pub(super) fn text(node: &Node, name: &str) -> String {
    node.get(name).and_then(Node::text).unwrap_or_default().to_owned()
}

/// The method, for requests that say none that of the API's endpoints.
pub(super) fn method(request: &Node) -> String {
    request.get("method").and_then(Node::text).unwrap_or("POST").to_owned()
}

/// Headers in any of the forms that recorders use: names with a value or a list of values, or a list of pairs of `name` and `value`.
pub(super) fn headers(node: Option<&Node>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    match node {
        Some(Node::Map(members)) => {
            for (name, value) in members {
                let one = std::slice::from_ref(value);
                let values = value.list().unwrap_or(one);
                headers.extend(values.iter().filter_map(Node::text).map(|value| (name.clone(), value.to_owned())));
            }
        }
        Some(Node::List(items)) => {
            let text = |item: &Node, name: &str| item.get(name).and_then(Node::text).map(str::to_owned);
            headers.extend(items.iter().filter_map(|item| Some((text(item, "name")?, text(item, "value")?))));
        }
        _ => (),
    }
    headers
}

/// A body as text, as bytes, or parsed. What was parsed is written as JSON again: the bytes are not those that travelled, and `lost` says so.
pub(super) fn body(body: Option<&Node>, lost: &str, collector: &mut Collector) -> Vec<u8> {
    match body {
        None | Some(Node::Null) => Vec::new(),
        Some(Node::Bytes(bytes)) => bytes.clone(),
        Some(Node::Text(text) | Node::Number(text)) => text.clone().into_bytes(),
        Some(parsed) => {
            collector.lose(lost);
            let mut out = String::new();
            parsed.push_json(&mut out);
            out.into_bytes()
        }
    }
}

/// A body that a cassette puts into a map, under the name of how it is written; or any other body.
pub(super) fn wrapped_body(message: &Node, lost: &str, collector: &mut Collector) -> Result<Vec<u8>, String> {
    let outer = message.get("body");
    let Some(Node::Map(_)) = outer else { return Ok(body(outer, lost, collector)) };
    let inner = |name: &str| outer.and_then(|outer| outer.get(name));
    if let Some(packed) = inner("base64_string").and_then(Node::text) {
        return from_base64(packed).map_err(|problem| format!("`body.base64_string` is not base64: {problem}"));
    }
    let inner = inner("string").or_else(|| inner("content")).ok_or("`body` has neither `string` nor `content`")?;
    Ok(body(Some(inner), lost, collector))
}

/// Bytes of base64 that may be broken into lines.
pub(super) fn from_base64(text: &str) -> Result<Vec<u8>, String> {
    let packed: String = text.split_whitespace().collect();
    STANDARD.decode(packed).map_err(|error| error.to_string())
}

/// Microseconds since 1970 of `2026-01-30T21:46:14.251Z` or with an offset such as `+01:00`.
pub(super) fn epoch_micros(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to).filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let rest = text.get(19..)?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone_at);
    let fraction = fraction.strip_prefix('.').unwrap_or("");
    let micros: i64 = if fraction.is_empty() { 0 } else { format!("{:0<6.6}", fraction).parse().ok()? };
    let offset_minutes = match zone.as_bytes()[0] {
        b'Z' | b'z' => 0,
        sign => {
            let digits: String = zone[1..].chars().filter(char::is_ascii_digit).collect();
            let minutes = digits.get(..2)?.parse::<i64>().ok()? * 60 + digits.get(2..4).unwrap_or("0").parse::<i64>().ok()?;
            if sign == b'-' { -minutes } else { minutes }
        }
    };
    // Days from the civil date, counting years from March so that the leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some((((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second) * 1_000_000 + micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_5_times_of_day() {
        assert_eq!(epoch_micros("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(epoch_micros("2026-01-30T21:46:14.251Z"), Some(1_769_809_574_251_000));
        assert_eq!(epoch_micros("2026-01-30T22:46:14.2510009+01:00"), Some(1_769_809_574_251_000));
        assert_eq!(epoch_micros("2024-02-29T12:00:00-0530"), Some(1_709_227_800_000_000));
        assert_eq!(epoch_micros("yesterday"), None);
    }
}
