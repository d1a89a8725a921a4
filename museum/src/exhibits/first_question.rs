//! Leave for one tool starts another one.
//!
//! - Report: zed-industries/zed PR 54683
//! - Mechanism: a person's answer resolves the first question that is open, whichever it was given to.
//! - Plain scenario: two tools that ask, answered in the order of the questions.
//! - Smallest plan that fails: the second question is answered first: one deviation.
//! - Oracles: O-22
//! - Budget: 1 deviation, 0 faults, 0 inputs.

use reenact::engine::contract::ToolRun;

use super::Card;
use crate::mini_loop::habits::Habits;
use crate::mini_loop::tool_table::{ToolEntry, ToolStage};

/// The oracles that see it.
pub const CARD: Card = Card::new("first-question", "zed-industries/zed PR 54683", &["O-22"]);

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct FirstQuestion;

impl Habits for FirstQuestion {
    fn answered_question(entries: &[ToolEntry], _run: ToolRun) -> Option<usize> {
        entries.iter().position(|entry| entry.stage == ToolStage::Asking)
    }
}
