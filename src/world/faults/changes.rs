//! How an answer is changed: from the plan that it has to the plan that it gets (M-4).

use super::super::plan::{ResponseHead, ResponsePlan, TimedPiece};
use reenact_engine::contract::AnswerEnd;
use reenact_engine::time::Micros;
use reenact_scenario::fault::{AnswerChange, CutAfter, CutManner};
use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The changed plan; `None` when the answer has nothing that could be changed like this, or ends before the place that is named.
pub(crate) fn change(change: &AnswerChange, plan: &ResponsePlan) -> Option<ResponsePlan> {
    plan.head.as_ref()?;
    let with = |pieces: Vec<TimedPiece>| ResponsePlan { pieces, ..plan.clone() };
    match change {
        AnswerChange::Cut { after, how } => cut(plan, *after, *how),
        AnswerChange::Stall { after_events, time } => stall(plan, *after_events, *time),
        AnswerChange::Insert { after_events, name, data } => insert(plan, *after_events, name, data),
        AnswerChange::Duplicate { name, after_events } => {
            let (mut events, at) = events_and_position(plan, name, *after_events)?;
            events.insert(at, events[at].clone());
            Some(with(events))
        }
        AnswerChange::Missing { name, after_events } => {
            let (mut events, at) = events_and_position(plan, name, *after_events)?;
            events.remove(at);
            Some(with(events))
        }
        AnswerChange::EmptyBody => Some(with(Vec::new())),
        AnswerChange::ContentType(kind) => Some(content_type(plan, kind)),
        AnswerChange::TruncateToolInput => truncate_tool_input(plan).map(with),
        AnswerChange::Drip { bytes_per_second } => Some(ending_with_body(with(drip(plan, u64::from((*bytes_per_second).max(1)))))),
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn cut(plan: &ResponsePlan, after: CutAfter, how: CutManner) -> Option<ResponsePlan> {
    let pieces = match after {
        CutAfter::Events(number) => parts(plan, number)?.0,
        CutAfter::Bytes(number) => first_bytes(plan, count(number))?,
    };
    let end = match how {
        CutManner::Reset => AnswerEnd::Reset,
        CutManner::Close => AnswerEnd::Complete,
        CutManner::Truncate => AnswerEnd::Truncated,
    };
    Some(ending_with_body(ResponsePlan { pieces, end: Some(end), ..plan.clone() }))
}

/// So many bytes of the body; `None` where it has fewer.
fn first_bytes(plan: &ResponsePlan, number: usize) -> Option<Vec<TimedPiece>> {
    let mut left = number;
    let mut kept = Vec::new();
    for piece in &plan.pieces {
        let bytes = &piece.bytes[..left.min(piece.bytes.len())];
        left -= bytes.len();
        if !bytes.is_empty() {
            kept.push(TimedPiece { at: piece.at, bytes: bytes.into() });
        }
    }
    (left == 0).then_some(kept)
}

/// The parts of an answer before and behind so many events; `None` where a stream has fewer. A body that comes whole has no events: it is cut or stalls
/// in its middle, or before it where no event is to come.
fn parts(plan: &ResponsePlan, after_events: u32) -> Option<(Vec<TimedPiece>, Vec<TimedPiece>)> {
    let mut events = plan.events();
    if plan.is_stream {
        let behind = (count(after_events) <= events.len()).then(|| events.split_off(count(after_events)))?;
        return Some((events, behind));
    }
    let Some(last) = events.last().filter(|_| after_events > 0) else { return Some((Vec::new(), events)) };
    let (at, body) = (last.at, plan.body());
    let half = |bytes: &[u8]| vec![TimedPiece { at, bytes: bytes.into() }];
    let (first, second) = body.split_at(body.len() / 2);
    Some((half(first), half(second)))
}

/// The plan ending with the last of its pieces.
fn ending_with_body(mut plan: ResponsePlan) -> ResponsePlan {
    plan.end_at = plan.pieces.last().map_or(plan.head_at, |last| last.at);
    plan
}

fn stall(plan: &ResponsePlan, after_events: u32, time: Option<Micros>) -> Option<ResponsePlan> {
    let (mut pieces, late) = parts(plan, after_events)?;
    let Some(time) = time else { return Some(ResponsePlan { pieces, end: None, ..plan.clone() }) };
    pieces.extend(late.into_iter().map(|piece| TimedPiece { at: piece.at + time, ..piece }));
    Some(ResponsePlan { pieces, end_at: plan.end_at + time, ..plan.clone() })
}

/// An `error` event is the last that the API sends.
fn insert(plan: &ResponsePlan, after_events: u32, name: &str, data: &str) -> Option<ResponsePlan> {
    if !plan.is_stream {
        return None;
    }
    let (mut pieces, behind) = parts(plan, after_events)?;
    let at = pieces.last().map_or(plan.head_at, |before| before.at);
    pieces.push(TimedPiece { at, bytes: format!("event: {name}\ndata: {data}\n\n").into_bytes().into() });
    if name == "error" {
        return Some(ending_with_body(ResponsePlan { pieces, end: Some(AnswerEnd::Complete), ..plan.clone() }));
    }
    pieces.extend(behind);
    Some(ResponsePlan { pieces, ..plan.clone() })
}

/// The events of a stream, and where the first one of this name is after so many of them.
fn events_and_position(plan: &ResponsePlan, name: &str, after_events: u32) -> Option<(Vec<TimedPiece>, usize)> {
    if !plan.is_stream {
        return None;
    }
    let events = plan.events();
    let at = (count(after_events)..events.len()).find(|at| read(&events[*at]).is_some_and(|(found, _)| found == name))?;
    Some((events, at))
}

/// An event's name and data.
fn read(event: &TimedPiece) -> Option<(String, serde_json::Value)> {
    let mut read = None;
    event.read_events(|name, data| read = Some((name.to_string(), serde_json::from_str(data).unwrap_or_default())));
    read
}

/// A client that goes by the header reads a stream as text, and text as a stream.
fn content_type(plan: &ResponsePlan, kind: &str) -> ResponsePlan {
    let head = plan.head.as_ref().map(|head| {
        let others = head.headers.iter().filter(|header| !header.name.eq_ignore_ascii_case("content-type")).cloned();
        ResponseHead { status: head.status, headers: core::iter::once(HttpHeader::new("content-type", kind)).chain(others).collect() }
    });
    ResponsePlan { head, is_stream: kind.trim_start().starts_with("text/event-stream"), ..plan.clone() }
}

fn truncate_tool_input(plan: &ResponsePlan) -> Option<Vec<TimedPiece>> {
    if !plan.is_stream {
        return None;
    }
    let mut events = plan.events();
    let mut last: Option<(usize, u64, String)> = None;
    for (at, event) in events.iter().enumerate() {
        let Some((_, data)) = read(event) else { continue };
        let json = data["delta"]["partial_json"].as_str().filter(|json| !json.trim().is_empty());
        let Some((json, index)) = json.zip(data["index"].as_u64()) else { continue };
        if last.as_ref().is_some_and(|(_, first, _)| *first != index) {
            break; // the second tool use
        }
        last = Some((at, index, json.trim_end().into()));
    }
    let (at, index, json) = last?;
    let half: String = json.chars().take(json.chars().count() / 2).collect();
    let data = format!(
        r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":{}}}}}"#,
        Json::from_value(&half)
    );
    events[at].bytes = format!("event: content_block_delta\ndata: {data}\n\n").into_bytes().into();
    Some(events)
}

/// In packets of about a tenth of a second, never sooner than the head.
fn drip(plan: &ResponsePlan, bytes_per_second: u64) -> Vec<TimedPiece> {
    let size = usize::try_from(bytes_per_second / 10).unwrap_or(usize::MAX).max(1);
    let mut sent: u64 = 0;
    let packet = |bytes: &[u8]| {
        sent += bytes.len() as u64;
        TimedPiece { at: plan.head_at + Micros::from_secs(1).scaled(sent, bytes_per_second), bytes: bytes.into() }
    };
    plan.body().chunks(size).map(packet).collect()
}
