//! A tool that had finished runs again because a later request failed.
//!
//! - Report: agno-agi/agno#10366
//! - Mechanism: a retry begins the prompt anew, without what was done since.
//! - Plain scenario: a Write, and the same Write once more because the model wants it.
//! - Smallest plan that fails: the second request gets one 500.
//! - Oracles: O-17
//! - Budget: 0 deviations, 1 fault, 0 inputs.

use super::{Card, Difference};
use crate::mini_loop::habits::Habits;
use crate::mini_loop::history::History;

/// The oracles that see it.
pub const CARD: Card = Card {
    differences: &[
        Difference::Further("O-21", "the repeated request lacks what the failed one had"),
    ],
    ..Card::new("run-again", "agno-agi/agno#10366", &["O-17"])
};

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct RunAgain;

impl Habits for RunAgain {
    fn before_retry(history: &mut History) {
        history.messages.truncate(history.prompt_end);
    }
}
