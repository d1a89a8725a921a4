//! A tool use of an earlier session whose permission came too late for it (S-3): it is settled before the first request.
//!
//! Consumers see it and its result once more, because the session that could have shown them the result is over.

use super::outcome::QueryEnding;
use super::{Query, QueryBeginning, QueryState, QueryTurn, QueryVerdict};
use crate::engine::agent_effects::AgentEffects;
use crate::engine::compaction::CompactionCause;
use crate::engine::contract::{Effect, RequestId, Terminal};
use crate::engine::conversation::OrphanedToolUse;
use crate::engine::emission::{AssistantMessage, CompactTrigger, Emission};
use crate::engine::executor::abort::AbortKind;
use crate::engine::executor::{Executor, PipelineScope};
use crate::engine::settings::Environment;
use crate::engine::time::Time;
use crate::prelude::*;
use crate::wire::block::Block;

impl Query {
    /// Settles what earlier sessions left open, then begins. Each tool use that nothing is known of has a result that says so, and so this
    /// happens once in a session.
    pub(super) fn settle_orphans(
        &mut self,
        env: &Environment,
        now: Time,
        begins: QueryBeginning,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        // Without money nothing runs that could ask for more (S-10).
        let answered = env.settings.session.orphaned_permission.as_ref().filter(|_| !self.is_over_budget(env, effects));
        let orphans = self.carried.conversation.orphans();
        let Some((orphan, answered)) =
            answered.and_then(|answered| Some((orphans.iter().find(|orphan| orphan.tool_use.id == answered.tool_use_id)?, answered)))
        else {
            self.carried.conversation.answer_orphans(&[], Vec::new(), env.settings.session.orphan_reply.as_deref(), &env.settings.texts);
            return self.begin(env, now, begins, Executor::default(), effects);
        };
        let message = self.shown_again(orphan);
        effects.push(Effect::Emit(Emission::Assistant(Arc::new(message.clone()))));
        let mut executor = Executor::default();
        let scope = &mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects };
        let submitted = executor.submit_answered(scope, &message, &orphan.tool_use, Some(Arc::new(answered.answer.clone())));
        let started = executor.on_stream_over(scope);
        self.state = QueryState::Settling { executor, begins };
        match submitted.abort.or(started.abort) {
            Some(_) => self.abort(env, now, AbortKind::Cancel, effects), // T-14: the person wants no more of it
            None => self.settle(env, now, effects),
        }
    }

    /// The tool use has its result: it joins the conversation, and the prompt begins.
    pub(super) fn on_orphan_settled(
        &mut self,
        env: &Environment,
        now: Time,
        mut executor: Executor,
        begins: QueryBeginning,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        self.totals.denials.extend(executor.take_denials());
        self.keep_orphan(env, &executor);
        if let Some(why) = executor.stopped_by_hook().cloned() {
            effects.push(Effect::Emit(Emission::Warning { text: format!("a hook ends the turn: {why}").into() }));
            return self.end(env, now, executor.successor(), QueryEnding::well(Terminal::HookStopped), effects);
        }
        self.begin(env, now, begins, executor.successor(), effects)
    }

    /// After any outcome nothing stays open.
    pub(super) fn keep_orphan(&mut self, env: &Environment, executor: &Executor) {
        let reply = env.settings.session.orphan_reply.as_deref();
        self.carried.conversation.answer_orphans(&executor.results(&env.settings), executor.attachments(), reply, &env.settings.texts);
    }

    /// The first request, or what is done instead of it.
    fn begin(
        &mut self,
        env: &Environment,
        now: Time,
        begins: QueryBeginning,
        executor: Executor,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        let id = RequestId::first(self.prompt);
        if self.is_over_budget(env, effects) {
            return self.end_over_budget(env, now, QueryTurn { executor, ..QueryTurn::default() }, effects); // no hook of a compaction is asked, either
        }
        match begins {
            QueryBeginning::Asking => self.begin_iteration(env, now, id, executor, effects),
            QueryBeginning::Compacting(instructions) => {
                let cause =
                    CompactionCause { trigger: CompactTrigger::Manual, instructions, excess: None, without_media: false, answers_min: 0 };
                self.compact(env, now, cause, (id, executor, super::AfterCompaction::End(id)), effects)
            }
        }
    }

    /// The tool use as an answer to no request of this session: turn 0.
    fn shown_again(&self, orphan: &OrphanedToolUse) -> AssistantMessage {
        let OrphanedToolUse { item, block, tool_use } = orphan;
        let shown = self.carried.conversation.position(item).and_then(|index| self.carried.conversation.items().get(index));
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
