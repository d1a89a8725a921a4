//! The ending: what a good end waits for (Q-16, Q-17, S-9), aborts (Q-10, Q-22), the budget (S-10), and what is left behind.
//!
//! ```text
//!   Calling, Compacting, StopHooks ──abort──> aborted_streaming
//!   AwaitingTools ──abort──> aborted_tools
//! ```
//!
//! At any instant everything can end, and every open tool use gets its one result. Money is that of the whole tree of agents. It is looked at before
//! each attempt and after each message: here for what the session itself does, in [`AgentLoop`](crate::agent_loop::AgentLoop) for what others do.

use super::outcome::QueryEnding;
use super::state::QueryState;
use super::stop_hooks::{StopHookDecision, StopHookVerdict, StopHooks, tell_model};
use super::{Query, QueryOutcome, QueryScope, QueryTurn, QueryVerdict, orphan, structured_output};
use crate::contract::{Effect, Input, RequestId, Terminal};
use crate::conversation::{ItemKind, answer_name, results_name};
use crate::emission::{Emission, Transition};
use crate::executor::Executor;
use crate::executor::abort_reason::AbortKind;
use crate::texts::TextName;
use reenact_wire::prelude::*;

impl Query {
    /// The answer `id` ended well, and is kept: what follows it, Q-16 first.
    pub(super) fn before_a_good_end(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        if structured_output::is_enforced(scope.env) && self.totals.structured_output.is_none() {
            return self.ask_for_structure(scope, id);
        }
        match StopHooks::start(scope, id, &self.totals.text, self.stop_hook_active) {
            Some(hooks) => {
                self.begin_answer();
                self.state = QueryState::StopHooks(Box::new(hooks));
                QueryVerdict::Running
            }
            None => self.after_stop_hooks(scope, id, &[]),
        }
    }

    /// The turn would end without structured output: the model is asked for it, or was asked too often.
    fn ask_for_structure(&mut self, scope: &mut QueryScope<'_>, id: RequestId) -> QueryVerdict {
        self.begin_answer();
        if let Some(ending) = self.structure_requests.count(scope.env.settings.session.max_structured_output_retries) {
            return self.end(scope, ending);
        }
        let text = scope.env.settings.texts.template(TextName::StructuredOutput);
        scope.say_hidden(&format!("{}.structure", answer_name(id)), "structured_output", text);
        self.ask_again(scope, id, Transition::StopHookBlocking)
    }

    /// Passes an input on to the stop hooks.
    pub(super) fn step_stop_hooks(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        let QueryState::StopHooks(hooks) = &mut self.state else { return QueryVerdict::Running };
        let Some(StopHookVerdict { answered, decision, contexts }) = hooks.step(scope, input) else { return QueryVerdict::Running };
        match decision {
            StopHookDecision::Silent => self.after_stop_hooks(scope, answered, &contexts),
            StopHookDecision::Prevents(why) => {
                scope.effects.push(Effect::Emit(Emission::Warning { text: format!("a stop hook ends the turn: {why}").into() }));
                self.end(scope, QueryEnding::well(Terminal::StopHookPrevented))
            }
            StopHookDecision::Objects(reasons) => {
                for (number, reason) in (1..).zip(&reasons) {
                    let name = format!("{}.stop-hook{number}", answer_name(answered));
                    scope.say_hidden(&name, Transition::StopHookBlocking.as_str(), reason);
                }
                tell_model(scope, answered, &contexts);
                self.stop_hook_active = true;
                self.ask_again(scope, answered, Transition::StopHookBlocking)
            }
        }
    }

    /// Q-17, and the end, after which the context of the hooks has no receiver.
    fn after_stop_hooks(&mut self, scope: &mut QueryScope<'_>, id: RequestId, contexts: &[Arc<str>]) -> QueryVerdict {
        let used = self.totals.output_tokens();
        let budget = scope.env.settings.session.token_budget;
        if let Some(text) = budget.and_then(|budget| self.nudges.next(&scope.env.settings.texts, budget, used)) {
            scope.say_hidden(&format!("{}.nudge", answer_name(id)), Transition::TokenBudgetContinuation.as_str(), &text);
            tell_model(scope, id, contexts);
            return self.ask_again(scope, id, Transition::TokenBudgetContinuation);
        }
        self.end(scope, QueryEnding::well(Terminal::Completed))
    }

    /// After each message: if the budget is used up, what is under way is aborted.
    pub(super) fn check_budget(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        match self.state.costs_more() && self.is_over_budget(scope) {
            true => self.abort(scope, AbortKind::Budget),
            false => QueryVerdict::Running,
        }
    }

