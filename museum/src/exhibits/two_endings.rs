//! A prompt that was cancelled ends a second time, well.
//!
//! - Report: vercel/ai#20908
//! - Mechanism: the finaliser of a turn that was complete runs after the abort of a later turn.
//! - Plain scenario: a turn with a tool, and an answer.
//! - Smallest plan that fails: a cancel after the first delta of the second turn.
//! - Oracles: O-8
//! - Budget: 0 deviations, 0 faults, 1 input.

use reenact::engine::contract::Terminal;

use super::Card;
use crate::mini_loop::habits::Habits;

/// The oracles that see it.
pub const CARD: Card = Card::new("two-endings", "vercel/ai#20908", &["O-8"]);

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct TwoEndings;

impl Habits for TwoEndings {
    fn terminals(terminal: Terminal, turns: u32) -> Vec<Terminal> {
        let is_aborted = matches!(terminal, Terminal::AbortedStreaming | Terminal::AbortedTools);
        let finaliser = (is_aborted && turns > 0).then_some(Terminal::Completed);
        [terminal].into_iter().chain(finaliser).collect()
    }
}
