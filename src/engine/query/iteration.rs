//! How an iteration begins: the cascade, a compaction if it asks for one, the request, and how one follows another.

use super::outcome::{LastMessage, QueryEnding};
use super::{AfterCompaction, Query, QueryState, QueryTurn, QueryVerdict, RecoveryChain, correction, structured_output};
use crate::engine::agent_effects::AgentEffects;
use crate::engine::budget::AnswerCharge;
use crate::engine::call::ApiCall;
use crate::engine::compaction::{
    self, CascadeDecision, Compaction, CompactionCause, CompactionUsage, FailedCompaction, SuccessfulCompaction,
};
use crate::engine::contract::{Effect, Input, RequestId, Terminal};
use crate::engine::conversation::{ItemKind, answer_name, results_name};
use crate::engine::emission::{CompactTrigger, Emission, Note, Transition};
use crate::engine::executor::Executor;
use crate::engine::retry::{AttemptFailure, CallUrgency};
use crate::engine::settings::{Environment, QueuedMessagePlace};
use crate::engine::status;
use crate::engine::texts::TextName;
use crate::engine::time::Time;
use crate::prelude::*;

impl Query {
    /// what comes before the request `id`. The executor holds what still runs of a discarded answer.
    pub(super) fn begin_iteration(
        &mut self,
        env: &Environment,
        now: Time,
        id: RequestId,
        executor: Executor,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        if self.is_over_budget(env, effects) {
            return self.end_over_budget(env, now, QueryTurn { executor, ..QueryTurn::default() }, effects);
        }
        let changed = self.changed_frame(env, id);
        let carried = &mut self.carried;
        let next =
            compaction::cascade(env, changed.as_ref().unwrap_or(&self.frame), &mut carried.conversation, &mut carried.tracking, effects);
        self.go_on(env, now, next, (id, executor), effects)
    }

    fn go_on(
        &mut self,
        env: &Environment,
        now: Time,
        next: CascadeDecision,
        (id, executor): (RequestId, Executor),
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        match next {
            CascadeDecision::Call => self.call(env, now, id, executor, effects),
            CascadeDecision::Compact => {
                let cause = CompactionCause {
                    trigger: CompactTrigger::Auto,
                    instructions: None,
                    excess: None,
                    without_media: false,
                    answers_min: 0,
                };
                self.compact(env, now, cause, (id, executor, AfterCompaction::Ask(id)), effects)
            }
            CascadeDecision::Blocked { tokens, limit } => {
                let text = format!("the prompt is too long: about {tokens} tokens, the limit is {limit}");
                let failure = AttemptFailure::new("prompt_too_long", &text);
                self.end(env, now, executor, QueryEnding::failed(Terminal::BlockingLimit, id, failure), effects)
            }
        }
    }

    /// a fresh executor for each answer. The request is made at the end of the step, if there is money for it (S-10).
    fn call(&mut self, env: &Environment, now: Time, id: RequestId, executor: Executor, effects: &mut AgentEffects) -> QueryVerdict {
        status::report(env, status::REQUESTING, effects);
        self.heed_host(env, id);
        let request = self.request(env);
        let call = ApiCall::open(env, now, (id, CallUrgency::for_loop(&env.settings)), request, self.carried.standing.clone(), effects);
        self.state = QueryState::Calling { call: Box::new(call), turn: QueryTurn { executor, ..QueryTurn::default() } };
        QueryVerdict::Running
    }

    /// Opens the next request under a named transition.
    pub(super) fn ask_again(
        &mut self,
        env: &Environment,
        now: Time,
        asked: RequestId,
        executor: Executor,
        transition: Transition,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        effects.push(Effect::Note(Note::Transition(transition)));
        let id = RequestId { prompt: asked.prompt, turn: asked.turn + 1, attempt: 1 };
        self.begin_iteration(env, now, id, executor, effects)
    }

    /// results, then what was queued, then the turn limit, then the next request.
    pub(super) fn next_turn(&mut self, env: &Environment, now: Time, mut turn: QueryTurn, effects: &mut AgentEffects) -> QueryVerdict {
        self.totals.turns += 1;
        self.totals.last = LastMessage::Results;
        self.chain = RecoveryChain::default();
        self.carried.tracking.reactively_compacted = false;
        self.keep_answer(&turn.blocks, turn.usage);
        let mut content = turn.executor.results(&env.settings);
        let structure = structured_output::accepted_output(&turn, &content).filter(|_| structured_output::is_enforced(env));
        let results = content.clone();
        content.extend(turn.executor.attachments());
        self.totals.denials.extend(turn.executor.take_denials());
        let asked = turn.blocks.first().map_or(RequestId::first(self.prompt), |message| message.id);
        if let Some(why) = turn.executor.stopped_by_hook().cloned() {
            self.carried.conversation.push_user(results_name(asked), ItemKind::Results, content);
            effects.push(Effect::Emit(Emission::Warning { text: format!("a hook ends the turn: {why}").into() }));
            return self.end(env, now, turn.executor.successor(), QueryEnding::well(Terminal::HookStopped), effects);
        }
        for (prompt, message) in core::mem::take(&mut self.queued) {
            match env.settings.queued_messages {
                QueuedMessagePlace::Beside => content.extend(message.iter().cloned()),
                QueuedMessagePlace::InResult => correction::put_into_last_result(&mut content, &message, &env.settings.texts),
            }
            effects.push(Effect::Emit(Emission::QueuedCommand { prompt, content: message }));
        }
        self.carried.conversation.push_user(results_name(asked), ItemKind::Results, content);
        if turn.is_refused {
            let note = env.settings.texts.template(TextName::RefusalNote);
            self.say_hidden(&format!("{}.go-on", answer_name(asked)), "refusal", note, effects);
        }
        let executor = turn.executor.successor();
        if let Some(json) = structure {
            self.keep_structure(json, effects);
            return self.end(env, now, executor, QueryEnding::well(Terminal::Completed), effects);
        }
        if self.is_at_turn_limit(env) {
            effects.push(Effect::Emit(Emission::MaxTurnsReached { turns: self.totals.turns }));
            return self.end(env, now, executor, QueryEnding::limit(Terminal::MaxTurns, "the turn limit is reached"), effects);
        }
        let asked = self.sum_up_tools(env, now, asked, (&turn.blocks, &results), effects);
        self.ask_again(env, now, asked, executor, Transition::NextTurn, effects)
    }