    /// Ends the prompt where no call is under way: an answer that is complete is kept, and its open tool uses get their results.
    pub(super) fn end_over_budget(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        self.end_tools(scope, (AbortKind::Budget, Terminal::MaxBudget))
    }

    /// Ends everything. A second abort finds nothing more to end.
    pub(super) fn abort(&mut self, scope: &mut QueryScope<'_>, kind: AbortKind) -> QueryVerdict {
        self.tool_summaries.drop_line(scope);
        let terminal = match &mut self.state {
            QueryState::Calling(call) => {
                // Q-10a: consumers are given what the model was saying; it is no part of the conversation.
                call.unfinished().into_iter().for_each(|message| scope.effects.push(Effect::Emit(Emission::Aborted(message))));
                self.turn.has_lost_thinking = call.has_unfinished_thinking();
                call.abort(scope.now, scope.effects);
                self.leave_call(scope);
                Terminal::AbortedStreaming
            }
            QueryState::Compacting { compaction, .. } => {
                let spent = compaction.abort(scope.now, scope.effects);
                self.spend(scope, spent);
                Terminal::AbortedStreaming
            }
            QueryState::StopHooks(hooks) => {
                hooks.abort(scope.effects);
                Terminal::AbortedStreaming
            }
            QueryState::Settling { .. } => Terminal::AbortedTools,
            QueryState::AwaitingTools => {
                // Q-18: the answer and its results would have been a turn.
                if scope.env.settings.session.max_turns.is_some_and(|max| self.totals.turns + 1 >= max) {
                    scope.effects.push(Effect::Emit(Emission::MaxTurnsReached { turns: self.totals.turns + 1 }));
                }
                Terminal::AbortedTools
            }
            QueryState::Ending(_) => {
                self.executor.abort(&mut scope.pipeline(), kind);
                return self.settle(scope);
            }
            QueryState::Finished => return QueryVerdict::Running,
        };
        self.end_tools(scope, (kind, terminal))
    }

    /// Ends what the answer asked for, and the prompt once all of it has its result.
    fn end_tools(&mut self, scope: &mut QueryScope<'_>, (kind, terminal): (AbortKind, Terminal)) -> QueryVerdict {
        self.executor.abort(&mut scope.pipeline(), kind);
        let ending = match kind {
            AbortKind::Budget => QueryEnding::over_budget(scope, self.spent(scope.env, scope.memory)),
            AbortKind::Cancel | AbortKind::Interrupt | AbortKind::Unneeded | AbortKind::Refusal => QueryEnding::aborted(terminal, kind),
        };
        self.state = QueryState::Ending(Box::new(ending));
        self.settle(scope)
    }

    /// Ends the prompt once what still runs of a discarded answer has stopped.
    pub(super) fn end(&mut self, scope: &mut QueryScope<'_>, ending: QueryEnding) -> QueryVerdict {
        self.turn = QueryTurn::default();
        self.state = QueryState::Ending(Box::new(ending));
        self.settle(scope)
    }

    /// Says what there is to say, and hands everything to the session.
    pub(super) fn finish(&mut self, scope: &mut QueryScope<'_>, ending: QueryEnding) -> QueryVerdict {
        self.totals.denials.extend(self.executor.take_denials());
        self.keep_what_is_answered(scope);
        self.state = QueryState::Finished;
        (self.turn, self.executor) = (QueryTurn::default(), Executor::default());
        self.tool_summaries.drop_line(scope);
        let errors = ending.tell(scope, self.prompt).into_iter().collect();
        scope.memory.spent = scope.memory.spent + self.totals.cost();
        QueryVerdict::Finished(Box::new(QueryOutcome {
            terminal: ending.terminal,
            errors,
            queued: self.queued.take(),
            totals: core::mem::take(&mut self.totals),
        }))
    }

    /// Keeps the part of a broken-off answer that the next prompt continues from: its complete blocks, each tool use with its result.
    fn keep_what_is_answered(&mut self, scope: &mut QueryScope<'_>) {
        orphan::close_all(scope, &self.executor);
        if self.turn.is_told_refused() && !self.turn.has_tool_use() && !scope.env.settings.refusal_notes {
            return;
        }
        scope.memory.keep_answer(&self.turn.blocks, None);
        if self.turn.has_lost_thinking {
            scope.memory.conversation.note_lost_thinking();
        }
        if let Some(first) = self.turn.blocks.first() {
            let mut results = self.executor.results(&scope.env.settings);
            results.extend(self.executor.attachments());
            scope.memory.conversation.push_user(results_name(first.id), ItemKind::Results, results);
        }
    }
}
