//! Messages of the user that were submitted while tools ran that do not stop for one: they join the results of these tools.

use super::QueryScope;
use crate::contract::Effect;
use crate::emission::Emission;
use crate::executor::result;
use crate::settings::{NeighbourMerging, QueuedMessagePlace};
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The messages that wait, each with the number of its prompt.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct QueuedMessages(Vec<(u32, Arc<[Block]>)>);

impl QueuedMessages {
    pub(super) fn add(&mut self, prompt: u32, message: &Arc<[Block]>) {
        self.0.push((prompt, message.clone()));
    }

    /// Those that found no place in the conversation.
    pub(super) fn take(&mut self) -> Vec<(u32, Arc<[Block]>)> {
        core::mem::take(&mut self.0)
    }

    /// Puts all of them where the settings say, and says so: into the last of these results, or beside them. Returns those that are to stand beside, as items
    /// of their own: a compaction keeps what the user said and nobody has answered.
    pub(super) fn join(&mut self, scope: &mut QueryScope<'_>, results: &mut Vec<Block>) -> Vec<(u32, Arc<[Block]>)> {
        let mut beside = Vec::new();
        for (prompt, message) in self.take() {
            let holder = match scope.env.settings.queued_messages {
                QueuedMessagePlace::Beside if scope.env.settings.neighbours == NeighbourMerging::Joined => {
                    beside.push((prompt, message.clone()));
                    None
                }
                // As messages of their own they would be sent apart.
                QueuedMessagePlace::Beside => {
                    let last = results.iter().rev().find_map(answered_tool_use).cloned();
                    results.extend(message.iter().cloned());
                    last
                }
                QueuedMessagePlace::InResult => put_into_last_result(results, &message, &scope.env.settings.texts),
            };
            holder.into_iter().for_each(|tool_use_id| scope.memory.conversation.note_message_in_result(tool_use_id));
            scope.effects.push(Effect::Emit(Emission::QueuedCommand { prompt, content: message }));
        }
        beside
    }
}

/// the text of a message goes into the last result of a tool, and what is no text behind the results. Returns the tool use of that result.
fn put_into_last_result(content: &mut Vec<Block>, message: &[Block], texts: &ModelTexts) -> Option<Arc<str>> {
    let said = |block: &Block| match block.kind() {
        BlockKind::Text(text) => Some(text.clone()),
        _ => None,
    };
    let note = texts.say(TextName::QueuedMessage, &[("message", &message.iter().filter_map(said).collect::<Vec<_>>().join("\n"))]);
    let last = content.iter_mut().rev().find_map(|block| with_note(block, &note).map(|noted| (block, noted)));
    let Some((block, (tool_use_id, noted))) = last else {
        content.extend(message.iter().cloned());
        return None;
    };
    *block = noted;
    content.extend(message.iter().filter(|block| said(block).is_none()).cloned());
    Some(tool_use_id)
}

/// The tool use of a result; `None` for another block.
fn answered_tool_use(block: &Block) -> Option<&Arc<str>> {
    if let BlockKind::ToolResult { tool_use_id, .. } = block.kind() { Some(tool_use_id) } else { None }
}

/// The result of a tool with a note at its end, and the tool use; `None` for another block.
fn with_note(block: &Block, note: &str) -> Option<(Arc<str>, Block)> {
    let BlockKind::ToolResult { tool_use_id, .. } = block.kind() else { return None };
    let members = RawObject::parse(block.json().as_str()).ok()?;
    let noted = result::with_note(&Json::trusted(members.get("content").unwrap_or("\"\"")), note);
    let noted = Block::assembled(block.kind().clone(), Json::trusted(members.with(&[("content", noted.as_str().into())])));
    Some((tool_use_id.clone(), noted))
}
