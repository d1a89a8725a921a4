//! Budgets inside a prompt (S-10): money, and the task's tokens. The third one, turns, stands where turns are counted.
//!
//! Money is that of the whole tree of agents. It is looked at before each attempt and after each message: here for what the session itself does,
//! in [`AgentLoop`](crate::agent_loop::AgentLoop) for what others do.

use super::outcome::{AttemptCost, QueryEnding};
use super::{Query, QueryScope, QueryState, QueryVerdict};
use crate::budget::NanoUsd;
use crate::contract::Terminal;
use crate::emission::ResultMessage;
use crate::executor::abort_reason::AbortKind;
use crate::session::memory::SessionMemory;
use crate::session::prompt::with_task_budget;
use crate::settings::Environment;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

impl Query {
    /// The request that is due.
    pub(super) fn request(&self, scope: &QueryScope<'_>) -> Request {
        let mut request = scope.memory.conversation.request(&self.frame, self.chain.raised_cap);
        if let Some(total) = scope.env.settings.session.task_budget {
            request.extra = with_task_budget(&request.extra, total, total.saturating_sub(scope.memory.task_tokens_used));
        }
        scope.memory.with_container(request)
    }

    /// The spending of this session so far, a running answer included.
    pub(crate) fn spent(&self, env: &Environment, memory: &SessionMemory) -> NanoUsd {
        let running = match &self.state {
            QueryState::Calling(call) => AttemptCost::from_call(call).cost(env),
            QueryState::Compacting { compaction, .. } => {
                let costs = compaction.usage().map(|(model, usage)| AttemptCost { model, usage, is_fast: false }.cost(env));
                costs.fold(NanoUsd::default(), |sum, cost| sum + cost)
            }
            _ => NanoUsd::default(),
        };
        memory.spent + self.totals.cost() + running
    }

    /// Whether what all agents together have spent is all that may be.
    pub(super) fn is_over_budget(&self, scope: &QueryScope<'_>) -> bool {
        scope
            .env
            .settings
            .session
            .max_budget
            .is_some_and(|max| self.spent(scope.env, scope.memory) + scope.effects.elsewhere().spent >= max)
    }

    /// Makes the attempt that is due, if there is money for it.
    pub(super) fn make_what_is_due(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let is_due = match &self.state {
            QueryState::Calling(call) => call.is_due(),
            QueryState::Compacting { compaction, .. } => compaction.is_due(),
            _ => false,
        };
        if is_due && self.is_over_budget(scope) {
            return self.abort(scope, AbortKind::Budget);
        }
        match &mut self.state {
            QueryState::Calling(call) if is_due => call.make(scope.env, scope.now, scope.effects),
            QueryState::Compacting { compaction, .. } if is_due => compaction.make(scope.env, scope.now, scope.effects),
            _ => (),
        }
        QueryVerdict::Running
    }

    /// A message of some agent came: the session checks the budget (S-10).
    pub(crate) fn look_at_budget(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let before = self.before();
        let verdict = self.check_budget(scope);
        self.after_step(scope, &before, verdict)
    }

    /// Agents that worked for this prompt have cost this much.
    pub(crate) fn charge(&mut self, result: &ResultMessage) {
        for ((model, usage), (_, cost)) in result.usage_by_model.iter().zip(&result.cost_by_model) {
            self.totals.charge(model, usage, *cost);
        }
    }

    /// After each message: if the budget is used up, what is under way is aborted. A prompt that waits for nothing but its stop hooks finds that out
    /// by itself, should it continue.
    pub(super) fn check_budget(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let is_under_way = match self.state {
            QueryState::Settling { .. } | QueryState::Calling(_) | QueryState::Compacting { .. } | QueryState::AwaitingTools => true,
            QueryState::StopHooks { .. } | QueryState::Ending(_) | QueryState::Finished => false,
        };
        match is_under_way && self.is_over_budget(scope) {
            true => self.abort(scope, AbortKind::Budget),
            false => QueryVerdict::Running,
        }
    }

    /// Ends the prompt behind an answer that is complete: it is kept, and its open tool uses get their results.
    pub(super) fn end_over_budget(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        self.executor.abort(&mut scope.pipeline(), AbortKind::Budget);
        self.state = QueryState::Ending(Box::new(self.over_budget(scope)));
        self.settle(scope)
    }

    /// How a prompt ends whose money is spent.
    pub(super) fn over_budget(&self, scope: &QueryScope<'_>) -> QueryEnding {
        let spent = self.spent(scope.env, scope.memory) + scope.effects.elsewhere().spent;
        let max = scope.env.settings.session.max_budget.unwrap_or_default();
        QueryEnding::limit(Terminal::MaxBudget, &format!("the budget is used up: {spent} of {max}"))
    }
}
