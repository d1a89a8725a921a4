//! How an answer is changed: from the plan that it has to the plan that it gets (M-4).

use super::super::pacing::AnswerTimesTable;
use super::super::plan::{ResponseHead, ResponsePlan, TimedEvent};
use reenact_engine::contract::AnswerEnd;
use reenact_engine::time::Micros;
use reenact_scenario::fault::{AnswerChange, CutAfter, CutManner};
use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::sse::SseFramer;

/// The changed plan; `None` when the answer has nothing that could be changed like this, or ends before the place that is named.
pub(crate) fn change(change: &AnswerChange, plan: &ResponsePlan) -> Option<ResponsePlan> {
    plan.head.as_ref().filter(|_| is_in_reach(change, plan))?;
    match change {
        AnswerChange::Cut { after, how } => Some(cut(plan, *after, *how)),
        AnswerChange::Stall { after_events, time } => Some(stall(plan, *after_events, *time)),
        AnswerChange::Insert { after_events, name, data } => insert(plan, *after_events, name, data),
        AnswerChange::Duplicate { name, after_events } => {
            let (mut events, at) = events_and_position(plan, name, *after_events)?;
            events.insert(at, events[at].clone());
            Some(plan.clone().with_events(events))
        }
        AnswerChange::Missing { name, after_events } => {
            let (mut events, at) = events_and_position(plan, name, *after_events)?;
            events.remove(at);
            Some(plan.clone().with_events(events))
        }
        AnswerChange::EmptyBody => {
            let times = AnswerTimesTable { pieces: Vec::new(), ..plan.times.clone() };
            Some(ResponsePlan { pieces: [].into(), times, ..plan.clone() })
        }
        AnswerChange::ContentType(kind) => Some(content_type(plan, kind)),
        AnswerChange::TruncateToolInput => truncate_tool_input(plan),
        AnswerChange::Drip { bytes_per_second } => Some(drip(plan, u64::from((*bytes_per_second).max(1)))),
    }
}

