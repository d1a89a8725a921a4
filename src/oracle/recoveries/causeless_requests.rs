//! O-34, of requests without a cause: after an answer that was whole, with words and without tool uses, the model is asked once more in the same prompt only where
//! somebody wants more: the user, a hook, or a setting.

use super::ORACLE;
use crate::request_kind::{RequestKind, SentRequest};
use crate::{OracleFindings, OracleRules};
use reenact_engine::contract::{AnswerEnd, Effect, Emission, EventPayload, Input, RequestId};
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;
use reenact_wire::whole_message::whole_message;

/// The last answer of the conversation of one agent.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct CauselessRequestOracle {
    asked: Option<RequestId>,
    has_words: bool,
    has_tool_use: bool,
    has_ended: bool,
    /// Whether its last event came.
    is_stopped: bool,
    /// The blocks that have begun and not ended.
    open_blocks: u32,
    /// Somebody wants more.
    has_cause: bool,
}

impl CauselessRequestOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        match input {
            Input::Prompt { .. } | Input::Interrupt { .. } | Input::HookEnded { .. } => self.has_cause = true,
            Input::Stream { id, event } if self.asked == Some(*id) => match event.payload() {
                EventPayload::BlockStart { kind, .. } => {
                    self.open_blocks += 1;
                    self.has_words |= *kind == "text";
                    self.has_tool_use |= *kind != "text" && !kind.contains("thinking");
                }
                EventPayload::BlockStop { .. } => self.open_blocks = self.open_blocks.saturating_sub(1),
                EventPayload::MessageDelta(delta) => self.has_ended |= ends_turn(delta.stop_reason.as_deref()),
                EventPayload::MessageStop => self.is_stopped = true,
                EventPayload::Error { .. } => self.has_cause = true,
                _ => (),
            },
            Input::Body { id, body } if self.asked == Some(*id) => {
                let Ok(message) = whole_message(body) else { return };
                self.is_stopped = true;
                self.has_ended = ends_turn(message.stop_reason.as_deref());
                self.has_words = message.blocks.iter().any(|block| matches!(block.kind(), BlockKind::Text(_)));
                self.has_tool_use = message.blocks.iter().any(|block| block.as_tool_use().is_some());
            }
            Input::End { how, id } => self.has_cause |= *how != AnswerEnd::Complete || (self.asked == Some(*id) && !self.is_stopped),
            _ => (),
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        // An attempt that the engine takes for broken is made again.
        self.has_cause |=
            matches!(effect, Effect::CloseRequest { .. } | Effect::Emit(Emission::Tombstone { .. } | Emission::ModelFallback { .. }));
    }

    /// `is_noted`: the engine notes how it goes on. Another one may ask for a summary in words that no setting knows.
    pub(super) fn on_request(&mut self, rules: &OracleRules, is_noted: bool, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        if sent.kind != RequestKind::Ordinary {
            return;
        }
        let was_enough = self.has_ended && self.open_blocks == 0 && self.has_words && !self.has_tool_use && !self.has_cause;
        let is_next = self.asked.is_some_and(|asked| asked.prompt == sent.id.prompt && asked.turn < sent.id.turn);
        if was_enough && is_next && is_noted && !wants_more(rules) {
            found.ask(ORACLE);
            found.add(ORACLE, format!("request {} follows an answer that was whole, and nobody wanted more", sent.id));
        }
        *self = Self { asked: Some(sent.id), ..Self::default() };
    }
}

fn ends_turn(stop_reason: Option<&str>) -> bool {
    stop_reason == Some("end_turn")
}

/// Whether a setting may ask the model to go on.
fn wants_more(rules: &OracleRules) -> bool {
    let session = &rules.settings.session;
    session.token_budget.is_some() || session.json_schema.is_some() || !session.host_messages.is_empty() || !rules.hooks.is_empty()
}
