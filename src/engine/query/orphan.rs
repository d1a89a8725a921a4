//! A tool use of an earlier session whose permission came too late for it (S-3): it is settled before the first request.
//!
//! Consumers see it and its result once more, because the session that could have shown them the result is over.

use super::QueryScope;
use crate::contract::RequestId;
use crate::conversation::OrphanedToolUse;
use crate::emission::AssistantMessage;
use crate::executor::Executor;
use crate::permission::PermissionAnswer;
use reenact_wire::block::{Block, ToolUse};
use reenact_wire::prelude::*;

/// A tool use that a person has answered about since.
pub(super) struct AnsweredOrphan {
    /// The tool use as an answer to no request of this session: turn 0.
    pub(super) message: Arc<AssistantMessage>,
    pub(super) tool_use: ToolUse,
    pub(super) answer: Arc<PermissionAnswer>,
}

impl AnsweredOrphan {
    /// The one that the settings name, if nothing answers it yet.
    pub(super) fn find(scope: &QueryScope<'_>, prompt: u32) -> Option<Self> {
        let answered = scope.env.settings.session.orphaned_permission.as_ref()?;
        let conversation = &scope.memory.conversation;
        let orphan = conversation.orphans().into_iter().find(|orphan| orphan.tool_use.id == answered.tool_use_id)?;
        let OrphanedToolUse { item, block, tool_use } = orphan;
        let shown = conversation.position(&item).and_then(|index| conversation.items().get(index));
        let shown = shown.and_then(|item| item.message.content.get(block)).cloned();
        let message = AssistantMessage {
            uuid: format!("{item}.b{block}").into(),
            id: RequestId { prompt, turn: 0, attempt: 1 },
            api_id: "".into(),
            model: "".into(),
            block: shown.unwrap_or_else(|| Block::text(&tool_use.name)),
            error: None,
        };
        Some(Self { message: Arc::new(message), tool_use, answer: Arc::new(answered.answer.clone()) })
    }
}

/// After any outcome nothing stays open: each tool use that nothing is known of has a result that says so.
pub(super) fn close_all(scope: &mut QueryScope<'_>, executor: &Executor) {
    let settings = &scope.env.settings;
    let (results, attachments) = (executor.results(settings), executor.attachments());
    scope.memory.conversation.answer_orphans(&results, attachments, settings.session.orphan_reply.as_deref(), &settings.texts);
}
