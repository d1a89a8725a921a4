//! The bytes of a response plan with their times: a pure function.
//!
//! A plan speaks of what a client comes to see; a connection that was accepted can do most of that, and for the rest says so.

use std::time::Duration;

use hyper::body::Bytes;
use serde_json::Value;

use super::{AnswerPace, ServeOptions};
use reenact_engine::contract::{AnswerEnd, RequestId};
use reenact_engine::time::Micros;
use reenact_wire::http;
use reenact_wire::prelude::*;
use reenact_world::choices::ChoiceMaker;
use reenact_world::plan::{ResponsePlan, TimedPiece};
use reenact_world::setup::RunSetup;

/// An answer as a connection plays it. Times count from the request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnswerSchedule {
    /// Status and headers; `None` when the connection ends before there are any.
    pub(super) head: Option<ScheduledHead>,
    pub(super) head_at: Duration,
    pub(super) packets: Vec<TimedPacket>,
    pub(super) end: ConnectionEnding,
    pub(super) end_at: Duration,
    /// Whether the body's length may be told before it.
    pub(super) is_whole: bool,
}

/// Status and headers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScheduledHead {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
}

/// The next part of an answer, as far as a driver asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ComingPart {
    /// The name of the event.
    pub(super) event: Option<Arc<str>>,
    /// The tools that it asks for.
    pub(super) tools: Vec<Arc<str>>,
}

/// The bytes of one write.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimedPacket {
    pub(super) at: Duration,
    pub(super) bytes: Bytes,
    /// Whether it is the last of a piece of the plan.
    pub(super) ends_piece: bool,
    /// Its number among the pieces, from 1, where it is the first of one.
    pub(super) begins_piece: Option<u32>,
    /// The head.
    pub(super) coming: ComingPart,
}

/// How a connection ends an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnding {
    /// As HTTP has it.
    Complete,
    /// Closed inside the body.
    Truncated,
    /// Broken.
    Reset,
    /// Not at all: the client has to leave.
    Never,
}

/// The answer to a request as it goes over the wire.
pub(super) fn from_plan(setup: &RunSetup, plan: &ResponsePlan, key: &str, options: &ServeOptions) -> AnswerSchedule {
    let time = |at: Micros| match options.pace {
        AnswerPace::Scaled(percent) => Duration::from_micros(at.scaled(u64::from(percent), 100).0),
        AnswerPace::Recorded | AnswerPace::None => Duration::from_micros(at.0),
    };
    let (mut packets, mut number) = (Vec::with_capacity(plan.pieces.len()), 0);
    for piece in &plan.pieces {
        number += 1;
        let at = time(piece.at);
        // Only who waits at gates asks what comes.
        let coming = options.gates.as_ref().map(|_| coming_part(piece, plan.is_stream)).unwrap_or_default();
        let bytes = Bytes::from_owner(piece.bytes.clone());
        let cuts = cuts_of(setup, &piece.bytes, plan.is_stream, key, number);
        let last = cuts.len().saturating_sub(1);
        let mut from = 0;
        for (position, length) in cuts.into_iter().enumerate() {
            let is_first = position == 0;
            packets.push(TimedPacket {
                at,
                bytes: bytes.slice(from..from + length),
                ends_piece: position == last,
                begins_piece: is_first.then_some(number),
                coming: if is_first { coming.clone() } else { ComingPart::default() },
            });
            from += length;
        }
    }
    let head = plan.head.as_ref().map(|head| ScheduledHead {
        status: head.status,
        headers: head
            .headers
            .iter()
            .filter(|header| !http::is_of_connection(&header.name))
            .map(|header| (header.name.to_string(), header.value.to_string()))
            .collect(),
    });
    let end = ending(plan.end.as_ref());
    let is_whole = !plan.is_stream && end == ConnectionEnding::Complete;
    AnswerSchedule { head, head_at: time(plan.head_at), packets, end, end_at: time(plan.end_at), is_whole }
}

/// The parts of an answer that an accepted connection cannot carry, and what its client sees in their place.
pub(super) fn cannot_carry(id: RequestId, end: Option<&AnswerEnd>) -> Option<String> {
    let (wanted, sees) = match end? {
        AnswerEnd::ConnectRefused => ("a refused connection", "a connection that breaks before any byte"),
        AnswerEnd::Dns => ("an unknown host name", "a connection that breaks before any byte"),
        AnswerEnd::Tls => ("a failed TLS handshake", "a connection that breaks before any byte"),
        AnswerEnd::ConnectTimeout => ("a connection that is not made in time", "a connection on which no answer comes"),
        AnswerEnd::BrokenPipe => {
            ("a connection that breaks while the request is sent", "a connection that breaks when the request is complete")
        }
        _ => return None,
    };
    Some(format!("request {id}: the scenario wants {wanted}; over HTTP the client sees {sees}"))
}

fn ending(end: Option<&AnswerEnd>) -> ConnectionEnding {
    match end {
        Some(AnswerEnd::Complete) => ConnectionEnding::Complete,
        Some(AnswerEnd::Timeout | AnswerEnd::ConnectTimeout) | None => ConnectionEnding::Never,
        Some(AnswerEnd::Reset | AnswerEnd::ConnectRefused | AnswerEnd::Dns | AnswerEnd::Tls | AnswerEnd::BrokenPipe) => {
            ConnectionEnding::Reset
        }
        Some(AnswerEnd::Truncated | AnswerEnd::Framing(_)) => ConnectionEnding::Truncated,
    }
}

/// How long the packets of a piece are.
fn cuts_of(setup: &RunSetup, piece: &[u8], is_stream: bool, key: &str, number: u32) -> Vec<usize> {
    if !is_stream {
        return vec![piece.len()];
    }
    let mut choices = ChoiceMaker::new(&setup.scenario, None);
    choices.cut(key, number as usize, piece, &setup.scenario.chunking).into_iter().map(<[u8]>::len).collect()
}

/// An event of a stream, or the whole of another answer.
fn coming_part(piece: &TimedPiece, is_stream: bool) -> ComingPart {
    if !is_stream {
        let message: Value = serde_json::from_slice(&piece.bytes).unwrap_or_default();
        let tools = message["content"].as_array().into_iter().flatten().filter_map(tool_name).collect();
        return ComingPart { event: None, tools };
    }
    let mut coming = ComingPart::default();
    piece.read_events(|name, data| {
        if coming.event.is_none() && !name.is_empty() {
            coming.event = Some(name.into());
        }
        let data: Value = serde_json::from_str(data).unwrap_or_default();
        coming.tools.extend(tool_name(&data["content_block"]));
    });
    coming
}

/// The tool that a block asks for.
fn tool_name(block: &Value) -> Option<Arc<str>> {
    block["name"].as_str().filter(|_| block["type"] == "tool_use").map(Into::into)
}
