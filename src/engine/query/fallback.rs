//! An attempt that does not count any more: another model takes over (Q-19, Q-21), or the stream broke and is asked for again (Q-20).
//!
//! ```text
//!   Fallback:   missing results, the executor discarded, model switched, signatures gone, one message, the request again
//!   Abandoned:  tombstones, the executor discarded, the next attempt of the same call
//! ```
//!
//! A fallback keeps what was emitted and closes it with results; a tombstone takes it back, so that no result is owed.

use super::outcome::AttemptCost;
use super::{DIAGRAM, Query, QueryState, QueryTurn, QueryVerdict};
use crate::engine::agent_effects::AgentEffects;
use crate::engine::call::ApiCall;
use crate::engine::contract::{Effect, RequestId};
use crate::engine::emission::{Emission, Note};
use crate::engine::executor::PipelineScope;
use crate::engine::retry::{AttemptFailure, CallUrgency};
use crate::engine::settings::Environment;
use crate::engine::texts::TextName;
use crate::engine::time::Time;
use crate::prelude::*;

impl Query {
    /// Q-19. The request is made again in the same iteration: the turn's number stays, the attempt's continues.
    pub(super) fn on_fallback(
        &mut self,
        env: &Environment,
        now: Time,
        to: &Arc<str>,
        failure: AttemptFailure,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        let QueryState::Calling { call, .. } = &self.state else { return QueryVerdict::Running };
        if call.model() == to {
            return self.on_call_lost(env, now, failure, effects); // Q-21: there is nowhere to go from here
        }
        if self.is_over_budget(env, effects) {
            let (call, turn) = self.state.take_call();
            self.totals.count_lost(env, now, &call);
            self.carried.standing = call.standing();
            return self.end_over_budget(env, now, turn, effects); // nobody is asked any more
        }
        let QueryState::Calling { call, turn } = &mut self.state else { return QueryVerdict::Running };
        let (from, id) = (call.model().clone(), call.id());
        turn.executor.fill_missing_results(env.settings.texts.template(TextName::Fallback), effects);
        turn.discard(&mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects }, id);
        self.totals.count_lost(env, now, call);
        self.carried.standing = call.standing();
        self.frame = Arc::new(self.frame.with_model(to));
        self.carried.turn_to(to);
        effects.push(Effect::Emit(Emission::ModelFallback { id, from, to: to.clone(), reason: failure.summary().into() }));
        DIAGRAM.pass("Calling", "fallback", "Calling");
        let next = RequestId { attempt: id.attempt + 1, ..id };
        let request = self.request(env);
        if let QueryState::Calling { call, .. } = &mut self.state {
            **call = ApiCall::open(env, now, (next, CallUrgency::for_loop(&env.settings)), request, self.carried.standing.clone(), effects);
        }
        QueryVerdict::Running
    }

    /// Q-20. Tombstoned tool uses need no result, and results that were emitted already are taken back with them.
    pub(super) fn on_abandoned(
        &mut self,
        env: &Environment,
        now: Time,
        _failure: AttemptFailure,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        let QueryState::Calling { call, turn } = &mut self.state else { return QueryVerdict::Running };
        self.totals.count_attempt(env, &AttemptCost::from_call(call));
        call.forget_usage();
        let emitted = turn.blocks.iter().map(|message| message.uuid.clone()).chain(turn.executor.emitted_results());
        for uuid in emitted.collect::<Vec<_>>() {
            effects.push(Effect::Emit(Emission::Tombstone { uuid }));
        }
        turn.discard(&mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects }, call.id());
        DIAGRAM.pass("Calling", "attempt taken back", "Calling");
        call.go_on(env, now, effects);
        QueryVerdict::Running
    }
}

impl QueryTurn {
    /// T-19: nothing of this answer counts any more, and nothing more comes out of it.
    fn discard(&mut self, scope: &mut PipelineScope<'_>, id: RequestId) {
        self.blocks.clear();
        self.usage = None;
        let (executor, left) = core::mem::take(&mut self.executor).discard(scope);
        self.executor = executor;
        scope.effects.push(Effect::Note(match left.is_empty() {
            true => Note::Discarded { id, running: self.executor.ghost_runs() },
            false => Note::LeftRunning { id, runs: left },
        }));
    }
}
