//! The memory of a session from prompt to prompt: the conversation, and what later requests depend on.
//!
//! The session owns it. The query that works on a prompt reads it and adds to it, step by step, so nothing is handed over at a prompt's end.

use crate::budget::NanoUsd;
use crate::call::CallStanding;
use crate::compaction::CompactionTracking;
use crate::contract::Input;
use crate::conversation::Conversation;
use crate::emission::AssistantMessage;
use crate::permission::context::PermissionContext;
use crate::settings::{Environment, RequestPlace};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::container::container_id;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::usage::Usage;

/// The memory from prompt to prompt.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct SessionMemory {
    /// The conversation.
    pub(crate) conversation: Conversation,
    /// The model that signed the thinking in it; `None` when no request was made yet.
    pub(crate) signed_by: Option<Arc<str>>,
    /// The memory of compactions.
    pub(crate) tracking: CompactionTracking,
    /// The state that the next call continues from.
    pub(crate) standing: CallStanding,
    /// The model that the user chose; `None` for the settings' one (S-3).
    pub(crate) model: Option<Arc<str>>,
    /// The spending of the prompts before this one (S-10).
    pub(crate) spent: NanoUsd,
    /// The tokens of the task budget that went with compactions (C-6).
    pub(crate) task_tokens_used: u64,
    /// The permissions that were learnt (T-11, T-24).
    pub(crate) permissions: PermissionContext,
    /// The last request that was made: what the host does counts from there on (S-11).
    pub(crate) reached: RequestPlace,
    /// The container that the API's tools run in, as answers named it (S-11).
    pub(crate) container: Option<Arc<str>>,
}

impl SessionMemory {
    /// From here on another model may be asked: signatures are bound to the one that gave them.
    pub(crate) fn turn_to(&mut self, model: &Arc<str>) {
        if self.signed_by.as_ref().is_some_and(|signed_by| signed_by != model) {
            self.conversation.strip_signatures();
        }
        self.signed_by = Some(model.clone());
    }

    /// Takes note of what is done about the next time that a request is made: dead messages (C-1), summaries of spans (C-3).
    pub(crate) fn take_note(&mut self, input: &Input) {
        match input {
            Input::MarkedDead { names } => self.tracking.mark_dead(names),
            Input::CollapseStaged(staged) => self.conversation.stage(staged.clone()),
            _ => (), // too late for anything
        }
    }

    /// N-7: the blocks of one answer are one message again. The API refuses a message without content, and one in which two tool uses share an id:
    /// the first one is kept, as clients do that are in use. It refuses thinking that nothing follows: that is left out, too.
    pub(crate) fn keep_answer(&mut self, blocks: &[Arc<AssistantMessage>], usage: Option<Usage>) {
        // The API refuses blank text, too.
        let is_empty = |block: &Block| matches!(block.kind(), BlockKind::Text(text) if text.trim().is_empty());
        let mut content: Vec<Block> = Vec::new();
        for block in blocks.iter().map(|message| &message.block).filter(|block| !is_empty(block)) {
            let id = |block: &Block| block.as_tool_use().map(|tool_use| tool_use.id.clone());
            if id(block).is_none() || !content.iter().any(|kept| id(kept) == id(block)) {
                content.push(block.clone());
            }
        }
        content.truncate(content.iter().rposition(|block| !block.is_thinking()).map_or(0, |last| last + 1));
        if let Some(first) = blocks.first() {
            self.conversation.push_answer(first.id, content, usage);
        }
    }

    /// Takes note of the container that an answer names.
    pub(crate) fn remember_container(&mut self, env: &Environment, input: &Input) {
        if !env.settings.session.keep_container {
            return;
        }
        let named = match input {
            Input::Stream { event, .. } => container_id(event.data()),
            Input::Body { body, .. } => container_id(body),
            _ => None,
        };
        self.container = named.or(self.container.take());
    }

    /// The request with the container that was named last, unless it names one itself.
    pub(crate) fn with_container(&self, request: Request) -> Request {
        match &self.container {
            Some(id) => request.with_container(id),
            None => request,
        }
    }
}
