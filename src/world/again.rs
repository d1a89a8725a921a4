//! An answer that is given again has ids of its own, as the API's would (M-3), and one that is not asked for as a stream comes whole (R-13).

use super::faults::{TimedEvent, by_event, with_events};
use super::pacing::Times;
use super::plan::{Head, Plan};
use crate::prelude::*;
use crate::wire::assembler::{Assembler, Step};
use crate::wire::event::Event;
use crate::wire::http::Header;
use crate::wire::json::Json;
use crate::wire::sse::{Frame, Framer};

/// An id that was made fresh, and the one that the scenario knows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FreshId {
    pub(crate) fresh: Arc<str>,
    pub(crate) original: Arc<str>,
}

/// The plan with fresh ids: the `nth` time that it is given, from 2.
pub(crate) fn with_fresh_ids(plan: &Plan, nth: u32) -> (Plan, Vec<FreshId>) {
    let mut events = by_event(plan);
    let ids: Vec<FreshId> = events
        .iter()
        .flat_map(|event| ids(event, plan.is_stream))
        .map(|original| FreshId { fresh: format!("{original}_{nth}").into(), original: original.into() })
        .collect();
    for event in &mut events {
        for id in &ids {
            event.bytes = replaced(&event.bytes, &format!("\"{}\"", id.original), &format!("\"{}\"", id.fresh));
        }
    }
    (with_events(plan.clone(), events), ids)
}

/// Text with the ids that the scenario knows.
pub(crate) fn with_original_ids(text: String, ids: &[FreshId]) -> String {
    ids.iter().fold(text, |text, id| text.replace(&format!("\"{}\"", id.fresh), &format!("\"{}\"", id.original)))
}

/// The ids of the message and of the tool uses that begin in this event, or stand in this body.
fn ids(event: &TimedEvent, is_stream: bool) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().map(String::from);
    if !is_stream {
        let value: serde_json::Value = serde_json::from_slice(&event.bytes).unwrap_or_default();
        let blocks = value["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        return text(&value["id"]).into_iter().chain(blocks.iter().filter_map(|block| text(&block["id"]))).collect();
    }
    let mut ids = Vec::new();
    // A stream that cannot be framed has no ids that anyone sees.
    let _ = Framer::new().feed(&event.bytes, &mut |frame: Frame<'_>| {
        if frame.data.contains("\"id\"") {
            let value: serde_json::Value = serde_json::from_str(frame.data).unwrap_or_default();
            ids.extend(text(&value["message"]["id"]).or_else(|| text(&value["content_block"]["id"])));
        }
    });
    ids
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, from.as_bytes()) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to.as_bytes());
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// A streamed answer as the one message that the same request would have got without streaming, at the time at which the stream ended. `None`
/// when the stream is no whole message.
pub(crate) fn unstreamed(plan: &Plan) -> Option<Plan> {
    let (mut assembler, mut blocks) = (Assembler::new(), Vec::new());
    let body: Vec<u8> = plan.pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
    let sink = &mut |frame: Frame<'_>| {
        if let Step::Block { block, .. } = assembler.on_event(&Event::decode(frame.event, frame.data), &mut Vec::new()) {
            blocks.push(block.json().to_string());
        }
    };
    Framer::new().feed(&body, sink).ok()?;
    assembler.at_end_of_stream().ok()?;
    let text = format!(
        r#"{{"id":{},"type":"message","role":"assistant","model":{},"content":[{}],"stop_reason":{},"stop_sequence":{},"usage":{}}}"#,
        Json::of(&**assembler.message_id()),
        Json::of(&**assembler.model()),
        blocks.join(","),
        Json::of(&assembler.stop_reason()),
        Json::of(&assembler.stop_sequence()),
        Json::of(assembler.usage()),
    );
    let at = plan.times.end;
    let head = plan.head.as_ref().map(|head| {
        let others = head.headers.iter().filter(|header| !header.name.eq_ignore_ascii_case("content-type")).cloned();
        Head { status: head.status, headers: core::iter::once(Header::new("content-type", "application/json")).chain(others).collect() }
    });
    let times = Times { head: at, pieces: vec![at], end: at };
    Some(Plan { head, is_stream: false, pieces: [Arc::from(text.into_bytes())].into(), times, end: plan.end.clone() })
}
