//! The messages between connections and the owner of all state, and what they carry.

use hyper::body::Bytes;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::schedule::{AnswerSchedule, ScheduledHead};
use reenact_engine::contract::{Agent, RequestId};
use reenact_wire::prelude::*;
use reenact_wire::validate::endpoint::RequestHead;
use reenact_world::delivery::DeliveryPart;

/// The messages of connections.
#[derive(Debug)]
pub(super) enum OwnerMessage {
    /// A request is in.
    Arrived { arrived: ReceivedRequest, reply: oneshot::Sender<ServerResponse> },
    /// A part of an answer was handed to the network.
    Sent { serial: AnswerSerial, part: DeliveryPart, at: Instant },
    /// The client closed the connection before its answer was over.
    Left { serial: AnswerSerial, at: Instant },
    /// The driver of the client had the answer cut.
    CutAtGate { serial: AnswerSerial, at: Instant, cut: ConnectionCut },
    /// The client was acted on.
    Disturbed { serial: AnswerSerial, at: Instant },
    /// A request was turned away: it is nobody's who may ask.
    Refused { reason: String },
    /// The bytes of a client were no HTTP.
    Unreadable { connection: u64, problem: String },
}

/// Which answer of which session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerSerial {
    pub(super) session: usize,
    pub(super) number: u64,
}

/// A request as it came.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub(super) at: Instant,
    pub(super) connection: u64,
    pub(super) method: String,
    pub(super) path: String,
    /// The URL of this server as the client knows it, without a path.
    pub(super) base: String,
    /// The parts of its head that the API looks at.
    pub(super) head: RequestHead,
    /// The scenario that its header names.
    pub(super) scenario: Option<Arc<str>>,
    pub(super) named: Option<(Agent, RequestId)>,
    pub(super) retry_count: Option<Arc<str>>,
    pub(super) body: Bytes,
}

/// The response to a request.
#[derive(Debug)]
pub(super) enum ServerResponse {
    /// It is played.
    Play(ResponsePlayback),
    /// It is given at once, with a head of its own.
    Whole { head: Option<ScheduledHead>, body: Bytes },
    /// It is JSON, and given at once.
    Give { status: u16, headers: Vec<(&'static str, String)>, body: String },
}

/// An answer that is played.
#[derive(Debug)]
pub(super) struct ResponsePlayback {
    pub(super) serial: AnswerSerial,
    pub(super) answer: GatedAnswer,
    pub(super) schedule: Arc<AnswerSchedule>,
}

/// An answer, for its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GatedAnswer {
    /// Its number among the answers with messages.
    pub(super) number: u32,
    pub(super) agent: Agent,
    pub(super) id: RequestId,
    /// Whether the scenario owes no further one.
    pub(super) is_last: bool,
    /// Held by its player alone.
    pub(super) in_flight: Arc<()>,
}

/// How a connection has to be closed, when it does not end as HTTP has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConnectionCut {
    #[error("the answer is cut here: the connection is closed")]
    Close,
    #[error("the answer is cut here: the connection breaks")]
    Reset,
}
