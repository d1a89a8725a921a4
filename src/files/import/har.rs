//! HTTP archives, as browsers, proxies and Polly.js write them (K-5).
//!
//! The order of entries is the writer's, so they are sorted by when they began. A browser's archive holds everything that a page asked for: what is not an
//! endpoint of the API is left out, and counted.

use super::collect::{Collector, Found};
use super::node::Node;
use super::{ShapeError, headers};
use crate::engine::time::Micros;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    collector.lose("chunk times");
    collector.lose("packet boundaries");
    let entries = tree.get("log").and_then(|log| log.get("entries")).and_then(Node::list);
    let entries = entries.ok_or_else(|| ShapeError::at("log.entries", "it is not a list"))?;
    let mut timed: Vec<_> = entries.iter().enumerate().map(|(index, entry)| (started(entry), index, entry)).collect();
    // Entries without a time keep their place behind those that have one; the sort is stable.
    timed.sort_by_key(|(started, ..)| started.unwrap_or(i64::MAX));
    let of_the_api =
        |entry: &Node| entry.get("request").and_then(|request| request.get("url")?.text()).is_some_and(|url| url.contains("/v1/"));
    let others = timed.iter().filter(|(.., entry)| !of_the_api(entry)).count();
    if others > 0 {
        collector.lose(&format!("requests to other services ({others})"));
    }
    timed.retain(|(.., entry)| of_the_api(entry));
    let zero = timed.first().and_then(|(started, ..)| *started);
    if let Some((.., entry)) = timed.first()
        && let Some(when) = entry.get("startedDateTime").and_then(Node::text)
    {
        collector.recorded_at(when);
    }
    for (started, index, entry) in timed {
        let place = format!("log.entries[{index}]");
        let at = started.zip(zero).map(|(at, zero)| Micros(at.abs_diff(zero)));
        let found = entry_found(entry, at, collector).map_err(|problem| ShapeError::at(&place, &problem))?;
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}

fn entry_found(entry: &Node, at: Option<Micros>, collector: &mut Collector) -> Result<Found, String> {
    let request = entry.get("request").ok_or("it has no `request`")?;
    let response = entry.get("response").ok_or("it has no `response`")?;
    let status: i32 = response.get("status").and_then(Node::number).ok_or("`response.status` is not a status")?;
    let (head_at, end_at) = times(entry);
    if at.is_none() {
        collector.lose("request times");
    }
    if end_at.is_none() {
        collector.lose("response times");
    }
    let body = request.get("postData").and_then(|data| data.get("text")).and_then(Node::text).unwrap_or_default();
    let response_body = content(response.get("content").unwrap_or(&Node::Null))?;
    if response_body.is_none() {
        collector.lose("response bodies that the archive leaves out");
    }
    Ok(Found {
        method: request.get("method").and_then(Node::text).unwrap_or("POST").to_owned(),
        url: request.get("url").and_then(Node::text).unwrap_or_default().to_owned(),
        request_headers: headers(request.get("headers")),
        request_body: body.as_bytes().to_vec(),
        // Browsers write 0, and some tools -1, for a request that failed or was given up.
        status: u16::try_from(status).unwrap_or(0),
        response_headers: headers(response.get("headers")),
        response_body: response_body.unwrap_or_default(),
        at,
        head_at,
        end_at,
    })
}

/// The body; `None` when the archive says that there was one and does not have it.
fn content(content: &Node) -> Result<Option<Vec<u8>>, String> {
    let Some(text) = content.present("text").and_then(Node::text) else {
        let size: i64 = content.get("size").and_then(Node::number).unwrap_or(0);
        return Ok((size <= 0).then(Vec::new));
    };
    match content.get("encoding").and_then(Node::text) {
        Some("base64") => {
            let packed: String = text.split_whitespace().collect();
            STANDARD.decode(packed).map(Some).map_err(|error| format!("`response.content.text` is not base64: {error}"))
        }
        _ => Ok(Some(text.as_bytes().to_vec())),
    }
}

/// When the head and the end came, from the request. Polly.js counts the whole answer as waiting, so without a time of receiving
/// nothing is known of the head.
fn times(entry: &Node) -> (Option<Micros>, Option<Micros>) {
    let timing = |name: &str| entry.get("timings").and_then(|timings| timings.get(name)?.number::<f64>()).filter(|ms| *ms >= 0.0);
    let before: f64 = ["blocked", "dns", "connect", "send", "wait"].iter().filter_map(|name| timing(name)).sum();
    let receive = timing("receive").filter(|ms| *ms > 0.0);
    let whole = entry.get("time").and_then(Node::number::<f64>).filter(|ms| *ms > 0.0);
    let micros = |ms: f64| Micros((ms * 1e3).round() as u64);
    (receive.map(|_| micros(before)), whole.or_else(|| receive.map(|receive| before + receive)).map(micros))
}

fn started(entry: &Node) -> Option<i64> {
    entry.get("startedDateTime").and_then(Node::text).and_then(epoch_micros)
}

/// Microseconds since 1970 of `2026-01-30T21:46:14.251Z` or with an offset such as `+01:00`.
fn epoch_micros(text: &str) -> Option<i64> {
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
    fn k_5_times_of_archives() {
        assert_eq!(epoch_micros("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(epoch_micros("2026-01-30T21:46:14.251Z"), Some(1_769_809_574_251_000));
        assert_eq!(epoch_micros("2026-01-30T22:46:14.2510009+01:00"), Some(1_769_809_574_251_000));
        assert_eq!(epoch_micros("2024-02-29T12:00:00-0530"), Some(1_709_227_800_000_000));
        assert_eq!(epoch_micros("yesterday"), None);
    }

    #[test]
    fn k_5_no_head_time_is_invented() {
        let entry = |timings: &str| Node::from_json(&format!(r#"{{"time":3504,"timings":{timings}}}"#)).unwrap();
        assert_eq!(times(&entry(r#"{"blocked":-1,"send":0,"wait":3504,"receive":0}"#)), (None, Some(Micros(3_504_000))));
        assert_eq!(times(&entry(r#"{"blocked":1.5,"dns":-1,"send":0,"wait":2,"receive":7}"#)).0, Some(Micros(3_500)));
    }
}
