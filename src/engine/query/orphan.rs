//! A tool use of an earlier session whose permission came too late for it (S-3): it is settled before the first request.
//!
//! Consumers see it and its result once more, because the session that could have shown them the result is over.

use super::outcome::QueryEnding;
use super::{Query, QueryBeginning, QueryScope, QueryState, QueryVerdict};
use crate::compaction::CompactionCause;
use crate::contract::{Effect, RequestId, Terminal};
use crate::conversation::OrphanedToolUse;
use crate::emission::{AssistantMessage, CompactTrigger, Emission};
use crate::executor::abort_reason::AbortKind;
use reenact_wire::block::Block;
use reenact_wire::prelude::*;

impl Query {
    /// Settles what earlier sessions left open, then begins. Each tool use that nothing is known of has a result that says so, and so this
    /// happens once in a session.
    pub(super) fn settle_orphans(&mut self, scope: &mut QueryScope<'_>, begins: QueryBeginning) -> QueryVerdict {
        // Without money nothing runs that could ask for more (S-10).
        let answered = scope.env.settings.session.orphaned_permission.as_ref().filter(|_| !self.is_over_budget(scope));
        let orphans = scope.memory.conversation.orphans();
        let Some((orphan, answered)) =
            answered.and_then(|answered| Some((orphans.iter().find(|orphan| orphan.tool_use.id == answered.tool_use_id)?, answered)))
        else {
            self.keep_orphan(scope); // there is no result yet
            return self.begin(scope, begins);
        };
        let message = self.shown_again(scope, orphan);
        scope.effects.push(Effect::Emit(Emission::Assistant(Arc::new(message.clone()))));
        let answer = Some(Arc::new(answered.answer.clone()));
        let submitted = self.executor.submit_answered(&mut scope.pipeline(), &message, &orphan.tool_use, answer);
        let started = self.executor.on_stream_over(&mut scope.pipeline());
        self.state = QueryState::Settling { begins };
        match submitted.abort.or(started.abort) {
            Some(_) => self.abort(scope, AbortKind::Cancel), // T-14: the person wants no more of it
            None => self.settle(scope),
        }
    }

    /// The tool use has its result: it joins the conversation, and the prompt begins.
    pub(super) fn on_orphan_settled(&mut self, scope: &mut QueryScope<'_>, begins: QueryBeginning) -> QueryVerdict {
        self.totals.denials.extend(self.executor.take_denials());
        self.keep_orphan(scope);
        let stopped = self.executor.stopped_by_hook().cloned();
        self.begin_answer();
        match stopped {
            Some(why) => {
                scope.effects.push(Effect::Emit(Emission::Warning { text: format!("a hook ends the turn: {why}").into() }));
                self.end(scope, QueryEnding::well(Terminal::HookStopped))
            }
            None => self.begin(scope, begins),
        }
    }

    /// After any outcome nothing stays open.
    pub(super) fn keep_orphan(&self, scope: &mut QueryScope<'_>) {
        let settings = &scope.env.settings;
        let (results, attachments) = (self.executor.results(settings), self.executor.attachments());
        scope.memory.conversation.answer_orphans(&results, attachments, settings.session.orphan_reply.as_deref(), &settings.texts);
    }

    /// The first request, or what is done instead of it.
    fn begin(&mut self, scope: &mut QueryScope<'_>, begins: QueryBeginning) -> QueryVerdict {
        let id = RequestId::first(self.prompt);
        if self.is_over_budget(scope) {
            return self.end_over_budget(scope); // no hook of a compaction is asked, either
        }
        match begins {
            QueryBeginning::Asking => self.begin_iteration(scope, id),
            QueryBeginning::Compacting(instructions) => {
                let cause =
                    CompactionCause { trigger: CompactTrigger::Manual, instructions, excess: None, without_media: false, answers_min: 0 };
                self.compact(scope, cause, (id, super::AfterCompaction::End(id)))
            }
        }
    }

    /// The tool use as an answer to no request of this session: turn 0.
    fn shown_again(&self, scope: &QueryScope<'_>, orphan: &OrphanedToolUse) -> AssistantMessage {
        let OrphanedToolUse { item, block, tool_use } = orphan;
        let shown = scope.memory.conversation.position(item).and_then(|index| scope.memory.conversation.items().get(index));
        let shown = shown.and_then(|item| item.message.content.get(*block)).cloned();
        AssistantMessage {
            uuid: format!("{item}.b{block}").into(),
            id: RequestId { prompt: self.prompt, turn: 0, attempt: 1 },
            api_id: "".into(),
            model: "".into(),
            block: shown.unwrap_or_else(|| Block::text(&tool_use.name)),
            error: None,
        }
    }
}
