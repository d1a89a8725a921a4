//! Aborts: at any instant everything ends, and every open tool use gets its one result (Q-10, Q-18, Q-22).
//!
//! ```text
//!   Calling, Compacting, StopHooks ──> aborted_streaming
//!   AwaitingTools ──> aborted_tools
//! ```

use super::outcome::QueryEnding;
use super::{Query, QueryScope, QueryState, QueryTurn, QueryVerdict};
use crate::contract::{Effect, Terminal};
use crate::emission::Emission;
use crate::executor::abort_reason::AbortKind;
use reenact_wire::prelude::*;

impl Query {
    /// The result of this agent is no longer needed (B-8).
    pub(crate) fn stop(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let before = self.before();
        let verdict = self.abort(scope, AbortKind::Unneeded);
        self.after_step(scope, &before, verdict)
    }

    /// Ends everything. A second abort finds nothing more to end.
    pub(super) fn abort(&mut self, scope: &mut QueryScope<'_>, kind: AbortKind) -> QueryVerdict {
        self.drop_tool_summary(scope);
        let (turn, terminal) = match core::mem::replace(&mut self.state, QueryState::Finished) {
            QueryState::Calling { mut call, turn } => {
                // Q-10a: consumers are given what the model was saying; it is no part of the conversation.
                call.unfinished().into_iter().for_each(|message| scope.effects.push(Effect::Emit(Emission::Aborted(message))));
                call.abort(scope.now, scope.effects);
                self.totals.count_lost(scope.env, scope.now, &call);
                scope.memory.standing = call.standing();
                (turn, Terminal::AbortedStreaming)
            }
            QueryState::Compacting { mut compaction, .. } => {
                let spent = compaction.abort(scope.now, scope.effects);
                self.spend(scope, spent);
                (QueryTurn::default(), Terminal::AbortedStreaming)
            }
            QueryState::StopHooks { hooks, .. } => {
                hooks.abort(scope.effects);
                (QueryTurn::default(), Terminal::AbortedStreaming)
            }
            QueryState::Settling { .. } => (QueryTurn::default(), Terminal::AbortedTools),
            QueryState::AwaitingTools { turn } => {
                // Q-18: the answer and its results would have been a turn.
                if scope.env.settings.session.max_turns.is_some_and(|max| self.totals.turns + 1 >= max) {
                    scope.effects.push(Effect::Emit(Emission::MaxTurnsReached { turns: self.totals.turns + 1 }));
                }
                (turn, Terminal::AbortedTools)
            }
            QueryState::Ending { turn, ending } => {
                self.executor.abort(&mut scope.pipeline(), kind);
                self.state = QueryState::Ending { turn, ending };
                return self.settle(scope);
            }
            QueryState::Finished => return QueryVerdict::Running,
        };
        self.executor.abort(&mut scope.pipeline(), kind);
        let ending = match kind {
            AbortKind::Budget => self.over_budget(scope),
            AbortKind::Cancel | AbortKind::Interrupt | AbortKind::Unneeded | AbortKind::Refusal => QueryEnding::aborted(terminal, kind),
        };
        self.state = QueryState::Ending { turn, ending: Box::new(ending) };
        self.settle(scope)
    }
}
