//! The messages between connections and the owner of all state, and what they carry.

use hyper::body::Bytes;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::schedule::{AnswerSchedule, ConnectionCut};
use reenact_engine::contract::{Agent, RequestId};
use reenact_foreign::session::error_body;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;
use reenact_world::delivery::AnswerPart;
use reenact_world::endpoint::IncomingRequest;
use reenact_world::plan::ResponseHead;

/// The messages of connections.
#[derive(Debug)]
pub(super) enum OwnerMessage {
    /// A request is in.
    Arrived { arrived: ReceivedRequest, reply: oneshot::Sender<ServerResponse> },
    /// A part of an answer was handed to the network, or the client left.
    Reached { serial: AnswerSerial, part: AnswerPart, at: Instant },
    /// The driver of the client had the answer cut.
    CutAtGate { serial: AnswerSerial, at: Instant, cut: ConnectionCut },
    /// The client was acted on.
    Disturbed { serial: AnswerSerial, at: Instant },
    /// A request was turned away: it is nobody's who may ask.
    Refused { reason: String },
    /// The bytes of a client were no HTTP.
    Unreadable { connection: u64, problem: String },
}

/// Which answer to a request for a message, from 1, of which session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerSerial {
    pub(super) session: usize,
    pub(super) number: u32,
}

/// A request as it came.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub(super) at: Instant,
    pub(super) connection: u64,
    pub(super) incoming: IncomingRequest,
    /// The scenario that its header names.
    pub(super) scenario: Option<Arc<str>>,
    pub(super) retry_count: Option<Arc<str>>,
}

/// The response to a request.
#[derive(Debug)]
pub(super) enum ServerResponse {
    /// It is played.
    Play(AnswerPlayback),
    /// It is given at once.
    Whole { head: ResponseHead, body: Bytes },
}

impl ServerResponse {
    /// An error of the server itself, which no client takes for a passing one.
    pub(super) fn error(status: u16, kind: &str, message: &str, headers: &[(&str, &str)]) -> Self {
        let headers = [&[("x-should-retry", "false")], headers].concat();
        Self::Whole { head: json_head(status, &headers), body: error_body(kind, message).into() }
    }
}

/// The head of a JSON body, with further headers.
pub(super) fn json_head(status: u16, headers: &[(&str, &str)]) -> ResponseHead {
    let headers = headers.iter().chain(&[("content-type", "application/json")]);
    ResponseHead { status, headers: headers.map(|(name, value)| HttpHeader::new(name, value)).collect() }
}

/// An answer that is played.
#[derive(Debug)]
pub(super) struct AnswerPlayback {
    pub(super) serial: AnswerSerial,
    pub(super) agent: Agent,
    pub(super) id: RequestId,
    /// Whether the scenario owes no further one.
    pub(super) is_last: bool,
    /// Held by its player alone.
    pub(super) in_flight: Arc<()>,
    pub(super) schedule: AnswerSchedule,
}
