//! Effects without the figures that states with one key may differ in (E-3c): how long things took. A time that is ahead, as a timer's, is none of these.

use reenact_engine::contract::Effect;
use reenact_engine::emission::{Emission, Note};
use reenact_engine::time::{Micros, Time};
use reenact_wire::prelude::*;

/// An effect at an instant, with nothing in the place of measured times.
pub(super) fn masked(at: Time, mut effect: Effect) -> Effect {
    match &mut effect {
        Effect::Emit(Emission::StreamEvent { time_to_first_token, .. }) => *time_to_first_token = None,
        Effect::Emit(Emission::User(message)) if message.took.is_some() => Arc::make_mut(message).took = None,
        Effect::Emit(Emission::Result(result)) => (result.duration, result.api_duration) = (Micros::ZERO, Micros::ZERO),
        Effect::Note(Note::Slow { took, .. }) => *took = Micros::ZERO,
        Effect::Note(Note::Attempt(report)) => (report.started, report.first_byte, report.ended) = (at, None, at),
        _ => (),
    }
    effect
}
