//! An answer's body event by event, independent of its packets.

use super::super::plan::ResponsePlan;
use super::super::setup::split_at_blank_lines;
use crate::engine::time::Micros;
use crate::prelude::*;

/// One event's bytes, and when its last byte arrives.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::world) struct TimedEvent {
    pub(in crate::world) at: Micros,
    pub(in crate::world) bytes: Vec<u8>,
}

/// The body cut after each event. An engine sees no difference, for an event counts once it is whole.
pub(in crate::world) fn by_event(plan: &ResponsePlan) -> Vec<TimedEvent> {
    let body: Vec<u8> = plan.pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
    let mut arrived = plan.pieces.iter().zip(&plan.times.pieces).scan(0, |sum, (piece, at)| {
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
        events.push(TimedEvent { at: packet.map_or(plan.times.end, |(_, at)| at), bytes: bytes.to_vec() });
    }
    events
}

/// The plan with another body.
pub(in crate::world) fn with_events(plan: ResponsePlan, events: Vec<TimedEvent>) -> ResponsePlan {
    let times = events.iter().map(|event| event.at).collect();
    let pieces = events.into_iter().map(|event| Arc::from(event.bytes)).collect();
    let last = plan.times.end;
    ResponsePlan { pieces, times: super::super::pacing::AnswerTimesTable { pieces: times, end: last, ..plan.times }, ..plan }
}
