//! Budgets inside a prompt (S-10): money, and the task's tokens. The third one, turns, stands where turns are counted.

use super::outcome::{Attempt, Ending};
use super::{Query, State, Turn, Verdict};
use crate::engine::contract::{Effects, Terminal};
use crate::engine::executor::Scope;
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

    /// Whether what was spent so far, a running answer included, is all that may be.
    pub(super) fn is_over_budget(&self, env: &Environment) -> bool {
        let Some(max) = env.settings.session.max_budget else { return false };
        let running = match &self.state {
            State::Calling { call, .. } => Attempt::of(call).cost(env),
            _ => Default::default(),
        };
        self.carried.spent + self.totals.cost() + running >= max
    }

    /// After each message: if the budget is used up, the query is aborted.
    pub(super) fn check_budget(&mut self, env: &Environment, now: Time, effects: &mut Effects) -> Verdict {
        match self.is_over_budget(env) {
            true => self.abort(env, now, AbortKind::Budget, effects),
            false => Verdict::Running,
        }
    }

    /// Ends the prompt behind an answer that is complete: it is kept, and its open tool uses get their results.
    pub(super) fn end_over_budget(&mut self, env: &Environment, now: Time, mut turn: Turn, effects: &mut Effects) -> Verdict {
        turn.executor.abort(&mut Scope { env, now, permissions: &mut self.carried.permissions, effects }, AbortKind::Budget);
        self.state = State::Ending { turn, ending: Box::new(self.over_budget(env)) };
        self.settle(env, now, effects)
    }

    /// How a prompt ends whose money is spent.
    pub(super) fn over_budget(&self, env: &Environment) -> Ending {
        let spent = self.carried.spent + self.totals.cost();
        let max = env.settings.session.max_budget.unwrap_or_default();
        Ending::limit(Terminal::MaxBudget, &format!("the budget is used up: {spent} of {max}"))
    }
}
