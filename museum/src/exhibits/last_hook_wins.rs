//! A tool runs with the input of one hook or of another one, by how long the hooks take.
//!
//! - Report: anthropics/claude-code#83353
//! - Mechanism: of two hooks that change the input the one that ends last wins, not the one that is defined last.
//! - Plain scenario: two hooks that change the input, ending in the order of their definition.
//! - Smallest plan that fails: their latencies are swapped: one deviation.
//! - Oracles: O-26
//! - Budget: 1 deviation, 0 faults, 0 inputs.

use reenact::engine::contract::Json;

use super::Card;
use crate::mini_loop::habits::Habits;
use crate::mini_loop::tool_table::HookAnswer;

/// The oracles that see it.
pub const CARD: Card = Card::new("last-hook-wins", "anthropics/claude-code#83353", &["O-26"]);

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct LastHookWins;

impl Habits for LastHookWins {
    fn changed_input(answers: &[HookAnswer]) -> Option<Json> {
        answers.iter().rev().find_map(|answer| answer.outcome.updated_input.clone())
    }
}
