//! How an iteration begins: the cascade, a compaction if it asks for one, the request, and how one follows another.

use super::outcome::{LastMessage, QueryEnding};
use super::{AfterCompaction, Query, QueryScope, QueryState, QueryVerdict, RecoveryChain, correction, structured_output};
use crate::budget::AnswerCharge;
use crate::call::ApiCall;
use crate::compaction::{self, CascadeDecision, Compaction, CompactionCause, CompactionUsage, FailedCompaction, SuccessfulCompaction};
use crate::contract::{Effect, Input, RequestId, Terminal};
use crate::conversation::{ItemKind, answer_name, results_name};
use crate::emission::{CompactTrigger, Emission, Transition};
use crate::retry::{AttemptFailure, CallUrgency};
use crate::settings::QueuedMessagePlace;
use crate::status;
use crate::texts::TextName;
use reenact_wire::prelude::*;

impl Query {
    /// what comes before the request `id`.
    pub(super) fn begin_iteration(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        if self.is_over_budget(scope) {
            return self.end_over_budget(scope);
        }
        let changed = self.changed_frame(scope, id);
        let (frame, memory) = (changed.as_ref().unwrap_or(&self.frame), &mut *scope.memory);
        let next = compaction::cascade(scope.env, frame, &mut memory.conversation, &mut memory.tracking, scope.effects);
        self.go_on(scope, next, id)
    }

    fn go_on(&mut self, scope: &mut QueryScope<'_>, next: CascadeDecision, id: RequestId) -> QueryVerdict {
        match next {
            CascadeDecision::Call => self.call(scope, id),
            CascadeDecision::Compact => {
                let cause = CompactionCause {
                    trigger: CompactTrigger::Auto,
                    instructions: None,
                    excess: None,
                    without_media: false,
                    answers_min: 0,
                };
                self.compact(scope, cause, (id, AfterCompaction::Ask(id)))
            }
            CascadeDecision::Blocked { tokens, limit } => {
                let text = format!("the prompt is too long: about {tokens} tokens, the limit is {limit}");
                let failure = AttemptFailure::new("prompt_too_long", &text);
                self.end(scope, QueryEnding::failed(Terminal::BlockingLimit, id, failure))
            }
        }
    }

    /// The request is made at the end of the step, if there is money for it (S-10).
    fn call(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        status::report(scope.env, status::REQUESTING, scope.effects);
        self.heed_host(scope, id);
        let call = self.open_call(scope, id);
        self.state = QueryState::Calling(Box::new(call));
        QueryVerdict::Running
    }

    /// The call that makes the request, from the attempt `id` on.
    pub(super) fn open_call(&self, scope: &mut QueryScope<'_>, id: RequestId) -> ApiCall {
        let (request, standing) = (self.request(scope), scope.memory.standing.clone());
        ApiCall::open(scope.env, scope.now, (id, CallUrgency::for_loop(&scope.env.settings)), request, standing, scope.effects)
    }

    /// Opens the next request under a named transition.
    pub(super) fn ask_again(&mut self, scope: &mut QueryScope<'_>, asked: RequestId, transition: Transition) -> QueryVerdict {
        scope.pass(transition);
        self.begin_answer();
        let id = RequestId { prompt: asked.prompt, turn: asked.turn + 1, attempt: 1 };
        self.begin_iteration(scope, id)
    }

    /// results, then what was queued, then the turn limit, then the next request.
    pub(super) fn next_turn(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let turn = core::mem::take(&mut self.turn);
        self.totals.turns += 1;
        self.totals.last = LastMessage::Results;
        self.chain = RecoveryChain::default();
        scope.memory.tracking.reactively_compacted = false;
        scope.memory.keep_answer(&turn.blocks, turn.usage);
        let mut content = self.executor.results(&scope.env.settings);
        let structure = structured_output::accepted_output(&turn, &content).filter(|_| structured_output::is_enforced(scope.env));
        let results = content.clone();
        content.extend(self.executor.attachments());
        self.totals.denials.extend(self.executor.take_denials());
        let asked = turn.blocks.first().map_or(RequestId::first(self.prompt), |message| message.id);
        if let Some(why) = self.executor.stopped_by_hook().cloned() {
            scope.memory.conversation.push_user(results_name(asked), ItemKind::Results, content);
            scope.effects.push(Effect::Emit(Emission::Warning { text: format!("a hook ends the turn: {why}").into() }));
            self.begin_answer();
            return self.end(scope, QueryEnding::well(Terminal::HookStopped));
        }
        // Structured output ends the prompt: a message that nobody would answer in it becomes a prompt of its own (O-24).
        let taken_in = if structure.is_none() { core::mem::take(&mut self.queued) } else { Vec::new() };
        for (prompt, message) in taken_in {
            match scope.env.settings.queued_messages {
                QueuedMessagePlace::Beside => content.extend(message.iter().cloned()),
                QueuedMessagePlace::InResult => {
                    let holder = correction::put_into_last_result(&mut content, &message, &scope.env.settings.texts);
                    holder.into_iter().for_each(|tool_use_id| scope.memory.conversation.note_message_in_result(tool_use_id));
                }
            }
            scope.effects.push(Effect::Emit(Emission::QueuedCommand { prompt, content: message }));
        }
        scope.memory.conversation.push_user(results_name(asked), ItemKind::Results, content);
        if turn.is_refused {
            let note = scope.env.settings.texts.template(TextName::RefusalNote);
            scope.say_hidden(&format!("{}.go-on", answer_name(asked)), "refusal", note);
        }
        self.begin_answer();
        if let Some(json) = structure {
            self.keep_structure(scope, json);
            return self.end(scope, QueryEnding::well(Terminal::Completed));
        }
        if self.is_at_turn_limit(scope) {
            scope.effects.push(Effect::Emit(Emission::MaxTurnsReached { turns: self.totals.turns }));
            return self.end(scope, QueryEnding::limit(Terminal::MaxTurns, "the turn limit is reached"));
        }
        let asked = self.sum_up_tools(scope, asked, (&turn.blocks, &results));
        self.ask_again(scope, asked, Transition::NextTurn)
    }

