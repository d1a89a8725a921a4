//! A tool runs with an input that no attempt has written.
//!
//! - Report: endolith/open-interpreter#291
//! - Mechanism: the buffer of arguments is not cleared for a retry, and a lenient parser makes an input of what stands at its beginning.
//! - Plain scenario: one Write.
//! - Smallest plan that fails: the first attempt is cut inside the input; the second one is whole.
//! - Oracles: O-25
//! - Budget: 0 deviations, 1 fault, 0 inputs.

use reenact::engine::contract::{ToolInput, ToolUse};

use super::Card;
use crate::mini_loop::call::Call;
use crate::mini_loop::habits::Habits;

/// The oracles that see it.
pub const CARD: Card = Card::new("kept-buffer", "endolith/open-interpreter#291", &["O-25"]);

/// The ends that a lenient parser tries for a text that breaks off.
const CLOSINGS: [&str; 3] = ["\"}", "}", "null}"];

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct KeptBuffer;

impl Habits for KeptBuffer {
    fn tool_input(call: &Call, tool_use: &ToolUse) -> ToolInput {
        let before = call.attempts.iter().rev().skip(1).flat_map(|attempt| attempt.assembler.open_blocks());
        let kept = before.filter_map(|(_, block)| Some(block.as_tool_use()?.input.as_str().to_owned())).next();
        let readings = kept.iter().flat_map(|kept| CLOSINGS.map(|closing| ToolInput::read(&format!("{kept}{closing}"))));
        readings.into_iter().find(|input| matches!(input, ToolInput::Valid(_))).unwrap_or_else(|| tool_use.input.clone())
    }
}
