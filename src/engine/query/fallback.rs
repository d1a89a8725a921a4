//! An attempt that does not count any more: another model takes over (Q-19, Q-21), or the stream broke and is asked for again (Q-20).
//!
//! ```text
//!   Fallback:   missing results, the executor discarded, model switched, signatures gone, one message, the request again
//!   Abandoned:  tombstones, the executor discarded, the next attempt of the same call
//! ```
//!
//! A fallback keeps what was emitted and closes it with results; a tombstone takes it back, so that no result is owed.

use super::diagram::{QueryCause, QueryPhase};
use super::{DIAGRAM, Query, QueryScope, QueryState, QueryTurn, QueryVerdict};
use crate::call::LostAttempt;
use crate::contract::{Effect, RequestId};
use crate::emission::{Emission, Note};
use crate::executor::Executor;
use crate::retry::AttemptFailure;
use crate::texts::TextName;
use reenact_wire::prelude::*;

impl Query {
    /// Q-19. The request is made again in the same iteration: the turn's number stays, the attempt's continues.
    pub(super) fn on_fallback(&mut self, scope: &mut QueryScope<'_>, to: &Arc<str>, failure: AttemptFailure) -> QueryVerdict {
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
    pub(super) fn on_abandoned(&mut self, scope: &mut QueryScope<'_>, lost: LostAttempt) -> QueryVerdict {
        self.count_lost(scope, lost);
        let QueryState::Calling(call) = &mut self.state else { return QueryVerdict::Running };
        let emitted = self.turn.blocks.iter().map(|message| message.uuid.clone()).chain(self.executor.emitted_results());
        for uuid in emitted.collect::<Vec<_>>() {
            scope.effects.push(Effect::Emit(Emission::Tombstone { uuid }));
        }
        self.turn.forget();
        discard(&mut self.executor, scope, call.id());
        DIAGRAM.pass(Some(QueryPhase::Calling), QueryCause::Retraction, QueryPhase::Calling);
        call.go_on(scope.env, scope.now, scope.effects);
        QueryVerdict::Running
    }
}

impl QueryTurn {
    /// Nothing of this answer counts any more.
    fn forget(&mut self) {
        self.blocks.clear();
        self.usage = None;
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