/// Whether the answer is long enough for the place that the change names.
fn is_in_reach(change: &AnswerChange, plan: &ResponsePlan) -> bool {
    match change {
        AnswerChange::Cut { after: CutAfter::Bytes(number), .. } => {
            plan.pieces.iter().map(|piece| piece.len()).sum::<usize>() >= count(*number)
        }
        AnswerChange::Cut { after: CutAfter::Events(number), .. }
        | AnswerChange::Stall { after_events: number, .. }
        | AnswerChange::Insert { after_events: number, .. } => !plan.is_stream || plan.events().len() >= count(*number),
        AnswerChange::Duplicate { .. }
        | AnswerChange::Missing { .. }
        | AnswerChange::EmptyBody
        | AnswerChange::ContentType(_)
        | AnswerChange::TruncateToolInput
        | AnswerChange::Drip { .. } => true,
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn cut(plan: &ResponsePlan, after: CutAfter, how: CutManner) -> ResponsePlan {
    let mut events = match after {
        CutAfter::Events(number) => parts(plan, number),
        CutAfter::Bytes(_) => {
            plan.pieces.iter().zip(&plan.times.pieces).map(|(piece, at)| TimedEvent { at: *at, bytes: piece.to_vec() }).collect()
        }
    };
    match after {
        CutAfter::Events(number) => events.truncate(kept_parts(plan, number)),
        CutAfter::Bytes(number) => {
            let mut left = count(number);
            for event in &mut events {
                event.bytes.truncate(left);
                left -= event.bytes.len();
            }
            events.retain(|event| !event.bytes.is_empty());
        }
    }
    let end = match how {
        CutManner::Reset => AnswerEnd::Reset,
        CutManner::Close => AnswerEnd::Complete,
        CutManner::Truncate => AnswerEnd::Truncated,
    };
    ending_with_body(ResponsePlan { end: Some(end), ..plan.clone().with_events(events) })
}

/// The parts of an answer that is cut or stalls: events. A body that comes whole has none: it is cut or stalls in its middle, or before it where no event is
/// to come.
fn parts(plan: &ResponsePlan, after_events: u32) -> Vec<TimedEvent> {
    let mut events = plan.events();
    if plan.is_stream || after_events == 0 || events.is_empty() {
        return events;
    }
    let whole: Vec<u8> = events.iter().flat_map(|event| event.bytes.iter().copied()).collect();
    let at = events.pop().map_or(plan.times.end, |last| last.at);
    let (first, second) = whole.split_at(whole.len() / 2);
    [first, second].map(|bytes| TimedEvent { at, bytes: bytes.to_vec() }).into()
}

/// How many of them come.
fn kept_parts(plan: &ResponsePlan, after_events: u32) -> usize {
    if plan.is_stream { count(after_events) } else { count(after_events).min(1) }
}

/// The plan ending with the last of its pieces.
fn ending_with_body(mut plan: ResponsePlan) -> ResponsePlan {
    plan.times.end = plan.times.pieces.last().copied().unwrap_or(plan.times.head);
    plan
}

fn stall(plan: &ResponsePlan, after_events: u32, time: Option<Micros>) -> ResponsePlan {
    let mut events = parts(plan, after_events);
    let after = kept_parts(plan, after_events).min(events.len());
    let Some(time) = time else {
        events.truncate(after);
        return ResponsePlan { end: None, ..plan.clone().with_events(events) };
    };
    events.iter_mut().skip(after).for_each(|event| event.at = event.at + time);
    let mut stalled = plan.clone().with_events(events);
    stalled.times.end = stalled.times.end + time;
    stalled
}

/// An `error` event is the last that the API sends.
fn insert(plan: &ResponsePlan, after_events: u32, name: &str, data: &str) -> Option<ResponsePlan> {
    if !plan.is_stream {
        return None;
    }
    let mut events = plan.events();
    let position = count(after_events).min(events.len());
    let at = position.checked_sub(1).map_or(plan.times.head, |before| events[before].at);
    events.insert(position, TimedEvent { at, bytes: format!("event: {name}\ndata: {data}\n\n").into_bytes() });
    if name != "error" {
        return Some(plan.clone().with_events(events));
    }
    events.truncate(position + 1);
    Some(ending_with_body(ResponsePlan { end: Some(AnswerEnd::Complete), ..plan.clone().with_events(events) }))
}

/// The events of a stream, and where the first one of this name is after so many of them.
fn events_and_position(plan: &ResponsePlan, name: &str, after_events: u32) -> Option<(Vec<TimedEvent>, usize)> {
    if !plan.is_stream {
        return None;
    }
    let events = plan.events();
    let at = (count(after_events)..events.len()).find(|at| read(&events[*at]).is_some_and(|(found, _)| found == name))?;
    Some((events, at))
}

/// An event's name and data.
fn read(event: &TimedEvent) -> Option<(String, serde_json::Value)> {
    let mut read = None;
    let sink = &mut |frame: reenact_wire::sse::SseFrame<'_>| {
        read = Some((frame.event.to_string(), serde_json::from_str(frame.data).unwrap_or_default()))
    };
    SseFramer::new().feed(&event.bytes, sink).ok()?;
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

fn truncate_tool_input(plan: &ResponsePlan) -> Option<ResponsePlan> {
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
    events[at].bytes = format!("event: content_block_delta\ndata: {data}\n\n").into_bytes();
    Some(plan.clone().with_events(events))
}

/// In packets of about a tenth of a second, never sooner than the head.
fn drip(plan: &ResponsePlan, bytes_per_second: u64) -> ResponsePlan {
    let body: Vec<u8> = plan.pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
    let size = usize::try_from(bytes_per_second / 10).unwrap_or(usize::MAX).max(1);
    let mut sent: u64 = 0;
    let packets = body.chunks(size).map(|bytes| {
        sent += bytes.len() as u64;
        TimedEvent { at: plan.times.head + Micros::from_secs(1).scaled(sent, bytes_per_second), bytes: bytes.to_vec() }
    });
    let packets = packets.collect();
    ending_with_body(plan.clone().with_events(packets))
}
