//! The texts of results: each is read once, for all oracles that look at it.

use reenact_engine::contract::{Effect, Emission, Input};
use reenact_wire::block::joined_text;
use reenact_wire::prelude::*;

/// The text of the result that an effect gives out; empty for all other effects.
pub(super) fn told_text(effect: &Effect) -> String {
    match effect {
        Effect::Emit(Emission::User(message)) => message.block.result_text().unwrap_or_default(),
        _ => String::new(),
    }
}

/// The text that a tool returns; `None` for all other inputs.
pub(super) fn returned_text(input: &Input) -> Option<Arc<str>> {
    match input {
        Input::ToolEnded { outcome, .. } => Some(joined_text(outcome.content.as_str()).into()),
        _ => None,
    }
}
