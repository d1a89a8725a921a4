//! An answer's body event by event, independent of its packets.

use super::super::pacing::AnswerTimesTable;
use super::super::setup::split_at_blank_lines;
use super::ResponsePlan;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// One event's bytes, and when its last byte arrives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimedEvent {
    pub(crate) at: Micros,
    pub(crate) bytes: Vec<u8>,
}

impl ResponsePlan {
    /// The body cut after each event. An engine sees no difference, for an event counts once it is whole.
    pub(crate) fn events(&self) -> Vec<TimedEvent> {
        let body: Vec<u8> = self.pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        let mut arrived = self.pieces.iter().zip(&self.times.pieces).scan(0, |sum, (piece, at)| {
            *sum += piece.len();
            Some((*sum, *at))
        });
        let mut packet = arrived.next();
        let mut end = 0;
        let mut events = Vec::new();
        for bytes in split_at_blank_lines(&body) {
            end += bytes.len();
            while packet.is_some_and(|(until, _)| until < end) {
                packet = arrived.next();
            }
            events.push(TimedEvent { at: packet.map_or(self.times.end, |(_, at)| at), bytes: bytes.to_vec() });
        }
        events
    }

    /// The plan with another body.
    pub(crate) fn with_events(self, events: Vec<TimedEvent>) -> Self {
        let pieces = events.iter().map(|event| event.at).collect();
        let times = AnswerTimesTable { pieces, end: self.times.end, ..self.times };
        Self { pieces: events.into_iter().map(|event| Arc::from(event.bytes)).collect(), times, ..self }
    }
}
