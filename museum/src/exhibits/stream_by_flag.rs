//! The rest of an old answer is taken for the new one's.
//!
//! - Report: bastani-inc/atomic PR 352
//! - Mechanism: events of a stream are taken while the loop is "streaming", whatever request they name.
//! - Plain scenario: an answer whose events come in one piece, and a second prompt.
//! - Smallest plan that fails: the user stops the answer inside that piece with a message, so the next request is open when the rest of the piece is read.
//! - Oracles: O-5, O-8
//! - Budget: 0 deviations, 0 faults, 1 input.

use reenact::engine::contract::RequestId;

use super::{Card, Difference};
use crate::mini_loop::call::Call;
use crate::mini_loop::habits::Habits;

/// The oracles that see it.
pub const CARD: Card = Card {
    differences: &[Difference::Missed("O-5", "it forgets the attempts of a prompt when the prompt ends, and the late event is of such a prompt")],
    ..Card::new("stream-by-flag", "bastani-inc/atomic PR 352", &["O-5", "O-8"])
};

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct StreamByFlag;

impl Habits for StreamByFlag {
    fn is_answer(call: &Call, _id: RequestId) -> bool {
        call.last().is_open
    }
}
