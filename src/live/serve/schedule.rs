//! The schedule of a response on the wire: its plan in packets, in the time of the network. A pure function.
//!
//! A plan speaks of what a client comes to see; a connection that was accepted can do most of that, and for the rest says so.

use std::time::Duration;

use hyper::body::Bytes;

use super::ServeOptions;
use reenact_engine::contract::{Agent, AnswerEnd, RequestId};
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;
use reenact_world::choices::ChoiceMaker;
use reenact_world::plan::ResponsePlan;

/// An answer as a connection plays it. Times count from the request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnswerSchedule {
    pub(super) plan: Arc<ResponsePlan>,
    pub(super) head_at: Duration,
    pub(super) packets: Vec<TimedPacket>,
    pub(super) end: ConnectionEnding,
    pub(super) end_at: Duration,
}

/// The bytes of one write.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimedPacket {
    pub(super) at: Duration,
    pub(super) bytes: Bytes,
    /// The number of its piece of the plan, from 1.
    pub(super) piece: u32,
    /// Whether it is the first of its piece.
    pub(super) begins_piece: bool,
    /// Whether it is the last.
    pub(super) ends_piece: bool,
}

/// How a connection ends an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnding {
    /// As HTTP has it.
    Complete,
    /// Inside the body.
    Cut(ConnectionCut),
    /// Not at all: the client has to leave.
    Never,
}

/// How a connection has to be closed, when it does not end as HTTP has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConnectionCut {
    #[error("the answer is cut here: the connection is closed")]
    Close,
    #[error("the answer is cut here: the connection breaks")]
    Reset,
}

impl AnswerSchedule {
    /// The answer to a request as it goes over the wire.
    pub(super) fn new(scenario: &Scenario, plan: Arc<ResponsePlan>, request: (&Agent, RequestId), options: &ServeOptions) -> Self {
        let scale = options.answer_scale();
        let mut packets = Vec::with_capacity(plan.pieces.len());
        for (number, piece, chunks) in ChoiceMaker::new(scenario, None).cut_body(request, &plan, &scenario.chunking) {
            let bytes = Bytes::from_owner(piece.bytes.clone());
            let (at, count, mut from) = (scale.duration(piece.at), chunks.len(), 0);
            for (position, chunk) in (1..).zip(chunks) {
                let bytes = bytes.slice(from..from + chunk.len());
                packets.push(TimedPacket { at, bytes, piece: number, begins_piece: position == 1, ends_piece: position == count });
                from += chunk.len();
            }
        }
        let (head_at, end_at) = (scale.duration(plan.head_at), scale.duration(plan.end_at));
        Self { head_at, packets, end: ending(plan.end.as_ref()), end_at, plan }
    }

    /// Whether the body's length may be told before it.
    pub(super) fn is_whole(&self) -> bool {
        !self.plan.is_stream && self.end == ConnectionEnding::Complete
    }
}

fn ending(end: Option<&AnswerEnd>) -> ConnectionEnding {
    match end {
        Some(AnswerEnd::Complete) => ConnectionEnding::Complete,
        Some(AnswerEnd::Timeout | AnswerEnd::ConnectTimeout) | None => ConnectionEnding::Never,
        Some(AnswerEnd::Reset | AnswerEnd::ConnectRefused | AnswerEnd::Dns | AnswerEnd::Tls | AnswerEnd::BrokenPipe) => {
            ConnectionEnding::Cut(ConnectionCut::Reset)
        }
        Some(AnswerEnd::Truncated | AnswerEnd::Framing(_)) => ConnectionEnding::Cut(ConnectionCut::Close),
    }
}
