//! O-7: an error that was recovered from is never emitted, and one that was not is emitted exactly once.
//!
//! Consumers end a session at the first error that they see. So an error is the last word of its prompt: nothing is asked after it.

use super::OracleFindings;
use reenact_engine::contract::{Effect, Emission, Note, RequestId, Terminal};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-7";

/// The state of the current prompt.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct WithheldOracle {
    /// How many errors were emitted.
    errors: u32,
    /// The latest answer that asks for a tool.
    has_tool_use: Option<RequestId>,
    /// The latest answer, if it reached the output limit and asks for no tool.
    at_limit: Option<RequestId>,
}

impl WithheldOracle {
    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Assistant(message)) if message.error.is_some() => {
                self.errors += 1;
                if self.errors > 1 {
                    found.add(ORACLE, format!("a second error came out: {}", message.uuid));
                }
            }
            Effect::Emit(Emission::Assistant(message)) if message.block.as_tool_use().is_some() => self.has_tool_use = Some(message.id),
            Effect::Emit(Emission::Answered { id, stop_reason, .. }) => {
                let is_cut = matches!(stop_reason.as_deref(), Some("max_tokens" | "model_context_window_exceeded"));
                self.at_limit = (is_cut && self.has_tool_use != Some(*id)).then_some(*id);
            }
            Effect::Note(Note::Transition(transition)) => self.on_going_on(&transition.as_str(), found),
            Effect::Finished { terminal, .. } => {
                self.on_finished(terminal, found);
                *self = Self::default();
            }
            _ => (),
        }
    }

    pub(super) fn on_request(&mut self, id: RequestId, found: &mut OracleFindings<'_>) {
        self.on_going_on(&format_args!("request {id}"), found);
    }

    fn on_going_on(&mut self, how: &dyn core::fmt::Display, found: &mut OracleFindings<'_>) {
        self.at_limit = None; // recovered, or something else was decided
        if self.errors > 0 {
            found.add(ORACLE, format!("an error came out, and then the prompt went on with {how}"));
        }
    }

    fn on_finished(&self, terminal: &Terminal, found: &mut OracleFindings<'_>) {
        let is_lost = matches!(terminal, Terminal::PromptTooLong | Terminal::ImageError | Terminal::ModelError | Terminal::BlockingLimit);
        let is_cut = *terminal == Terminal::Completed && self.at_limit.is_some();
        if is_lost || is_cut || self.errors > 0 {
            found.ask(ORACLE);
        }
        if (is_lost || is_cut) && self.errors == 0 {
            found.add(ORACLE, format!("the prompt ended with {} after a failure, and no error was emitted", terminal.as_str()));
        }
    }
}
