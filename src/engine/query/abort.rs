//! Aborts: at any instant everything ends, and every open tool use gets its one result (Q-10, Q-18, Q-22).
//!
//! ```text
//!   Calling, Compacting, StopHooks ──> aborted_streaming
//!   AwaitingTools ──> aborted_tools
//! ```

use super::outcome::QueryEnding;
use super::{Query, QueryScope, QueryState, QueryVerdict};
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
        let terminal = match &mut self.state {
            QueryState::Calling(call) => {
                // Q-10a: consumers are given what the model was saying; it is no part of the conversation.
                call.unfinished().into_iter().for_each(|message| scope.effects.push(Effect::Emit(Emission::Aborted(message))));
                call.abort(scope.now, scope.effects);
                self.leave_call(scope);
                Terminal::AbortedStreaming
            }
            QueryState::Compacting { compaction, .. } => {
                let spent = compaction.abort(scope.now, scope.effects);
                self.spend(scope, spent);
                Terminal::AbortedStreaming
            }
            QueryState::StopHooks { hooks, .. } => {
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
        self.executor.abort(&mut scope.pipeline(), kind);
        let ending = match kind {
            AbortKind::Budget => self.over_budget(scope),
            AbortKind::Cancel | AbortKind::Interrupt | AbortKind::Unneeded | AbortKind::Refusal => QueryEnding::aborted(terminal, kind),
        };
        self.state = QueryState::Ending(Box::new(ending));
        self.settle(scope)
    }
}
