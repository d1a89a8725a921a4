//! Answers that end a prompt.

use proptest::prelude::*;

use super::values::words;
use reenact_scenario::types::{ScriptedTurn, TurnBlock};
use reenact_wire::prelude::*;

/// An answer that ends a prompt.
pub fn closing_turn() -> BoxedStrategy<ScriptedTurn> {
    words().prop_map(|words| ScriptedTurn { content: vec![TurnBlock::Text(words)], may: true, ..ScriptedTurn::default() }).boxed()
}
