//! claude-trace logs: whole sessions of Claude Code, one exchange a line (K-5).
//!
//! A line is written when its answer has ended, so lines are sorted by when their requests were made. The recorder takes the answer's time when
//! the head is in (its `fetch` has returned) and `logged_at` when the body is. What was still open when the program ended stands there with
//! `response: null`: a request that never got an answer because the client went away.

use super::collect::{Collector, Found};
use super::node::{Node, SyntaxError};
use super::parts::{REQUEST_SPELLING, RESPONSE_SPELLING, ShapeError, body, epoch_micros, headers, method, part, text};
use crate::engine::time::Micros;
use crate::scenario::tape::End;

/// The values of the lines as one list. The program may have been killed while it wrote the last.
pub(super) fn lines(text: &str, collector: &mut Collector) -> Result<Node, SyntaxError> {
    let mut pairs = Vec::new();
    let text = text.trim_start_matches('\u{feff}');
    let lines: Vec<(usize, &str)> = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).collect();
    for (position, (number, line)) in lines.iter().enumerate() {
        match Node::from_json(line) {
            Ok(pair) => pairs.push(pair),
            Err(_) if position > 0 && position + 1 == lines.len() && !text.ends_with('\n') => collector.lose("the last line, which is cut"),
            Err(error) => return Err(SyntaxError { line: *number, ..error }),
        }
    }
    Ok(Node::List(pairs))
}

/// `tree` is the list of exchanges.
pub(super) fn read(tree: &Node, collector: &mut Collector) -> Result<(), ShapeError> {
    collector.lose("chunk times");
    collector.lose("packet boundaries");
    let pairs = tree.list().unwrap_or_default();
    let asked = |pair: &Node| pair.get("request").and_then(|request| epoch(request.get("timestamp")?));
    let mut timed: Vec<_> = (1..).zip(pairs).map(|(number, pair)| (asked(pair), number, pair)).collect();
    // Requests without a time keep their place behind those that have one; the sort is stable.
    timed.sort_by_key(|(asked, ..)| asked.unwrap_or(i64::MAX));
    let zero = timed.first().and_then(|(asked, ..)| *asked);
    if let Some(when) = pairs.first().and_then(|pair| pair.get("logged_at")?.text()) {
        collector.recorded_at(when);
    }
    for (asked, number, pair) in timed {
        let place = format!("exchange {number}");
        let found = exchange(pair, &place, asked, zero, collector)?;
        collector.push(found).map_err(|problem| ShapeError::at(&place, &problem))?;
    }
    Ok(())
}

/// `asked` and `zero` are microseconds since 1970.
fn exchange(pair: &Node, place: &str, asked: Option<i64>, zero: Option<i64>, collector: &mut Collector) -> Result<Found, ShapeError> {
    let (request, response) = (part(pair, place, "request")?, part(pair, place, "response")?);
    let since = |from: Option<i64>, to: Option<i64>| Some(Micros(u64::try_from(to? - from?).ok()?));
    let found = Found {
        method: method(request),
        url: text(request, "url"),
        request_headers: headers(request.get("headers")),
        request_body: body(request.get("body"), REQUEST_SPELLING, collector),
        at: since(zero, asked),
        end_at: since(asked, pair.get("logged_at").and_then(epoch)),
        ..Found::default()
    };
    if found.at.is_none() {
        collector.lose("request times");
    }
    if found.end_at.is_none() {
        collector.lose("response times");
    }
    if *response == Node::Null {
        return Ok(Found { end: Some(End::ClientGone), ..found });
    }
    let (response_body, end) = answer(response, place, collector)?;
    Ok(Found {
        status: response
            .get("status_code")
            .and_then(Node::number)
            .ok_or_else(|| ShapeError::at(place, "`response.status_code` is not a status"))?,
        response_headers: headers(response.get("headers")),
        head_at: since(asked, response.get("timestamp").and_then(epoch)).filter(|head| found.end_at.is_none_or(|end| *head <= end)),
        response_body,
        end: Some(end),
        ..found
    })
}