    /// S-10: whether one more turn would be more than there may be.
    pub(super) fn is_at_turn_limit(&self, env: &Environment) -> bool {
        env.settings.session.max_turns.is_some_and(|max| self.totals.turns >= max)
    }

    pub(super) fn compact(
        &mut self,
        env: &Environment,
        now: Time,
        cause: CompactionCause,
        (id, executor, then): (RequestId, Executor, AfterCompaction),
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        let standing = (core::mem::take(&mut self.carried.standing), core::mem::take(&mut self.summary_refusals));
        match Compaction::start(env, now, cause, id, &self.frame, &self.carried.conversation, standing, effects) {
            Ok(compaction) => {
                self.state = QueryState::Compacting { compaction: Box::new(compaction), executor, then };
                QueryVerdict::Running
            }
            Err(failed) => self.on_compacted(env, now, Err(failed), (executor, then), effects),
        }
    }

    /// Passes an input on to the compaction.
    pub(super) fn step_compaction(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) -> QueryVerdict {
        let QueryState::Compacting { compaction, .. } = &mut self.state else { return QueryVerdict::Running };
        let result = match compaction.step(env, now, input, effects) {
            compaction::CompactionVerdict::Running => return QueryVerdict::Running,
            compaction::CompactionVerdict::Done(done) => Ok(done),
            compaction::CompactionVerdict::Failed(failed) => Err(failed),
        };
        let owed = self.state.take_compaction();
        self.on_compacted(env, now, result, owed, effects)
    }

    /// It is over: what it was made for follows, or comes to its end.
    fn on_compacted(
        &mut self,
        env: &Environment,
        now: Time,
        result: Result<Box<SuccessfulCompaction>, Box<FailedCompaction>>,
        (executor, then): (Executor, AfterCompaction),
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        let (failure, spent) = match result {
            Ok(done) => {
                self.carried.tracking.on_done(&done);
                self.carried.conversation = done.conversation;
                self.carried.task_tokens_used = self.carried.task_tokens_used.saturating_add(done.tokens.0); // C-6
                (None, done.spent)
            }
            Err(failed) => {
                self.carried.tracking.on_failed(failed.trigger);
                (Some(failed.failure), failed.spent)
            }
        };
        let last = spent.last;
        self.spend(env, spent);
        match (then, failure) {
            (AfterCompaction::Ask(id), None) => self.call(env, now, after(last, id), executor, effects),
            (AfterCompaction::Ask(id), Some(_)) => {
                let changed = self.changed_frame(env, id);
                let frame = changed.as_ref().unwrap_or(&self.frame);
                let next = compaction::after_failure(env, frame, &self.carried.conversation, &self.carried.tracking);
                self.go_on(env, now, next, (after(last, id), executor), effects)
            }
            (AfterCompaction::Retry(ending), None) => {
                let asked = last.unwrap_or(ending.id(self.prompt));
                self.ask_again(env, now, asked, executor, Transition::ReactiveCompactRetry, effects)
            }
            (AfterCompaction::Retry(ending), Some(_)) => self.end(env, now, executor, *ending, effects),
            (AfterCompaction::End(_), None) => self.end(env, now, executor, QueryEnding::well(Terminal::Completed), effects),
            (AfterCompaction::End(id), Some(failure)) => {
                self.end(env, now, executor, QueryEnding::call_lost(env, last.unwrap_or(id), failure), effects)
            }
        }
    }

    /// Counts what a compaction used up.
    pub(super) fn spend(&mut self, env: &Environment, spent: CompactionUsage) {
        self.carried.standing = spent.standing;
        self.summary_refusals = spent.refusals;
        self.totals.api_time = self.totals.api_time + spent.api_time;
        for (model, usage) in &spent.usage {
            let charge = AnswerCharge { model, date: env.settings.session.date, is_fast: false, is_refused_at_once: false };
            self.totals.add(model, usage, env.prices.cost(usage, charge));
        }
    }
}

/// The request that was about to be made, behind those that a compaction made.
fn after(last: Option<RequestId>, id: RequestId) -> RequestId {
    last.map_or(id, |last| RequestId { prompt: last.prompt, turn: last.turn + 1, attempt: 1 })
}
