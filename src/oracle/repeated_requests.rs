//! O-16: the same inputs give the same transcript. A copied run must continue as one from the start would, so nothing may be shared
//! between copies, drawn from outside, or dependent on an address.

use super::Violation;
use reenact_engine::time::Time;
use reenact_transcript::event::Transcript;
use reenact_wire::prelude::*;

/// The id of the rule.
pub const ORACLE: &str = "O-16";

/// Compares two transcripts of the same inputs; the first event that differs is named. Equal events have equal digests, and
/// comparing them is cheaper.
pub fn compare(one: &Transcript, other: &Transcript) -> Option<Violation> {
    let (event, at) = first_difference(one, other)?;
    let total = one.events.len();
    let text = format!("the same inputs gave another transcript from event {event} of {total} on");
    Some(Violation { at, oracle: ORACLE, text })
}

/// The number of the first event that differs, from 1, and its time.
pub(super) fn first_difference(one: &Transcript, other: &Transcript) -> Option<(usize, Time)> {
    let pairs = one.events.iter().zip(other.events.iter());
    let same = pairs.take_while(|(one, other)| one == other).count();
    let event = one.events.get(same).or(other.events.get(same))?;
    Some((same + 1, event.at))
}
