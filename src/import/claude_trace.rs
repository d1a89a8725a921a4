//! claude-trace logs: whole sessions of Claude Code, one exchange a line (K-5).
//!
//! A line is written when its answer has ended, so lines are sorted by when their requests were made. The recorder takes the answer's time when
//! the head is in (its `fetch` has returned) and `logged_at` when the body is. What was still open when the program ended stands there with
//! `response: null`: a request that never got an answer because the client went away.

use super::collect::{FoundExchange, TapeCollector};
use super::parts::{REQUEST_SPELLING, RESPONSE_SPELLING, body, headers, method, status, text};
use reenact_engine::time::Micros;
use reenact_files::recording::node::DataNode;
use reenact_scenario::tape::ResponseEnd;
use reenact_wire::date::rfc3339_epoch_us;

/// One line.
pub(super) fn exchange(pair: &DataNode, collector: &mut TapeCollector) -> Result<FoundExchange, String> {
    let request = pair.get("request").ok_or("it has no `request`")?;
    let response = pair.get("response").ok_or("it has no `response`")?;
    let asked = request.get("timestamp").and_then(epoch);
    let since = |to: Option<i64>| Some(Micros(u64::try_from(to? - asked?).ok()?));
    let found = FoundExchange {
        method: method(request),
        url: text(request, "url"),
        request_headers: headers(request.get("headers")),
        request_body: body(request, REQUEST_SPELLING, collector)?,
        asked,
        when: pair.get("logged_at").and_then(DataNode::text).map(str::to_owned),
        end_at: since(pair.get("logged_at").and_then(epoch)),
        ..FoundExchange::default()
    };
    if *response == DataNode::Null {
        return Ok(FoundExchange { end: Some(ResponseEnd::ClientGone), ..found });
    }
    let (response_body, end) = answer(response, collector)?;
    Ok(FoundExchange {
        status: status(response)?,
        response_headers: headers(response.get("headers")),
        head_at: since(response.get("timestamp").and_then(epoch)).filter(|head| found.end_at.is_none_or(|end| *head <= end)),
        response_body,
        end: Some(end),
        ..found
    })
}

/// The body in the form that it has, and how it ended: the recorder writes none of these members when the body could not be read to its end.
fn answer(response: &DataNode, collector: &mut TapeCollector) -> Result<(Vec<u8>, ResponseEnd), String> {
    if let Some(events) = response.get("events").and_then(DataNode::list) {
        collector.lose("the spelling of events: padding and comments");
        let mut stream = String::new();
        for event in events {
            push_event(&mut stream, event).ok_or("`response.events` holds an event without data or type")?;
        }
        return Ok((stream.into_bytes(), ResponseEnd::Complete));
    }
    if response.get("body_raw").or_else(|| response.get("body")).is_none() {
        collector.lose("bodies of answers that were cut");
        return Ok((Vec::new(), ResponseEnd::Reset));
    }
    Ok((body(response, RESPONSE_SPELLING, collector)?, ResponseEnd::Complete))
}

/// One event as the API writes it: from its name and data, or from its data alone, which holds the name as its type.
fn push_event(stream: &mut String, event: &DataNode) -> Option<()> {
    let data = event.get("data_raw").or_else(|| event.get("data")).unwrap_or(event);
    let json = match data {
        DataNode::Text(text) => text.clone(),
        data => {
            let mut json = String::new();
            data.push_json(&mut json);
            json
        }
    };
    let kind = event.get("event").or_else(|| data.get("type")).and_then(DataNode::text)?;
    stream.push_str(&format!("event: {kind}\ndata: {json}\n\n"));
    Some(())
}

/// Microseconds since 1970: seconds as a number, or a date.
fn epoch(time: &DataNode) -> Option<i64> {
    match time {
        DataNode::Number(seconds) => {
            let micros = seconds.parse::<f64>().ok()? * 1e6;
            // Half a million years; beyond, the number would not be exact.
            (0.0..1e16).contains(&micros).then(|| micros.round() as i64)
        }
        time => time.text().and_then(rfc3339_epoch_us),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImportOptions;
    use reenact_redact::RedactionRules;

    fn collector() -> TapeCollector {
        TapeCollector::new(&ImportOptions::with(&RedactionRules::with(&[]).unwrap()))
    }

    fn rebuilt(response: &str) -> (String, ResponseEnd) {
        let (body, end) = answer(&DataNode::from_json(response).unwrap(), &mut collector()).unwrap();
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
            assert_eq!(rebuilt(response), ("event: ping\ndata: {\"type\":\"ping\"}\n\n".into(), ResponseEnd::Complete), "{response}");
        }
        assert_eq!(rebuilt(r#"{"body":{"b":1,"a":2}}"#).0, r#"{"b":1,"a":2}"#);
        assert_eq!(rebuilt("{}"), (String::new(), ResponseEnd::Reset), "the recorder could not read it to its end");
        assert!(answer(&DataNode::from_json(r#"{"events":[{}]}"#).unwrap(), &mut collector()).is_err());
    }

    #[test]
    fn k_5_times_are_seconds_or_dates() {
        assert_eq!(epoch(&DataNode::Number("1772442900.25".into())), Some(1_772_442_900_250_000));
        assert_eq!(epoch(&DataNode::Text("2026-03-02T09:15:00.250Z".into())), Some(1_772_442_900_250_000));
        assert_eq!(epoch(&DataNode::Number("-1".into())).or_else(|| epoch(&DataNode::Null)), None);
    }
}
