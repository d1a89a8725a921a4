//! Handles the items of a call: finished blocks, the end of an answer, the loss of one.

use super::answer_decision::{self, AnswerDecision, AnswerFacts};
use super::outcome::QueryEnding;
use super::prompt_too_long;
use super::{Query, QueryState, QueryTurn, QueryVerdict, observable};
use crate::engine::agent_effects::AgentEffects;
use crate::engine::call::CompletedAnswer;
use crate::engine::compaction;
use crate::engine::contract::{Effect, RequestId, Terminal};
use crate::engine::emission::{AssistantMessage, Emission, Note, Transition};
use crate::engine::executor::abort::AbortKind;
use crate::engine::executor::{Executor, PipelineScope};
use crate::engine::retry::AttemptFailure;
use crate::engine::settings::Environment;
use crate::engine::time::Time;
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind};
use crate::wire::usage::Usage;

impl Query {
    /// Q-8 for blocks that are finished, as long as the prompt continues.
    pub(super) fn on_blocks(
        &mut self,
        env: &Environment,
        now: Time,
        messages: &[Arc<AssistantMessage>],
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        for message in messages {
            self.take_block(env, now, message, effects);
        }
        self.check_budget(env, now, effects)
    }

    /// Emits a finished block, keeps it, hands its tool use to the executor at once, takes results that are in. A tool for which there is no money
    /// any more is answered and never starts (S-10).
    fn take_block(&mut self, env: &Environment, now: Time, message: &Arc<AssistantMessage>, effects: &mut AgentEffects) {
        let is_over_budget = self.is_over_budget(env, effects);
        let QueryState::Calling { turn, .. } = &mut self.state else { return };
        effects.push(Effect::Emit(Emission::Assistant(observable::emitted(env, message))));
        if let Some(tool_use) = message.block.as_tool_use()
            && turn.blocks.iter().any(|earlier| earlier.block.as_tool_use().is_some_and(|earlier| earlier.id == tool_use.id))
        {
            let text = format!("the id {} is used twice: both tool uses run, the model gets the first result", tool_use.id).into();
            effects.push(Effect::Note(Note::Defect { id: message.id, name: "duplicate-tool-use-id".into(), text }));
        }
        turn.blocks.push(message.clone());
        let scope = &mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects };
        if is_over_budget {
            turn.executor.abort(scope, AbortKind::Budget);
        }
        if let Some(tool_use) = message.block.as_tool_use() {
            turn.executor.submit(scope, message, tool_use);
        }
        turn.executor.emit_completed(&env.settings, effects);
    }

    /// The answer is complete: its blocks decide what follows.
    pub(super) fn on_answer(&mut self, env: &Environment, now: Time, ended: CompletedAnswer, effects: &mut AgentEffects) -> QueryVerdict {
        for message in &ended.blocks {
            self.take_block(env, now, message, effects); // all of it is here, and paid for
        }
        let is_over_budget = !ended.blocks.is_empty() && self.is_over_budget(env, effects);
        let (call, mut turn) = self.state.take_call();
        turn.tell_end(call.id(), ended.stop_reason.clone(), ended.usage, effects);
        self.carried.standing = call.standing();
        turn.executor.on_stream_over(&mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects }).by_nobody();
        turn.usage = Some(ended.usage);
        self.totals.count(env, &turn.blocks, &ended, call.is_fast());
        compaction::on_answer(&mut self.carried.conversation, ended.cleared_input_tokens, effects);
        compaction::on_count(env, call.model(), &ended.usage, &mut self.carried.tracking, effects);
        let answer = AnswerFacts {
            stop_reason: ended.stop_reason.as_deref(),
            has_tool_use: turn.blocks.iter().any(|message| message.block.as_tool_use().is_some()),
            is_empty: turn.blocks.is_empty(),
            is_part: ended.is_part,
            nudges: self.chain.nudges,
            pauses: self.chain.pauses,
            refusal_retried: self.refusal_retried,
        };
        let id = call.id();
        if is_over_budget || self.is_over_budget(env, effects) {
            return self.end_over_budget(env, now, turn, effects);
        }
        let decision = answer_decision::decide(answer, &env.settings);
        self.follow(env, now, (decision, id), &ended, turn, effects)
    }

    /// Carries out the decision about an answer.
    fn follow(
        &mut self,
        env: &Environment,
        now: Time,
        (decision, id): (AnswerDecision, RequestId),
        ended: &CompletedAnswer,
        mut turn: QueryTurn,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        match decision {
            AnswerDecision::AskForCorrection(cause) => self.ask_for_correction(env, now, (cause, id), turn, effects),
            AnswerDecision::StopRefusedTools => self.stop_refused_tools(env, now, turn, effects),
            AnswerDecision::NoToolUse => self.end_without_tool_use(env, now, id, turn, effects),
            AnswerDecision::FollowUp => {
                self.state = QueryState::AwaitingTools { turn };
                self.settle(env, now, effects)
            }
            AnswerDecision::Completed { defect } => {
                self.keep_answer(&turn.blocks, turn.usage);
                if let Some(name) = defect {
                    let text = format!("answer {id} ended with {}", ended.stop_reason.as_deref().unwrap_or("no stop reason"));
                    effects.push(Effect::Note(Note::Defect { id, name: name.into(), text: text.into() }));
                }
                self.before_a_good_end(env, now, id, turn.executor, effects)
            }
            AnswerDecision::OutputLimit => self.on_output_limit(env, now, id, turn, effects),
            AnswerDecision::ResumePause => {
                self.keep_answer(&turn.blocks, turn.usage);
                self.chain.pauses += 1;
                self.ask_again(env, now, id, turn.executor.successor(), Transition::PauseTurnResume, effects)
            }
            AnswerDecision::RetryRefusal => {
                self.refusal_retried = true;
                self.ask_again(env, now, id, turn.executor.successor(), Transition::RefusalRetry, effects)
            }
            AnswerDecision::PausedTooOften => {
                self.keep_answer(&turn.blocks, turn.usage);
                let failure =
                    AttemptFailure::new("paused_too_often", "the model paused its answer again after the last allowed resumption");
                self.end(env, now, turn.executor, QueryEnding::failed(Terminal::Completed, id, failure), effects)
            }
            AnswerDecision::Refused => {
                let category = ended.refusal_category.as_deref().unwrap_or("none given");
                let failure = AttemptFailure::new("refusal", &format!("the model refused to answer (category: {category})"));
                self.end(env, now, turn.executor, QueryEnding::failed(Terminal::Completed, id, failure), effects)
            }
        }
    }

    /// The call is lost. Too long a prompt and too large media can be recovered from when nothing of an answer came;
    /// otherwise tool uses that were already emitted get their results before the error is shown.
    pub(super) fn on_call_lost(
        &mut self,
        env: &Environment,
        now: Time,
        failure: AttemptFailure,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        let (call, mut turn) = self.state.take_call();
        self.totals.count_lost(env, now, &call);
        self.carried.standing = call.standing();
        let ending = QueryEnding::call_lost(env, call.id(), failure.clone());
        if let Some(kind) = prompt_too_long::kind(&failure).filter(|_| turn.blocks.is_empty()) {
            return self.recover(env, now, kind, (call.id(), turn.executor.successor(), ending), &failure, effects);
        }
        turn.executor.lose(&mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects });
        self.state = QueryState::Ending { turn, ending: Box::new(ending) };
        self.settle(env, now, effects)
    }

    /// T-9: with the stream over, results are emitted as they come; once all are, the next turn begins, or the prompt ends.
    pub(super) fn settle(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) -> QueryVerdict {
        let is_open = match &mut self.state {
            QueryState::AwaitingTools { turn } => {
                turn.executor.emit_completed(&env.settings, effects);
                !turn.executor.is_settled()
            }
            QueryState::Ending { turn, .. } => {
                turn.executor.emit_completed(&env.settings, effects);
                !turn.executor.is_quiet()
            }
            QueryState::Settling { executor, .. } => {
                executor.emit_completed(&env.settings, effects);
                !executor.is_settled()
            }
            QueryState::Calling { .. } | QueryState::Compacting { .. } | QueryState::StopHooks { .. } | QueryState::Finished => true,
        };
        if is_open {
            return QueryVerdict::Running;
        }
        match core::mem::replace(&mut self.state, QueryState::Finished) {
            QueryState::Ending { mut turn, ending } => {
                self.totals.denials.extend(turn.executor.take_denials());
                self.keep_what_is_answered(env, &turn);
                self.finish(env, now, *ending, effects)
            }
            QueryState::AwaitingTools { turn } => self.next_turn(env, now, turn, effects),
            QueryState::Settling { executor, begins } => self.on_orphan_settled(env, now, executor, begins, effects),
            open @ (QueryState::Calling { .. } | QueryState::Compacting { .. } | QueryState::StopHooks { .. } | QueryState::Finished) => {
                self.state = open;
                QueryVerdict::Running
            }
        }
    }

    /// Ends the prompt once what still runs of a discarded answer has stopped.
    pub(super) fn end(
        &mut self,
        env: &Environment,
        now: Time,
        executor: Executor,
        ending: QueryEnding,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        self.state = QueryState::Ending { turn: QueryTurn { executor, ..QueryTurn::default() }, ending: Box::new(ending) };
        self.settle(env, now, effects)
    }

    /// N-7: the blocks of one answer are one message again. The API refuses a message without content, and one in which two tool uses share an id:
    /// the first one is kept, as clients do that are in use. It refuses thinking that nothing follows: that is left out, too.
    pub(super) fn keep_answer(&mut self, blocks: &[Arc<AssistantMessage>], usage: Option<Usage>) {
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
            self.carried.conversation.push_answer(first.id, content, usage);
        }
    }

    /// Keeps the part of a broken-off answer that the next prompt continues from: its complete blocks, each tool use with its result.
    fn keep_what_is_answered(&mut self, env: &Environment, turn: &QueryTurn) {
        use crate::engine::conversation::{ItemKind, results_name};
        self.keep_orphan(env, &turn.executor);
        self.keep_answer(&turn.blocks, None);
        if let Some(first) = turn.blocks.first() {
            let mut results = turn.executor.results(&env.settings);
            results.extend(turn.executor.attachments());
            self.carried.conversation.push_user(results_name(first.id), ItemKind::Results, results);
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