/// The body in the form that it has, and how it ended: the recorder writes none of these members when the body could not be read to its end.
fn answer(response: &Node, place: &str, collector: &mut Collector) -> Result<(Vec<u8>, End), ShapeError> {
    if let Some(raw) = response.get("body_raw") {
        return Ok((body(Some(raw), RESPONSE_SPELLING, collector), End::Complete));
    }
    if let Some(events) = response.get("events").and_then(Node::list) {
        collector.lose("the spelling of events: padding and comments");
        let mut stream = String::new();
        for event in events {
            push_event(&mut stream, event).ok_or_else(|| ShapeError::at(place, "`response.events` holds an event without data or type"))?;
        }
        return Ok((stream.into_bytes(), End::Complete));
    }
    match response.get("body") {
        Some(parsed) => Ok((body(Some(parsed), RESPONSE_SPELLING, collector), End::Complete)),
        None => {
            collector.lose("bodies of answers that were cut");
            Ok((Vec::new(), End::Reset))
        }
    }
}

/// One event as the API writes it: from its name and data, or from its data alone, which holds the name as its type.
fn push_event(stream: &mut String, event: &Node) -> Option<()> {
    let data = event.get("data_raw").or_else(|| event.get("data")).unwrap_or(event);
    let json = match data {
        Node::Text(text) => text.clone(),
        data => {
            let mut json = String::new();
            data.push_json(&mut json);
            json
        }
    };
    let kind = event.get("event").or_else(|| data.get("type")).and_then(Node::text)?;
    stream.push_str(&format!("event: {kind}\ndata: {json}\n\n"));
    Some(())
}

/// Microseconds since 1970: seconds as a number, or a date.
fn epoch(time: &Node) -> Option<i64> {
    match time {
        Node::Number(seconds) => {
            let micros = seconds.parse::<f64>().ok()? * 1e6;
            // Half a million years; beyond, the number would not be exact.
            (0.0..1e16).contains(&micros).then(|| micros.round() as i64)
        }
        time => time.text().and_then(epoch_micros),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::import::{Format, ImportOptions};
    use crate::files::redact::Rules;

    fn collector() -> Collector {
        Collector::new(Format::ClaudeTrace, &ImportOptions::with(&Rules::with(&[]).unwrap()))
    }

    fn rebuilt(response: &str) -> (String, End) {
        let (body, end) = answer(&Node::from_json(response).unwrap(), "here", &mut collector()).unwrap();
        (String::from_utf8(body).unwrap(), end)
    }

    #[test]
    fn k_5_events_are_written_as_the_api_writes_them() {
        let table = [
            r#"{"events":[{"event":"ping","data":{"type":"ping"},"timestamp":"t"}]}"#,
            r#"{"events":[{"event":"ping","data":"{\"type\":\"ping\"}"}]}"#,
            r#"{"events":[{"event":"ping","data_raw":"{\"type\":\"ping\"}","data_parsed":{}}]}"#,
            r#"{"events":[{"type":"ping"}]}"#,
        ];
        for response in table {
            assert_eq!(rebuilt(response), ("event: ping\ndata: {\"type\":\"ping\"}\n\n".into(), End::Complete), "{response}");
        }
        assert_eq!(rebuilt(r#"{"body":{"b":1,"a":2}}"#).0, r#"{"b":1,"a":2}"#);
        assert_eq!(rebuilt("{}"), (String::new(), End::Reset), "the recorder could not read it to its end");
        assert!(answer(&Node::from_json(r#"{"events":[{}]}"#).unwrap(), "here", &mut collector()).is_err());
    }

    #[test]
    fn k_5_times_are_seconds_or_dates() {
        assert_eq!(epoch(&Node::Number("1772442900.25".into())), Some(1_772_442_900_250_000));
        assert_eq!(epoch(&Node::Text("2026-03-02T09:15:00.250Z".into())), Some(1_772_442_900_250_000));
        assert_eq!(epoch(&Node::Number("-1".into())).or_else(|| epoch(&Node::Null)), None);
    }
}
