//! The end of an agent is lost when it comes while the parent's model speaks.
//!
//! - Report: anthropics/claude-code#87675
//! - Mechanism: a completion that comes while the parent streams is dropped, and nothing wakes the parent later.
//! - Plain scenario: two agents that end after the parent's answer, the first just after it.
//! - Smallest plan that fails: the first agent ends just before the parent's answer: one deviation.
//! - Oracles: O-24, O-18
//! - Budget: 1 deviation, 0 faults, 0 inputs.

use super::{Card, Difference};
use crate::mini_loop::habits::Habits;

/// The oracles that see it.
pub const CARD: Card = Card {
    differences: &[
        Difference::Missed("O-24", "the end of an agent is no input: the oracle sees inputs of tools alone"),
        Difference::Missed("O-18", "no oracle of one run asks whether a terminal is reached; the run fails because it ends as stalled"),
        Difference::Further("O-2", "the tool use of the agent has no result when the run stalls"),
        Difference::Further("O-8", "the prompt has no terminal when the run stalls"),
    ],
    ..Card::new("lost-wake-up", "anthropics/claude-code#87675", &["O-24", "O-18"])
};

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct LostWakeUp;

impl Habits for LostWakeUp {
    fn takes_agent_end(is_streaming: bool) -> bool {
        !is_streaming
    }
}
