//! A conversation is sent in one order while it lasts, and in another one later.
//!
//! - Report: vercel/ai#16567
//! - Mechanism: results are sent in the order in which the tools ended; the stored conversation, from which the next prompt goes on, has them in the order of the calls.
//! - Plain scenario: two Reads that end in the order of their calls, and a second prompt.
//! - Smallest plan that fails: the first Read ends last: one deviation.
//! - Oracles: O-21
//! - Budget: 1 deviation, 0 faults, 0 inputs.

use core::cmp::Reverse;
use std::sync::Arc;

use reenact::engine::contract::{Block, BlockKind, Message};

use super::Card;
use crate::mini_loop::habits::Habits;
use crate::mini_loop::history::History;

/// The oracles that see it.
pub const CARD: Card = Card::new("completion-order", "vercel/ai#16567", &["O-21"]);

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct CompletionOrder;

impl Habits for CompletionOrder {
    fn keep_prompt(history: &mut History) {
        for at in 1..history.messages.len() {
            let (before, rest) = history.messages.split_at_mut(at);
            let answer = &before[at - 1];
            // What is no result stays behind the results.
            Arc::make_mut(&mut rest[0]).content.sort_by_key(|block| Reverse(place_from_the_end(answer, block)));
        }
    }
}

/// How many blocks of an answer there are from the tool use of a result on; 0 for any other block.
fn place_from_the_end(answer: &Message, block: &Block) -> usize {
    let BlockKind::ToolResult { tool_use_id, .. } = block.kind() else { return 0 };
    let is_its_use = |asked: &Block| asked.as_tool_use().is_some_and(|tool_use| tool_use.id == *tool_use_id);
    answer.content.iter().position(is_its_use).map_or(0, |at| answer.content.len() - at)
}
