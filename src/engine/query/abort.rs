//! Aborts: whatever the instant, everything ends, and every open tool use gets its one result (Q-10, Q-18, Q-22).
//!
//! ```text
//!   Calling, Compacting, StopHooks ──> aborted_streaming
//!   AwaitingTools ──> aborted_tools
//! ```

use super::outcome::Ending;
use super::{Query, State, Turn, Verdict};
use crate::engine::contract::{Effect, Effects, Terminal};
use crate::engine::emission::Emission;
use crate::engine::executor::Scope;
use crate::engine::executor::abort::AbortKind;
use crate::engine::settings::Environment;
use crate::engine::time::Time;
use crate::prelude::*;

impl Query {
    /// Nobody waits any more for the result of the agent that this is (B-8).
    pub(crate) fn stop(&mut self, env: &Environment, now: Time, effects: &mut Effects) -> Verdict {
        let before = self.before(effects);
        let verdict = self.abort(env, now, AbortKind::Unneeded, effects);
        self.after_step(env, now, &before, verdict, effects)
    }

    /// Ends everything. A second abort finds nothing more to end.
    pub(super) fn abort(&mut self, env: &Environment, now: Time, kind: AbortKind, effects: &mut Effects) -> Verdict {
        self.drop_tool_summary(now, effects);
        let (mut turn, terminal) = match core::mem::replace(&mut self.state, State::Finished) {
            State::Calling { mut call, turn } => {
                // Q-10a: consumers are given what the model was saying; it is no part of the conversation.
                call.unfinished().into_iter().for_each(|message| effects.push(Effect::Emit(Emission::Aborted(message))));
                call.abort(now, effects);
                self.totals.count_lost(env, now, &call);
                self.carried.standing = call.standing();
                (turn, Terminal::AbortedStreaming)
            }
            State::Compacting { mut compaction, executor, .. } => {
                let spent = compaction.abort(now, effects);
                self.spend(env, spent);
                (Turn { executor, ..Turn::default() }, Terminal::AbortedStreaming)
            }
            State::StopHooks { hooks, executor, .. } => {
                hooks.abort(effects);
                (Turn { executor, ..Turn::default() }, Terminal::AbortedStreaming)
            }
            State::Settling { executor, .. } => (Turn { executor, ..Turn::default() }, Terminal::AbortedTools),
            State::AwaitingTools { turn } => {
                // Q-18: the answer and its results would have been a turn.
                if env.settings.session.max_turns.is_some_and(|max| self.totals.turns + 1 >= max) {
                    effects.push(Effect::Emit(Emission::MaxTurnsReached { turns: self.totals.turns + 1 }));
                }
                (turn, Terminal::AbortedTools)
            }
            State::Ending { mut turn, ending } => {
                turn.executor.abort(&mut Scope { env, now, permissions: &mut self.carried.permissions, effects }, kind);
                self.state = State::Ending { turn, ending };
                return self.settle(env, now, effects);
            }
            State::Finished => return Verdict::Running,
        };
        turn.executor.abort(&mut Scope { env, now, permissions: &mut self.carried.permissions, effects }, kind);
        let ending = match kind {
            AbortKind::Budget => self.over_budget(env, effects),
            AbortKind::Cancel | AbortKind::Interrupt | AbortKind::Unneeded => Ending::aborted(terminal, kind),
        };
        self.state = State::Ending { turn, ending: Box::new(ending) };
        self.settle(env, now, effects)
    }
}
