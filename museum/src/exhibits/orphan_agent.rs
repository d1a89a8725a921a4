//! An agent goes on after the user has stopped everything.
//!
//! - Report: openai/codex#15732
//! - Mechanism: a cancel reaches agents that run tools, and not those whose model speaks.
//! - Plain scenario: an agent that reads a file and answers.
//! - Smallest plan that fails: a cancel while the agent's model speaks.
//! - Oracles: O-11
//! - Budget: 0 deviations, 0 faults, 1 input.

use super::Card;
use crate::mini_loop::habits::Habits;

/// The oracles that see it.
pub const CARD: Card = Card::new("orphan-agent", "openai/codex#15732", &["O-11"]);

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct OrphanAgent;

impl Habits for OrphanAgent {
    fn cancel_reaches(is_streaming: bool) -> bool {
        !is_streaming
    }
}
