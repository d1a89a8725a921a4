//! O-30: the interruption message appears where a cancel ended a prompt, and nowhere else.
//!
//! A cancel is the user's, or what counts as one: a person refuses a tool and ends all, a tool aborts itself (T-14). It ends the whole tree of
//! agents.

use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, Terminal};
use reenact_engine::permission::PermissionAnswer;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-30";

/// The reason to end the prompt of one agent, as far as it was seen.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Interruption {
    is_cancelled: bool,
    /// A message was submitted, which may have ended the prompt before a cancel came.
    is_interrupted: bool,
    is_said: bool,
}

/// Whether this ends what all agents do, as a cancel does.
pub(super) fn is_cancel(input: &Input) -> bool {
    match input {
        Input::Cancel => true,
        Input::ToolEnded { outcome, .. } => outcome.abort.is_some(),
        Input::PermissionAnswered { answer, .. } => matches!(**answer, PermissionAnswer::RefuseAndAbort { .. }),
        _ => false,
    }
}

impl Interruption {
    pub(super) fn on_cancel(&mut self) {
        self.is_cancelled = true;
    }

    pub(super) fn on_input(&mut self, input: &Input) {
        self.is_interrupted |= matches!(input, Input::Interrupt { .. });
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Init { .. }) => *self = Self::default(),
            Effect::Emit(Emission::Interrupted { prompt, .. }) => {
                found.ask(ORACLE);
                // What a person has answered in an earlier session may end all, too.
                if !self.is_cancelled && rules.settings.session.orphaned_permission.is_none() {
                    found.add(ORACLE, format!("prompt {prompt} has an interruption message, and it was not cancelled"));
                }
                self.is_said = true;
            }
            Effect::Finished { .. } => *self = Self::default(),
            _ => (),
        }
    }

    /// The user's cancel ended the root's prompt: it says so.
    pub(super) fn on_root_finished(&self, effect: &Effect, found: &mut OracleFindings<'_>) {
        if let Effect::Finished { prompt, terminal: Terminal::AbortedStreaming | Terminal::AbortedTools } = effect
            && self.is_cancelled
            && !self.is_interrupted
        {
            found.ask(ORACLE);
            if self.is_said {
                return;
            }
            found.add(ORACLE, format!("prompt {prompt} was cancelled, and it has no interruption message"));
        }
    }
}
