//! One answer with its times, as a connection will play it: where faults do their work (M-4, M-5).

use super::cuts;
use super::decoded_pieces::DecodedPieces;
use super::pacing::AnswerTimesTable;
use super::setup::PreparedAnswer;
use super::tool_uses;
use reenact_engine::contract::AnswerEnd;
use reenact_engine::time::Micros;
use reenact_scenario::tape::ResponseEnd;
use reenact_wire::answer::AnswerReader;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;
use reenact_wire::sse::{SseFrame, SseFramer};

/// Everything that will come of an answer. Times count from its request.
#[derive(Clone, Debug, PartialEq, Hash)]
#[doc(hidden)]
pub struct ResponsePlan {
    /// Status and headers; `None` when the connection ends before there are any.
    #[doc(hidden)]
    pub head: Option<ResponseHead>,
    /// When the head arrives.
    #[doc(hidden)]
    pub head_at: Micros,
    /// Whether the client reads the body as a stream of events.
    #[doc(hidden)]
    pub is_stream: bool,
    /// The body.
    #[doc(hidden)]
    pub pieces: Vec<TimedPiece>,
    /// The events of the pieces of the answer that this is made of.
    #[doc(hidden)]
    pub decoded: DecodedPieces,
    /// How it ends; `None` when it never does.
    #[doc(hidden)]
    pub end: Option<AnswerEnd>,
    /// When it ends.
    #[doc(hidden)]
    pub end_at: Micros,
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Hash)]
#[doc(hidden)]
pub struct ResponseHead {
    /// HTTP status.
    #[doc(hidden)]
    pub status: u16,
    /// Response headers.
    #[doc(hidden)]
    pub headers: Arc<[HttpHeader]>,
}

/// A piece of a body: a recorded packet, or an event.
#[derive(Clone, Debug, PartialEq, Hash)]
#[doc(hidden)]
pub struct TimedPiece {
    /// When its last byte arrives.
    #[doc(hidden)]
    pub at: Micros,
    #[doc(hidden)]
    pub bytes: Arc<[u8]>,
}

impl ResponsePlan {
    /// The answer as it was prepared, with the times of this request.
    pub(crate) fn new(prepared: &PreparedAnswer, times: AnswerTimesTable) -> Self {
        let head = ResponseHead { status: prepared.status, headers: prepared.headers.clone() };
        let pieces = prepared.pieces.iter().zip(times.pieces).map(|(bytes, at)| TimedPiece { at, bytes: bytes.clone() });
        Self {
            head: (prepared.status != 0).then_some(head),
            head_at: times.head,
            is_stream: prepared.is_stream,
            pieces: pieces.collect(),
            decoded: if prepared.is_stream { prepared.decoded.decoded(&prepared.pieces) } else { DecodedPieces::default() },
            end: Some(ending(prepared.end)),
            end_at: times.end,
        }
    }

    /// All bytes of the body.
    #[doc(hidden)]
    pub fn body(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| piece.bytes.iter().copied()).collect()
    }

    /// A piece of the body, by its number from 1.
    #[doc(hidden)]
    pub fn piece(&self, number: u32) -> Option<&TimedPiece> {
        self.pieces.get((number as usize).checked_sub(1)?)
    }

    /// The answer, read to its end.
    pub(crate) fn answer(&self) -> AnswerReader {
        tool_uses::answer(self.is_stream, self.pieces.iter().map(|piece| &*piece.bytes))
    }

    /// The body cut after each event, whatever its packets are. An engine sees no difference, for an event counts once it is whole.
    pub(crate) fn events(&self) -> Vec<TimedPiece> {
        let body = self.body();
        let mut arrived = self.pieces.iter().scan(0, |sum, piece| {
            *sum += piece.bytes.len();
            Some((*sum, piece.at))
        });
        let mut packet = arrived.next();
        let mut end = 0;
        let mut events = Vec::new();
        for bytes in cuts::events(&body) {
            end += bytes.len();
            while packet.is_some_and(|(until, _)| until < end) {
                packet = arrived.next();
            }
            events.push(TimedPiece { at: packet.map_or(self.end_at, |(_, at)| at), bytes: bytes.into() });
        }
        events
    }

    /// The same with one piece for each event of a stream.
    #[doc(hidden)]
    pub fn by_event(self) -> Self {
        if self.is_stream { Self { pieces: self.events(), ..self } } else { self }
    }
}

impl TimedPiece {
    /// Hands on the name and the data of each event in it.
    #[doc(hidden)]
    pub fn read_events(&self, mut sink: impl FnMut(&str, &str)) {
        // What cannot be framed has no events that anyone sees.
        let _ = SseFramer::new().feed(&self.bytes, &mut |frame: SseFrame<'_>| sink(frame.event, frame.data));
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
