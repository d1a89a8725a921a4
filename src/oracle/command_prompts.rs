//! The prompts that are commands of the user (S-3). One may change the conversation and be aborted before anything is said of it.

use reenact_engine::contract::{Block, BlockKind, Effect, Emission, Input};
use reenact_wire::prelude::*;

/// The commands that have not ended, by the numbers of their prompts.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct CommandPrompts(Vec<(u32, CommandKind)>);

/// A kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CommandKind {
    /// It takes all that was said out of the conversation.
    Clear,
    Other,
}

/// The text of the command that clears the conversation.
const CLEAR: &str = "/clear";

impl CommandPrompts {
    /// Whether this is a command. It may have to wait for other prompts.
    pub(super) fn begins_by(&mut self, input: &Input) -> bool {
        let (Input::Prompt { prompt, content } | Input::Interrupt { prompt, content }) = input else { return false };
        let is_command = has_command(content);
        if is_command {
            let is_clear = matches!(&content[..], [only] if matches!(only.kind(), BlockKind::Text(text) if text.trim() == CLEAR));
            self.0.push((*prompt, if is_clear { CommandKind::Clear } else { CommandKind::Other }));
        }
        is_command
    }

    /// The command that this ends.
    pub(super) fn ended_by(&mut self, effect: &Effect) -> Option<CommandKind> {
        let (prompt, is_end) = match effect {
            Effect::Finished { prompt, .. } => (prompt, true),
            // As part of another prompt it is words for the model, and no command.
            Effect::Emit(Emission::QueuedCommand { prompt, .. }) => (prompt, false),
            _ => return None,
        };
        let at = self.0.iter().position(|(command, _)| command == prompt)?;
        Some(self.0.remove(at).1).filter(|_| is_end)
    }
}

/// Whether the user gives a command.
pub(super) fn has_command(content: &[Block]) -> bool {
    content.iter().any(|block| matches!(block.kind(), BlockKind::Text(text) if is_command(text)))
}

/// Whether the engine answers a text itself, or puts another one in its place.
pub(super) fn is_command(text: &str) -> bool {
    text.trim_start().starts_with('/')
}
