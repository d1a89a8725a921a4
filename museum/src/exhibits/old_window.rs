//! After a fallback the conversation is never too long, and the API refuses it again and again.
//!
//! - Report: NousResearch/hermes-agent#11326
//! - Mechanism: the threshold of compaction stays that of the first model.
//! - Plain scenario: a Read with a long result.
//! - Smallest plan that fails: another model with half the window takes over after the Read.
//! - Oracles: O-12, O-18
//! - Budget: 0 deviations, 1 fault, 0 inputs.

use reenact::engine::contract::Environment;

use super::{Card, Difference};
use crate::mini_loop::habits::Habits;
use crate::mini_loop::history::ContextFacts;

/// The oracles that see it.
pub const CARD: Card = Card {
    differences: &[Difference::Missed("O-18", "the loop gives up after three refusals, so a terminal is reached")],
    ..Card::new("old-window", "NousResearch/hermes-agent#11326", &["O-12", "O-18"])
};

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct OldWindow;

impl Habits for OldWindow {
    fn context_limit(env: &Environment, facts: &ContextFacts) -> Option<u64> {
        ContextFacts::limit(env, &facts.first_model)
    }
}
