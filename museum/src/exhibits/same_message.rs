//! After an interrupt the next answer is written into the message before it.
//!
//! - Report: anomalyco/opencode#5750
//! - Mechanism: the message that was being written when the user interrupted is still the current one, so the blocks of the next answer join it.
//! - Plain scenario: text and a Read, then a second prompt with another Read.
//! - Smallest plan that fails: a cancel while the first Read runs.
//! - Oracles: O-1, O-10
//! - Budget: 0 deviations, 0 faults, 1 input.

use std::sync::Arc;

use reenact::engine::contract::{Block, BlockKind, Role};

use super::{Card, Difference};
use crate::mini_loop::habits::Habits;
use crate::mini_loop::history::{self, History};

/// The oracles that see it.
pub const CARD: Card = Card {
    differences: &[
        Difference::Missed("O-10", "pairs of tool uses and results are asked of O-1 alone, and the API refuses nothing else here"),
        Difference::Further("O-21", "a message that was sent before has other blocks in the next request"),
    ],
    ..Card::new("same-message", "anomalyco/opencode#5750", &["O-1", "O-10"])
};

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct SameMessage;

impl Habits for SameMessage {
    fn record_answer(history: &mut History, blocks: Vec<Block>) {
        let last = history.messages.last().map(|message| &*message.content).unwrap_or_default();
        let was_interrupted = last.iter().any(history::is_result) && matches!(last.last().map(Block::kind), Some(BlockKind::Text(_)));
        let current = history.messages.iter().rposition(|message| message.role == Role::Assistant);
        match current.filter(|_| was_interrupted) {
            Some(current) => Arc::make_mut(&mut history.messages[current]).content.extend(blocks),
            None => history.push(Role::Assistant, blocks),
        }
    }
}
