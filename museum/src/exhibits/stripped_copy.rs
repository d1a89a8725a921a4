//! Thinking of another model is sent, is refused, and is sent again.
//!
//! - Report: NousResearch/hermes-agent#24401
//! - Mechanism: thinking is stripped from a copy of the conversation, and the stored one is sent.
//! - Plain scenario: thinking and a Read.
//! - Smallest plan that fails: another model takes over after the Read.
//! - Oracles: O-6, O-9
//! - Budget: 0 deviations, 1 fault, 0 inputs.

use super::{Card, Difference};
use crate::mini_loop::habits::Habits;
use crate::mini_loop::history::History;

/// The oracles that see it.
pub const CARD: Card = Card {
    differences: &[
        Difference::Further("O-10", "the API refuses the request for its signature"),
    ],
    ..Card::new("stripped-copy", "NousResearch/hermes-agent#24401", &["O-6", "O-9"])
};

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct StrippedCopy;

impl Habits for StrippedCopy {
    fn strip_thinking(history: &mut History) {
        let mut copy = history.clone();
        copy.strip_thinking();
    }
}
