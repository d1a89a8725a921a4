//! Budgets inside a prompt (S-10): money, and the task's tokens. The third one, turns, stands where turns are counted.
//!
//! Money is that of the whole tree of agents. It is looked at before each attempt and after each message: here for what the session itself does,
//! in [`AgentLoop`](crate::engine::agent_loop::AgentLoop) for what others do.

use super::outcome::{AttemptCost, QueryEnding};
use super::{Query, QueryState, QueryTurn, QueryVerdict};
use crate::engine::agent_effects::AgentEffects;
use crate::engine::budget::NanoUsd;
use crate::engine::contract::Terminal;
use crate::engine::emission::ResultMessage;
use crate::engine::executor::PipelineScope;
use crate::engine::executor::abort::AbortKind;
use crate::engine::session::prompt::with_task_budget;
use crate::engine::settings::Environment;
use crate::engine::time::Time;
use crate::prelude::*;
use crate::wire::request::Request;

impl Query {
    /// The request that is due.
    pub(super) fn request(&self, env: &Environment) -> Request {
        let mut request = self.carried.conversation.request(&self.frame, self.chain.raised_cap);
        if let Some(total) = env.settings.session.task_budget {
            request.extra = with_task_budget(&request.extra, total, total.saturating_sub(self.carried.task_tokens_used));
        }
        self.with_container(request)
    }

    /// The spending of this session so far, a running answer included.
    pub(crate) fn spent(&self, env: &Environment) -> NanoUsd {
        let running = match &self.state {
            QueryState::Calling { call, .. } => AttemptCost::from_call(call).cost(env),
            QueryState::Compacting { compaction, .. } => {
                let costs = compaction.usage().map(|(model, usage)| AttemptCost { model, usage, is_fast: false }.cost(env));
                costs.fold(NanoUsd::default(), |sum, cost| sum + cost)
            }
            _ => NanoUsd::default(),
        };
        self.carried.spent + self.totals.cost() + running
    }

    /// Whether what all agents together have spent is all that may be.
    pub(super) fn is_over_budget(&self, env: &Environment, effects: &AgentEffects) -> bool {
        env.settings.session.max_budget.is_some_and(|max| self.spent(env) + effects.elsewhere().spent >= max)
    }

    /// Makes the attempt that is due, if there is money for it.
    pub(super) fn make_what_is_due(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) -> QueryVerdict {
        let is_due = match &self.state {
            QueryState::Calling { call, .. } => call.is_due(),
            QueryState::Compacting { compaction, .. } => compaction.is_due(),
            _ => false,
        };
        if is_due && self.is_over_budget(env, effects) {
            return self.abort(env, now, AbortKind::Budget, effects);
        }
        match &mut self.state {
            QueryState::Calling { call, .. } if is_due => call.make(env, now, effects),
            QueryState::Compacting { compaction, .. } if is_due => compaction.make(env, now, effects),
            _ => (),
        }
        QueryVerdict::Running
    }

    /// A message of some agent came: the session checks the budget (S-10).
    pub(crate) fn look_at_budget(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) -> QueryVerdict {
        let before = self.before(effects);
        let verdict = self.check_budget(env, now, effects);
        self.after_step(env, now, &before, verdict, effects)
    }

    /// Agents that worked for this prompt have cost this much.
    pub(crate) fn charge(&mut self, result: &ResultMessage) {
        for ((model, usage), (_, cost)) in result.usage_by_model.iter().zip(&result.cost_by_model) {
            self.totals.charge(model, usage, *cost);
        }
    }

    /// After each message: if the budget is used up, what is under way is aborted. A prompt that waits for nothing but its stop hooks finds that out
    /// by itself, should it continue.
    pub(super) fn check_budget(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) -> QueryVerdict {
        let is_under_way = match self.state {
            QueryState::Settling { .. } | QueryState::Calling { .. } | QueryState::Compacting { .. } | QueryState::AwaitingTools { .. } => {
                true
            }
            QueryState::StopHooks { .. } | QueryState::Ending { .. } | QueryState::Finished => false,
        };
        match is_under_way && self.is_over_budget(env, effects) {
            true => self.abort(env, now, AbortKind::Budget, effects),
            false => QueryVerdict::Running,
        }
    }

    /// Ends the prompt behind an answer that is complete: it is kept, and its open tool uses get their results.
    pub(super) fn end_over_budget(
        &mut self,
        env: &Environment,
        now: Time,
        mut turn: QueryTurn,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        turn.executor.abort(&mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects }, AbortKind::Budget);
        self.state = QueryState::Ending { turn, ending: Box::new(self.over_budget(env, effects)) };
        self.settle(env, now, effects)
    }

    /// How a prompt ends whose money is spent.
    pub(super) fn over_budget(&self, env: &Environment, effects: &AgentEffects) -> QueryEnding {
        let spent = self.spent(env) + effects.elsewhere().spent;
        let max = env.settings.session.max_budget.unwrap_or_default();
        QueryEnding::limit(Terminal::MaxBudget, &format!("the budget is used up: {spent} of {max}"))
    }
}