    /// S-10: whether one more turn would be more than there may be.
    pub(super) fn is_at_turn_limit(&self, scope: &QueryScope<'_>) -> bool {
        scope.env.settings.session.max_turns.is_some_and(|max| self.totals.turns >= max)
    }

    pub(super) fn compact(
        &mut self,
        scope: &mut QueryScope<'_>,
        cause: CompactionCause,
        (id, then): (RequestId, AfterCompaction),
    ) -> QueryVerdict {
        let standing = (scope.memory.standing.clone(), self.summary_refusals.clone());
        match Compaction::start(scope.env, scope.now, cause, id, &self.frame, &scope.memory.conversation, standing, scope.effects) {
            Ok(compaction) => {
                self.state = QueryState::Compacting { compaction: Box::new(compaction), then };
                QueryVerdict::Running
            }
            Err(failed) => self.on_compacted(scope, Err(failed), then),
        }
    }

    /// Passes an input on to the compaction.
    pub(super) fn step_compaction(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        let QueryState::Compacting { compaction, then } = &mut self.state else { return QueryVerdict::Running };
        let result = match compaction.step(scope.env, scope.now, input, scope.effects) {
            compaction::CompactionVerdict::Running => return QueryVerdict::Running,
            compaction::CompactionVerdict::Done(done) => Ok(done),
            compaction::CompactionVerdict::Failed(failed) => Err(failed),
        };
        let then = then.clone();
        self.on_compacted(scope, result, then)
    }

    /// It is over: what it was made for follows, or comes to its end.
    fn on_compacted(
        &mut self,
        scope: &mut QueryScope<'_>,
        result: Result<Box<SuccessfulCompaction>, Box<FailedCompaction>>,
        then: AfterCompaction,
    ) -> QueryVerdict {
        let (failure, spent) = match result {
            Ok(done) => {
                scope.memory.tracking.on_done(&done);
                scope.memory.conversation = done.conversation;
                scope.memory.task_tokens_used = scope.memory.task_tokens_used.saturating_add(done.tokens.0); // C-6
                (None, done.spent)
            }
            Err(failed) => {
                scope.memory.tracking.on_failed(failed.trigger);
                (Some(failed.failure), failed.spent)
            }
        };
        let last = spent.last;
        self.spend(scope, spent);
        match (then, failure) {
            (AfterCompaction::Ask(id), None) => self.call(scope, after(last, id)),
            (AfterCompaction::Ask(id), Some(_)) => {
                let changed = self.changed_frame(scope, id);
                let frame = changed.as_ref().unwrap_or(&self.frame);
                let next = compaction::after_failure(scope.env, frame, &scope.memory.conversation, &scope.memory.tracking);
                self.go_on(scope, next, after(last, id))
            }
            (AfterCompaction::Retry(ending), None) => {
                let asked = last.unwrap_or(ending.id(self.prompt));
                self.ask_again(scope, asked, Transition::ReactiveCompactRetry)
            }
            (AfterCompaction::Retry(ending), Some(_)) => self.end(scope, *ending),
            (AfterCompaction::End(_), None) => self.end(scope, QueryEnding::well(Terminal::Completed)),
            (AfterCompaction::End(id), Some(failure)) => self.end(scope, QueryEnding::call_lost(scope.env, last.unwrap_or(id), failure)),
        }
    }

    /// Counts what a compaction used up.
    pub(super) fn spend(&mut self, scope: &mut QueryScope<'_>, spent: CompactionUsage) {
        scope.memory.standing = spent.standing;
        self.summary_refusals = spent.refusals;
        self.totals.api_time += spent.api_time;
        for (model, usage) in &spent.usage {
            let charge = AnswerCharge { model, date: scope.env.settings.session.date, is_fast: false, is_refused_at_once: false };
            self.totals.add(model, usage, scope.env.prices.cost(usage, charge));
        }
    }
}

/// The request that was about to be made, behind those that a compaction made.
fn after(last: Option<RequestId>, id: RequestId) -> RequestId {
    last.map_or(id, |last| RequestId { prompt: last.prompt, turn: last.turn + 1, attempt: 1 })
}
