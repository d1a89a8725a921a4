//! O-24, of an earlier session: its words are in the first request of the conversation (S-3). Results and thinking are not looked for, which the engine may
//! clear or leave out, and nothing is after an edit of the conversation, or where a span of it may be replaced.

use super::command_prompts::CommandPrompts;
use super::nothing_lost::{ORACLE, escaped};
use super::request_kind::{RequestKind, SentRequest};
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input};
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;

/// Whether the first request of the root went out, or nothing can be asked of it any more.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct HistoryOracle {
    is_over: bool,
    commands: CommandPrompts,
}

impl HistoryOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        self.commands.begins_by(input);
        self.is_over |= matches!(input, Input::MarkedDead { .. } | Input::CollapseStaged(_));
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        // One that was aborted before it said anything may have cleared the conversation.
        self.is_over |= self.commands.ended_by(effect).is_some();
        if let Effect::Emit(Emission::CompactBoundary { .. } | Emission::SnipBoundary { .. } | Emission::LocalOutput { .. }) = effect {
            self.is_over = true;
        }
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        if self.is_over || sent.kind != RequestKind::Ordinary {
            return;
        }
        self.is_over = true;
        let blocks = || sent.request.messages.iter().flat_map(|message| &message.content);
        for block in rules.history.iter().flat_map(|message| &message.content) {
            let BlockKind::Text(text) = block.kind() else { continue };
            let words = escaped(text.trim());
            found.ask(ORACLE);
            if !blocks().any(|block| block.json().as_str().contains(&*words)) {
                found.add(ORACLE, format!("request {} lacks words of the earlier session: {}", sent.id, text.trim()));
            }
        }
    }
}
