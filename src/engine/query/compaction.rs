//! Shorter conversations: what is tried when a request was too large, compactions, and what follows them (C-4, C-5, C-9).
//!
//! Stop hooks do not run on the way of a recovery: they would grow the very prompt that is too long.

use super::outcome::QueryEnding;
use super::prompt_too_long::{ExcessKind, TooLongRecovery};
use super::state::{AfterCompaction, QueryState};
use super::{Query, QueryScope, QueryVerdict, host};
use crate::budget::AnswerCharge;
use crate::compaction::{self, Compaction, CompactionCause, CompactionUsage, CompactionVerdict, FailedCompaction, SuccessfulCompaction};
use crate::contract::{Input, RequestId, Terminal};
use crate::emission::{CompactTrigger, Transition};
use crate::retry::AttemptFailure;
use reenact_wire::prelude::*;

impl Query {
    /// Goes through the recoveries; `ending` is what the prompt ends with when none is left.
    pub(super) fn recover(
        &mut self,
        scope: &mut QueryScope<'_>,
        kind: ExcessKind,
        (id, ending): (RequestId, QueryEnding),
        failure: &AttemptFailure,
    ) -> QueryVerdict {
        let can_react = compaction::can_react(scope.env, &scope.memory.conversation, &scope.memory.tracking);
        let settings = &scope.env.settings.compaction;
        let mut recovery = self.recoveries.on_excess(kind, can_react, settings);
        if recovery == TooLongRecovery::Drain {
            if compaction::drain_collapses(scope.env, &self.frame, &mut scope.memory.conversation, scope.effects) {
                return self.ask_again(scope, id, Transition::CollapseDrainRetry);
            }
            recovery = self.recoveries.on_excess(kind, can_react, settings);
        }
        match recovery {
            TooLongRecovery::Compact => {
                scope.memory.tracking.reactively_compacted = true;
                let cause = CompactionCause {
                    excess: compaction::excess(failure),
                    without_media: kind == ExcessKind::Media,
                    answers_min: if failure.status == Some(413) { settings.too_large_answers } else { 0 },
                    ..CompactionCause::new(CompactTrigger::Reactive)
                };
                let first = RequestId { prompt: id.prompt, turn: id.turn + 1, attempt: 1 };
                let then = AfterCompaction::Retry(Box::new(ending));
                self.compact(scope, cause, (first, then))
            }
            TooLongRecovery::Drain | TooLongRecovery::GiveUp => self.end(scope, ending),
        }
    }

    /// Begins a compaction whose first request is `id`.
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
            CompactionVerdict::Running => return QueryVerdict::Running,
            CompactionVerdict::Done(done) => Ok(done),
            CompactionVerdict::Failed(failed) => Err(failed),
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
                let changed = host::changed_frame(&self.frame, scope, id);
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
