//! One answer with its times, as a connection will play it: where faults do their work (M-4, M-5).

mod timed_events;

use super::pacing::AnswerTimesTable;
use super::setup::PreparedAnswer;
use crate::engine::contract::AnswerEnd;
use crate::prelude::*;
use crate::scenario::tape::ResponseEnd;
use crate::wire::http::HttpHeader;

pub(in crate::world) use timed_events::TimedEvent;

/// Everything that will come of an answer. Times count from its request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResponsePlan {
    /// Status and headers; `None` when the connection ends before there are any.
    pub(crate) head: Option<ResponseHead>,
    /// Whether the client reads the body as a stream of events.
    pub(crate) is_stream: bool,
    /// The body, as many pieces as there are times for.
    pub(crate) pieces: Arc<[Arc<[u8]>]>,
    /// When all that arrives.
    pub(crate) times: AnswerTimesTable,
    /// How it ends; `None` when it never does.
    pub(crate) end: Option<AnswerEnd>,
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResponseHead {
    /// HTTP status.
    pub(crate) status: u16,
    /// Response headers.
    pub(crate) headers: Arc<[HttpHeader]>,
}

impl ResponsePlan {
    /// The answer as it was prepared, with the times of this request.
    pub(crate) fn new(prepared: &PreparedAnswer, times: AnswerTimesTable) -> Self {
        let head = ResponseHead { status: prepared.status, headers: prepared.headers.clone() };
        Self {
            head: (prepared.status != 0).then_some(head),
            is_stream: prepared.is_stream,
            pieces: prepared.pieces.clone(),
            times,
            end: Some(ending(prepared.end)),
        }
    }

    /// The same with one piece for each event, independent of its packets.
    #[cfg(feature = "live")]
    pub(crate) fn by_event(self) -> Self {
        if !self.is_stream {
            return self;
        }
        let events = self.events();
        self.with_events(events)
    }
}

fn ending(end: ResponseEnd) -> AnswerEnd {
    match end {
        ResponseEnd::Complete => AnswerEnd::Complete,
        // The client that went away when this was recorded is not the one that listens now: to it the connection was cut.
        ResponseEnd::Reset | ResponseEnd::ClientGone => AnswerEnd::Reset,
        ResponseEnd::Timeout => AnswerEnd::Timeout,
    }
}
