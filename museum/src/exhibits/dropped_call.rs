//! A cancel while a tool runs leaves its tool use without a result.
//!
//! - Report: openai/codex#394
//! - Mechanism: on a cancel the executor is dropped, and with it all that it would have written into the history.
//! - Plain scenario: one Read that is answered, and a second prompt.
//! - Smallest plan that fails: a cancel while the Read runs, before the second prompt.
//! - Oracles: O-1, O-2
//! - Budget: 0 deviations, 0 faults, 1 input.

use super::Card;
use crate::mini_loop::habits::Habits;
use crate::mini_loop::scope::StepScope;
use crate::mini_loop::tool_table::ToolTable;

/// The oracles that see it.
pub const CARD: Card = Card::new("dropped-call", "openai/codex#394", &["O-1", "O-2"]);

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct DroppedCall;

impl Habits for DroppedCall {
    fn close_tool_uses(table: &mut ToolTable, _scope: &mut StepScope<'_>) {
        *table = ToolTable::default();
    }
}
