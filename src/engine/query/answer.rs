//! Handles the items of a call: finished blocks, the end of an answer, the loss of one.

use super::answer_decision::{self, AnswerDecision, AnswerFacts};
use super::outcome::QueryEnding;
use super::prompt_too_long;
use super::{Query, QueryScope, QueryState, QueryTurn, QueryVerdict, observable};
use crate::agent_effects::AgentEffects;
use crate::call::CompletedAnswer;
use crate::compaction;
use crate::contract::{Effect, RequestId, Terminal};
use crate::emission::{AssistantMessage, Emission, Note, Transition};
use crate::executor::abort_reason::AbortKind;
use crate::retry::AttemptFailure;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

impl Query {
    /// Q-8 for blocks that are finished, as long as the prompt continues.
    pub(super) fn on_blocks(&mut self, scope: &mut QueryScope<'_>, messages: &[Arc<AssistantMessage>]) -> QueryVerdict {
        for message in messages {
            self.take_block(scope, message);
        }
        self.check_budget(scope)
    }

    /// Emits a finished block, keeps it, hands its tool use to the executor at once, takes results that are in. A tool for which there is no money
    /// any more is answered and never starts (S-10).
    fn take_block(&mut self, scope: &mut QueryScope<'_>, message: &Arc<AssistantMessage>) {
        let is_over_budget = self.is_over_budget(scope);
        scope.effects.push(Effect::Emit(Emission::Assistant(observable::emitted(scope.env, message))));
        if let Some(tool_use) = message.block.as_tool_use()
            && self.turn.blocks.iter().any(|earlier| earlier.block.as_tool_use().is_some_and(|earlier| earlier.id == tool_use.id))
        {
            let text = format!("the id {} is used twice: both tool uses run, the model gets the first result", tool_use.id).into();
            scope.effects.push(Effect::Note(Note::Defect { id: message.id, name: "duplicate-tool-use-id".into(), text }));
        }
        self.turn.blocks.push(message.clone());
        if is_over_budget {
            self.executor.abort(&mut scope.pipeline(), AbortKind::Budget);
        }
        if let Some(tool_use) = message.block.as_tool_use() {
            self.executor.submit(&mut scope.pipeline(), message, tool_use);
        }
        self.executor.emit_completed(&scope.env.settings, scope.effects);
    }

    /// The answer is complete: its blocks decide what follows.
    pub(super) fn on_answer(&mut self, scope: &mut QueryScope<'_>, ended: CompletedAnswer) -> QueryVerdict {
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
        let answer = AnswerFacts {
            stop_reason: ended.stop_reason.as_deref(),
            has_tool_use: self.turn.blocks.iter().any(|message| message.block.as_tool_use().is_some()),
            is_empty: self.turn.blocks.is_empty(),
            is_part: ended.is_part,
            nudges: self.chain.nudges,
            pauses: self.chain.pauses,
            refusal_retried: self.refusal_retried,
        };
        if is_over_budget || self.is_over_budget(scope) {
            return self.end_over_budget(scope);
        }
        let decision = answer_decision::decide(answer, &scope.env.settings);
        self.follow(scope, (decision, id), &ended)
    }

