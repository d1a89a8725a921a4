//! The prompts that are commands of the user (S-3). One may change the conversation and be aborted before anything is said of it.

use super::nothing_lost::is_command;
use reenact_engine::contract::{Block, BlockKind, Effect, Input};
use reenact_wire::prelude::*;

/// The commands that have not ended, by the numbers of their prompts.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct CommandPrompts(Vec<u32>);

impl CommandPrompts {
    /// Whether this is a command. It may have to wait for other prompts.
    pub(super) fn begins_by(&mut self, input: &Input) -> bool {
        let (Input::Prompt { prompt, content } | Input::Interrupt { prompt, content }) = input else { return false };
        let is_command = has_command(content);
        if is_command {
            self.0.push(*prompt);
        }
        is_command
    }

    /// Whether this ends a command.
    pub(super) fn is_ended_by(&mut self, effect: &Effect) -> bool {
        let Effect::Finished { prompt, .. } = effect else { return false };
        let before = self.0.len();
        self.0.retain(|command| command != prompt);
        self.0.len() < before
    }
}

/// Whether the user gives a command.
pub(super) fn has_command(content: &[Block]) -> bool {
    content.iter().any(|block| matches!(block.kind(), BlockKind::Text(text) if is_command(text)))
}
