//! One answer with its times, as a connection will play it: where faults do their work (M-4, M-5).

mod timed_events;

use super::pacing::AnswerTimesTable;
use super::setup::PreparedAnswer;
use reenact_engine::contract::AnswerEnd;
use reenact_scenario::tape::ResponseEnd;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;

pub(crate) use timed_events::TimedEvent;

/// Everything that will come of an answer. Times count from its request.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct ResponsePlan {
    /// Status and headers; `None` when the connection ends before there are any.
    #[doc(hidden)]
    pub head: Option<ResponseHead>,
    /// Whether the client reads the body as a stream of events.
    #[doc(hidden)]
    pub is_stream: bool,
    /// The body, as many pieces as there are times for.
    #[doc(hidden)]
    pub pieces: Arc<[Arc<[u8]>]>,
    /// When all that arrives.
    #[doc(hidden)]
    pub times: AnswerTimesTable,
    /// How it ends; `None` when it never does.
    #[doc(hidden)]
    pub end: Option<AnswerEnd>,
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct ResponseHead {
    /// HTTP status.
    #[doc(hidden)]
    pub status: u16,
    /// Response headers.
    #[doc(hidden)]
    pub headers: Arc<[HttpHeader]>,
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
    #[doc(hidden)]
    pub fn by_event(self) -> Self {
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
