//! The answer: its blocks as they come (Q-8), what follows its end (Q-11), and the loss of one (Q-19 to Q-21, R-6).
//!
//! ```text
//!   lost:       missing results, the error, the end; or a shorter conversation, if nothing of an answer came (Q-13)
//!   fallback:   missing results, the executor discarded, model switched, signatures gone, one message, the request again
//!   abandoned:  tombstones, the executor discarded, the next attempt of the same call
//! ```
//!
//! A fallback keeps what was emitted and closes it with results; a tombstone takes it back, so that no result is owed.

use super::answer_decision::{self, AnswerDecision, AnswerFacts};
use super::answer_recovery::AnswerDisposal;
use super::diagram::{QueryCause, QueryPhase};
use super::outcome::{AttemptCost, QueryEnding};
use super::state::QueryState;
use super::turn::QueryTurn;
use super::{DIAGRAM, Query, QueryScope, QueryVerdict, observable, prompt_too_long};
use crate::call::{CallVerdict, CompletedAnswer, LostAttempt};
use crate::compaction;
use crate::contract::{Effect, Input, RequestId, Terminal};
use crate::conversation::answer_name;
use crate::emission::{AssistantMessage, Emission, Note};
use crate::executor::Executor;
use crate::executor::abort_reason::AbortKind;
use crate::retry::AttemptFailure;
use crate::texts::TextName;
use reenact_wire::prelude::*;

impl Query {
    /// Inputs of the call; other inputs are dropped.
    pub(super) fn step_call(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        scope.memory.remember_container(scope.env, input);
        let QueryState::Calling(call) = &mut self.state else { return QueryVerdict::Running };
        if let Input::Stream { id, event } = input
            && call.id() == *id
            && call.is_listening()
        {
            let first = call.awaits_first_event().then(|| scope.now.since(call.started()));
            if scope.env.settings.partial_messages {
                let event = event.clone();
                scope.effects.push(Effect::Emit(Emission::StreamEvent { id: *id, event, time_to_first_token: first }));
            }
            self.executor.emit_completed(&scope.env.settings, scope.effects); // Q-8 F: a raw event is an item too
        }
        let verdict = call.step(scope.env, scope.now, input, scope.effects);
        self.on_call_verdict(scope, verdict)
    }

    fn on_call_verdict(&mut self, scope: &mut QueryScope<'_>, verdict: CallVerdict) -> QueryVerdict {
        match verdict {
            CallVerdict::Pending => QueryVerdict::Running,
            CallVerdict::Blocks(messages) => {
                messages.iter().for_each(|message| self.take_block(scope, message));
                self.check_budget(scope)
            }
            CallVerdict::StopReason(stop_reason, usage) => {
                if let QueryState::Calling(call) = &self.state {
                    self.turn.tell_end(call.id(), Some(stop_reason), usage, scope.effects);
                }
                QueryVerdict::Running
            }
            CallVerdict::Ended(ended) => self.on_answer(scope, ended),
            CallVerdict::Failed(failure) => self.on_call_lost(scope, failure),
            CallVerdict::AttemptLost(lost) => {
                self.count_lost(scope, lost);
                QueryVerdict::Running
            }
            CallVerdict::Abandoned(lost) => self.on_abandoned(scope, lost),
            CallVerdict::Fallback { to, failure } => self.on_fallback(scope, &to, failure),
        }
    }

    /// An attempt of the call is lost, and paid for.
    fn count_lost(&mut self, scope: &QueryScope<'_>, lost: LostAttempt) {
        if let QueryState::Calling(call) = &self.state {
            let LostAttempt { usage, is_fast } = lost;
            self.totals.count_attempt(scope.env, &AttemptCost { model: call.model().clone(), usage, is_fast });
        }
    }

    /// Q-8: emits a finished block, keeps it, hands its tool use to the executor at once, takes results that are in. A tool for which there is no money
    /// any more is answered and never starts (S-10).
    fn take_block(&mut self, scope: &mut QueryScope<'_>, message: &Arc<AssistantMessage>) {
        scope.effects.push(Effect::Emit(Emission::Assistant(observable::emitted(scope.env, message))));
        self.turn.add(message, scope.effects);
        if self.is_over_budget(scope) {
            self.executor.abort(&mut scope.pipeline(), AbortKind::Budget);
        }
        if let Some(tool_use) = message.block.as_tool_use() {
            self.executor.submit(&mut scope.pipeline(), message, tool_use);
        }
        self.executor.emit_completed(&scope.env.settings, scope.effects);
    }