    /// Carries out the decision about an answer.
    fn follow(&mut self, scope: &mut QueryScope<'_>, (decision, id): (AnswerDecision, RequestId), ended: &CompletedAnswer) -> QueryVerdict {
        match decision {
            AnswerDecision::AskForCorrection(cause) => self.ask_for_correction(scope, (cause, id)),
            AnswerDecision::StopRefusedTools => self.stop_refused_tools(scope),
            AnswerDecision::NoToolUse => self.end_without_tool_use(scope, id),
            AnswerDecision::FollowUp => self.settle(scope),
            AnswerDecision::Completed { defect } => {
                scope.memory.keep_answer(&self.turn.blocks, self.turn.usage);
                if let Some(name) = defect {
                    let text = format!("answer {id} ended with {}", ended.stop_reason.as_deref().unwrap_or("no stop reason"));
                    scope.effects.push(Effect::Note(Note::Defect { id, name: name.into(), text: text.into() }));
                }
                self.before_a_good_end(scope, id)
            }
            AnswerDecision::OutputLimit => self.on_output_limit(scope, id),
            AnswerDecision::ResumePause => {
                scope.memory.keep_answer(&self.turn.blocks, self.turn.usage);
                self.chain.pauses += 1;
                self.ask_again(scope, id, Transition::PauseTurnResume)
            }
            AnswerDecision::RetryRefusal => {
                self.refusal_retried = true;
                self.ask_again(scope, id, Transition::RefusalRetry)
            }
            AnswerDecision::PausedTooOften => {
                scope.memory.keep_answer(&self.turn.blocks, self.turn.usage);
                let failure =
                    AttemptFailure::new("paused_too_often", "the model paused its answer again after the last allowed resumption");
                self.end(scope, QueryEnding::failed(Terminal::Completed, id, failure))
            }
            AnswerDecision::Refused => {
                let category = ended.refusal_category.as_deref().unwrap_or("none given");
                let failure = AttemptFailure::new("refusal", &format!("the model refused to answer (category: {category})"));
                self.end(scope, QueryEnding::failed(Terminal::Completed, id, failure))
            }
        }
    }

    /// The call is lost. Too long a prompt and too large media can be recovered from when nothing of an answer came;
    /// otherwise tool uses that were already emitted get their results before the error is shown.
    pub(super) fn on_call_lost(&mut self, scope: &mut QueryScope<'_>, failure: AttemptFailure) -> QueryVerdict {
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

    /// what is left of an answer is done with, and another one may come.
    pub(super) fn begin_answer(&mut self) {
        self.turn = QueryTurn::default();
        self.executor.begin_answer();
    }

    /// T-9: with the stream over, results are emitted as they come; once all are, the next turn begins, or the prompt ends.
    pub(super) fn settle(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        if !matches!(self.state, QueryState::Settling { .. } | QueryState::AwaitingTools | QueryState::Ending(_)) {
            return QueryVerdict::Running;
        }
        self.executor.emit_completed(&scope.env.settings, scope.effects);
        match &self.state {
            QueryState::Ending(ending) if self.executor.is_quiet() => {
                let ending = QueryEnding::clone(ending);
                self.totals.denials.extend(self.executor.take_denials());
                self.keep_what_is_answered(scope);
                self.finish(scope, ending)
            }
            QueryState::AwaitingTools if self.executor.is_settled() => self.next_turn(scope),
            QueryState::Settling { begins } if self.executor.is_settled() => {
                let begins = begins.clone();
                self.on_orphan_settled(scope, begins)
            }
            _ => QueryVerdict::Running,
        }
    }

    /// Ends the prompt once what still runs of a discarded answer has stopped.
    pub(super) fn end(&mut self, scope: &mut QueryScope<'_>, ending: QueryEnding) -> QueryVerdict {
        self.turn = QueryTurn::default();
        self.state = QueryState::Ending(Box::new(ending));
        self.settle(scope)
    }

    /// Keeps the part of a broken-off answer that the next prompt continues from: its complete blocks, each tool use with its result.
    fn keep_what_is_answered(&mut self, scope: &mut QueryScope<'_>) {
        use crate::conversation::{ItemKind, results_name};
        self.keep_orphan(scope);
        scope.memory.keep_answer(&self.turn.blocks, None);
        if let Some(first) = self.turn.blocks.first() {
            let mut results = self.executor.results(&scope.env.settings);
            results.extend(self.executor.attachments());
            scope.memory.conversation.push_user(results_name(first.id), ItemKind::Results, results);
        }
    }
}

impl QueryTurn {
    /// why the model stopped, and its tokens, unless consumers know just that already.
    pub(super) fn tell_end(&mut self, id: RequestId, stop_reason: Option<Arc<str>>, usage: Usage, effects: &mut AgentEffects) {
        let uuid = self.blocks.last().map(|message| message.uuid.clone());
        let end = Box::new(Emission::Answered { id, uuid, stop_reason, usage });
        if self.told.as_ref() != Some(&end) {
            effects.push(Effect::Emit(Emission::clone(&end)));
            self.told = Some(end);
        }
    }
}
