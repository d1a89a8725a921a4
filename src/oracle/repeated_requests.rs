//! O-16: the same inputs give the same transcript. A copied run must continue as one from the start would, so nothing may be shared
//! between copies, drawn from outside, or dependent on an address.

use super::Violation;
use reenact_transcript::event::Transcript;
use reenact_wire::prelude::*;

/// The id of the rule.
pub const ORACLE: &str = "O-16";

/// Compares two transcripts of the same inputs; the first event that differs is named. Equal events have equal digests, and
/// comparing them is cheaper.
pub fn compare(one: &Transcript, other: &Transcript) -> Option<Violation> {
    let pairs = one.events.iter().zip(other.events.iter());
    let same = pairs.take_while(|(one, other)| one == other).count();
    if same == one.events.len().max(other.events.len()) {
        return None;
    }
    let at = one.events.get(same).or(other.events.get(same)).map(|event| event.at).unwrap_or_default();
    let total = one.events.len();
    let text = format!("the same inputs gave another transcript from event {} of {total} on", same + 1);
    Some(Violation { at, oracle: ORACLE, text })
}