    /// The answer is complete: its blocks decide what follows (Q-11, Q-18, Q-23).
    fn on_answer(&mut self, scope: &mut QueryScope<'_>, ended: CompletedAnswer) -> QueryVerdict {
        for message in &ended.blocks {
            self.take_block(scope, message); // all of it is here, and paid for
        }
        let is_over_budget = !ended.blocks.is_empty() && self.is_over_budget(scope);
        let QueryState::Calling(call) = &self.state else { unreachable!("an answer came from a call") };
        let id = call.id();
        self.turn.tell_end(id, ended.stop_reason.clone(), ended.usage, scope.effects);
        scope.memory.standing = call.standing();
        self.executor.on_stream_over(&mut scope.pipeline()).by_nobody();
        self.turn.usage = Some(ended.usage);
        self.totals.count(scope.env, &self.turn.blocks, &ended, call.is_fast());
        compaction::on_answer(&mut scope.memory.conversation, ended.cleared_input_tokens, scope.effects);
        compaction::on_count(scope.env, call.model(), &ended.usage, &mut scope.memory.tracking, scope.effects);
        self.state = QueryState::AwaitingTools;
        if is_over_budget || self.is_over_budget(scope) {
            return self.end_over_budget(scope);
        }
        let answer = AnswerFacts {
            stop_reason: ended.stop_reason.as_deref(),
            has_tool_use: self.turn.has_tool_use(),
            is_empty: self.turn.blocks.is_empty(),
            is_part: ended.is_part,
            max_tokens: self.frame.max_tokens(),
        };
        let decision = answer_decision::decide(answer, &mut self.recoveries, &scope.env.settings);
        self.follow(scope, (decision, id), &ended)
    }

    /// Carries out the decision about an answer. An error is withheld until nothing is left that could help (Q-12).
    fn follow(&mut self, scope: &mut QueryScope<'_>, (decision, id): (AnswerDecision, RequestId), ended: &CompletedAnswer) -> QueryVerdict {
        match decision {
            AnswerDecision::FollowUp => self.settle(scope),
            AnswerDecision::StopRefusedTools => {
                self.executor.abort(&mut scope.pipeline(), AbortKind::Refusal);
                self.turn.is_refused = true;
                self.settle(scope)
            }
            AnswerDecision::Completed { defect } => {
                self.leave_answer(scope, AnswerDisposal::Kept);
                if let Some(name) = defect {
                    let text = format!("answer {id} ended with {}", ended.stop_reason.as_deref().unwrap_or("no stop reason"));
                    scope.effects.push(Effect::Note(Note::Defect { id, name: name.into(), text: text.into() }));
                }
                self.before_a_good_end(scope, id)
            }
            AnswerDecision::Recover(recovery) => {
                let (disposal, text, transition) = recovery.plan();
                self.leave_answer(scope, disposal);
                if let Some(text) = text {
                    let text = scope.env.settings.texts.template(text);
                    scope.say_hidden(&format!("{}.go-on", answer_name(id)), transition.as_str(), text);
                }
                self.ask_again(scope, id, transition)
            }
            AnswerDecision::Fail(failure) => {
                self.leave_answer(scope, failure.disposal());
                let error = failure.error(ended.refusal_category.as_deref());
                self.end(scope, QueryEnding::failed(Terminal::Completed, id, error))
            }
        }
    }

    /// Keeps the answer for later requests, or not.
    fn leave_answer(&self, scope: &mut QueryScope<'_>, disposal: AnswerDisposal) {
        match disposal {
            AnswerDisposal::Kept => scope.memory.keep_answer(&self.turn.blocks, self.turn.usage),
            AnswerDisposal::TakenBack => self.turn.take_back(scope.effects),
            AnswerDisposal::Dropped => (),
        }
    }

