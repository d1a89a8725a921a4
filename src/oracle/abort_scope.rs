//! O-23: an abort ends what it was pressed in, and nothing that began later. A prompt that ends as aborted was aborted since it began. A message that
//! has to wait for a tool aborts nothing.

use super::interruption::is_cancel;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, RequestId, Terminal};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-23";

/// The reason for which a message is no abort.
const MESSAGE_WAITS: &str = "; the message that came had to wait for a tool that does not stop for messages (`ToolDefinition::interrupt`)";

/// The prompt that the root works on. A prompt begins when it is submitted to an idle session, and otherwise when the engine takes it up.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct AbortScope {
    begun: Option<u32>,
    is_aborted: bool,
    /// A message came while a tool ran that does not stop for messages, so it had to wait.
    has_waiting_message: bool,
    /// Whether the session has asked the model: before that, what an earlier session left open is settled.
    has_asked: bool,
}

impl AbortScope {
    /// Something happens to the root, or to one of its agents: a refusal that aborts an agent ends the whole tree.
    /// `blocks_interrupt`: a tool runs that makes a submitted message wait.
    pub(super) fn on_input(&mut self, rules: &OracleRules, blocks_interrupt: bool, input: &Input) {
        if let Input::Prompt { prompt, .. } | Input::Interrupt { prompt, .. } = input
            && self.begun.is_none()
        {
            return self.begin(rules, *prompt);
        }
        let is_message = matches!(input, Input::Interrupt { .. });
        self.is_aborted |= is_cancel(input) || (is_message && !blocks_interrupt);
        self.has_waiting_message |= is_message && blocks_interrupt;
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, id: RequestId) {
        self.begin(rules, id.prompt);
        self.has_asked = true;
    }

    /// The root wants something.
    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Init { prompt, .. }) => self.begin(rules, *prompt),
            Effect::Finished { prompt, terminal } if self.begun == Some(*prompt) => {
                if matches!(terminal, Terminal::AbortedStreaming | Terminal::AbortedTools) {
                    found.ask(ORACLE);
                    if !self.is_aborted {
                        let but = if self.has_waiting_message { MESSAGE_WAITS } else { "" };
                        found.add(ORACLE, format!("prompt {prompt} ended as aborted, and nothing aborted it since it began{but}"));
                    }
                }
                self.begun = None;
            }
            _ => (),
        }
    }

    fn begin(&mut self, rules: &OracleRules, prompt: u32) {
        if self.begun != Some(prompt) {
            self.begun = Some(prompt);
            self.has_waiting_message = false;
            // A person may have refused for good what an earlier session asked.
            self.is_aborted = !self.has_asked && rules.settings.session.orphaned_permission.is_some();
        }
    }
}
