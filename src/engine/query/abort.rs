//! Aborts: at any instant everything ends, and every open tool use gets its one result (Q-10, Q-18, Q-22).
//!
//! ```text
//!   Calling, Compacting, StopHooks ──> aborted_streaming
//!   AwaitingTools ──> aborted_tools
//! ```

use super::outcome::QueryEnding;
use super::{Query, QueryState, QueryTurn, QueryVerdict};
use crate::engine::agent_effects::AgentEffects;
use crate::engine::contract::{Effect, Terminal};
use crate::engine::emission::Emission;
use crate::engine::executor::PipelineScope;
use crate::engine::executor::abort::AbortKind;
use crate::engine::settings::Environment;
use crate::engine::time::Time;
use crate::prelude::*;

impl Query {
    /// The result of this agent is no longer needed (B-8).
    pub(crate) fn stop(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) -> QueryVerdict {
        let before = self.before(effects);
        let verdict = self.abort(env, now, AbortKind::Unneeded, effects);
        self.after_step(env, now, &before, verdict, effects)
    }

    /// Ends everything. A second abort finds nothing more to end.
    pub(super) fn abort(&mut self, env: &Environment, now: Time, kind: AbortKind, effects: &mut AgentEffects) -> QueryVerdict {
        self.drop_tool_summary(now, effects);
        let (mut turn, terminal) = match core::mem::replace(&mut self.state, QueryState::Finished) {
            QueryState::Calling { mut call, turn } => {
                // Q-10a: consumers are given what the model was saying; it is no part of the conversation.
                call.unfinished().into_iter().for_each(|message| effects.push(Effect::Emit(Emission::Aborted(message))));
                call.abort(now, effects);
                self.totals.count_lost(env, now, &call);
                self.carried.standing = call.standing();
                (turn, Terminal::AbortedStreaming)
            }
            QueryState::Compacting { mut compaction, executor, .. } => {
                let spent = compaction.abort(now, effects);
                self.spend(env, spent);
                (QueryTurn { executor, ..QueryTurn::default() }, Terminal::AbortedStreaming)
            }
            QueryState::StopHooks { hooks, executor, .. } => {
                hooks.abort(effects);
                (QueryTurn { executor, ..QueryTurn::default() }, Terminal::AbortedStreaming)
            }
            QueryState::Settling { executor, .. } => (QueryTurn { executor, ..QueryTurn::default() }, Terminal::AbortedTools),
            QueryState::AwaitingTools { turn } => {
                // Q-18: the answer and its results would have been a turn.
                if env.settings.session.max_turns.is_some_and(|max| self.totals.turns + 1 >= max) {
                    effects.push(Effect::Emit(Emission::MaxTurnsReached { turns: self.totals.turns + 1 }));
                }
                (turn, Terminal::AbortedTools)
            }
            QueryState::Ending { mut turn, ending } => {
                turn.executor.abort(&mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects }, kind);
                self.state = QueryState::Ending { turn, ending };
                return self.settle(env, now, effects);
            }
            QueryState::Finished => return QueryVerdict::Running,
        };
        turn.executor.abort(&mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects }, kind);
        let ending = match kind {
            AbortKind::Budget => self.over_budget(env, effects),
            AbortKind::Cancel | AbortKind::Interrupt | AbortKind::Unneeded | AbortKind::Refusal => QueryEnding::aborted(terminal, kind),
        };
        self.state = QueryState::Ending { turn, ending: Box::new(ending) };
        self.settle(env, now, effects)
    }
}
