//! O-15: the transcript does not depend on how the bodies of answers are cut into chunks (M-6).
//!
//! An engine gets whole events, however they came. What can break the rule is whatever stands between the bytes and the engine, and an engine that
//! looks at more than the values of its inputs.

use super::Violation;
use super::repeated_requests::first_difference;
use reenact_transcript::event::Transcript;
use reenact_wire::prelude::*;

/// The id of the rule.
pub const ORACLE: &str = "O-15";

/// Compares the transcript of a run with that of the same run whose answers were cut into other chunks; the first event that differs is named.
pub fn compare(one: &Transcript, rechunked: &Transcript) -> Option<Violation> {
    let (event, at) = first_difference(one, rechunked)?;
    let total = one.events.len();
    let text = format!("cut into other chunks, the answers gave another transcript from event {event} of {total} on");
    Some(Violation { at, oracle: ORACLE, text })
}
