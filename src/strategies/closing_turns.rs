//! Answers that end a prompt.

use proptest::prelude::*;

use super::values::words;
use crate::prelude::*;
use crate::scenario::types::{ScriptedTurn, TurnBlock};

/// An answer that ends a prompt.
pub fn closing_turn() -> BoxedStrategy<ScriptedTurn> {
    words().prop_map(|words| ScriptedTurn { content: vec![TurnBlock::Text(words)], may: true, ..ScriptedTurn::default() }).boxed()
}