    /// The call is lost. Too long a prompt and too large media can be recovered from when nothing of an answer came (Q-13, Q-14);
    /// otherwise tool uses that were already emitted get their results before the error is shown (R-6).
    fn on_call_lost(&mut self, scope: &mut QueryScope<'_>, failure: AttemptFailure) -> QueryVerdict {
        let id = self.leave_call(scope);
        let ending = QueryEnding::call_lost(scope.env, id, failure.clone());
        if let Some(kind) = prompt_too_long::kind(&failure).filter(|_| self.turn.blocks.is_empty()) {
            self.begin_answer();
            return self.recover(scope, kind, (id, ending), &failure);
        }
        self.executor.lose(&mut scope.pipeline());
        self.state = QueryState::Ending(Box::new(ending));
        self.settle(scope)
    }

    /// The call that is under way says no more: its costs are counted, and what is left of its answer is its tools.
    pub(super) fn leave_call(&mut self, scope: &mut QueryScope<'_>) -> RequestId {
        let QueryState::Calling(call) = &self.state else { unreachable!("a call is over in the state {:?}", self.state.phase()) };
        let id = call.id();
        self.totals.count_lost(scope.env, scope.now, call);
        scope.memory.standing = call.standing();
        self.state = QueryState::AwaitingTools;
        id
    }

    /// Q-6: what is left of an answer is done with, and another one may come.
    pub(super) fn begin_answer(&mut self) {
        self.turn = QueryTurn::default();
        self.executor.begin_answer();
    }

    /// Q-19. The request is made again in the same iteration: the turn's number stays, the attempt's continues.
    fn on_fallback(&mut self, scope: &mut QueryScope<'_>, to: &Arc<str>, failure: AttemptFailure) -> QueryVerdict {
        let QueryState::Calling(call) = &self.state else { return QueryVerdict::Running };
        if call.model() == to {
            return self.on_call_lost(scope, failure); // Q-21: there is nowhere to go from here
        }
        if self.is_over_budget(scope) {
            self.leave_call(scope);
            return self.end_over_budget(scope); // nobody is asked any more
        }
        let from = call.model().clone();
        self.executor.fill_missing_results(scope.env.settings.texts.template(TextName::Fallback), scope.effects);
        self.turn.forget();
        discard(&mut self.executor, scope, call.id());
        let id = self.leave_call(scope);
        self.frame = Arc::new(self.frame.with_model(to));
        scope.memory.turn_to(to);
        scope.effects.push(Effect::Emit(Emission::ModelFallback { id, from, to: to.clone(), reason: failure.summary().into() }));
        DIAGRAM.pass(Some(QueryPhase::Calling), QueryCause::Fallback, QueryPhase::Calling);
        let again = self.open_call(scope, RequestId { attempt: id.attempt + 1, ..id });
        self.state = QueryState::Calling(Box::new(again));
        QueryVerdict::Running
    }

    /// Q-20. Tombstoned tool uses need no result, and results that were emitted already are taken back with them.
    fn on_abandoned(&mut self, scope: &mut QueryScope<'_>, lost: LostAttempt) -> QueryVerdict {
        self.count_lost(scope, lost);
        let QueryState::Calling(call) = &mut self.state else { return QueryVerdict::Running };
        self.turn.take_back(scope.effects);
        for uuid in self.executor.emitted_results() {
            scope.effects.push(Effect::Emit(Emission::Tombstone { uuid }));
        }
        self.turn.forget();
        discard(&mut self.executor, scope, call.id());
        DIAGRAM.pass(Some(QueryPhase::Calling), QueryCause::Retraction, QueryPhase::Calling);
        call.go_on(scope.env, scope.now, scope.effects);
        QueryVerdict::Running
    }
}

/// T-19: nothing more comes out of the tools of an answer that does not count.
fn discard(executor: &mut Executor, scope: &mut QueryScope<'_>, id: RequestId) {
    let left = executor.discard(&mut scope.pipeline());
    scope.effects.push(Effect::Note(match left.is_empty() {
        true => Note::Discarded { id, running: executor.ghost_runs() },
        false => Note::LeftRunning { id, runs: left },
    }));
}
