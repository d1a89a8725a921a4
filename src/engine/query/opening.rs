//! The opening: what earlier sessions left open is settled (S-3), then the first request is made, or what was asked for instead of it.

use super::orphan::{self, AnsweredOrphan};
use super::outcome::QueryEnding;
use super::state::{AfterCompaction, QueryState};
use super::{Query, QueryBeginning, QueryScope, QueryVerdict};
use crate::compaction::CompactionCause;
use crate::contract::{Effect, RequestId, Terminal};
use crate::emission::{CompactTrigger, Emission};
use reenact_wire::prelude::*;

impl Query {
    /// Settles what earlier sessions left open, then begins. This happens once in a session, because nothing stays open.
    pub(super) fn settle_orphans(&mut self, scope: &mut QueryScope<'_>, begins: QueryBeginning) -> QueryVerdict {
        // Without money nothing runs that could ask for more (S-10).
        let orphan = AnsweredOrphan::find(scope, self.prompt).filter(|_| !self.is_over_budget(scope));
        let Some(AnsweredOrphan { message, tool_use, answer }) = orphan else {
            orphan::close_all(scope, &self.executor); // there is no result yet
            return self.begin(scope, begins);
        };
        scope.effects.push(Effect::Emit(Emission::Assistant(message.clone())));
        let submitted = self.executor.submit_answered(&mut scope.pipeline(), &message, &tool_use, Some(answer));
        let started = self.executor.on_stream_over(&mut scope.pipeline());
        self.state = QueryState::Settling { begins };
        self.on_tools(scope, submitted.or(started)) // T-14: the person may want no more of it
    }

    /// The tool use has its result: it joins the conversation, and the prompt begins.
    pub(super) fn on_orphan_settled(&mut self, scope: &mut QueryScope<'_>, begins: QueryBeginning) -> QueryVerdict {
        self.totals.denials.extend(self.executor.take_denials());
        orphan::close_all(scope, &self.executor);
        let stopped = self.executor.stopped_by_hook().cloned();
        self.begin_answer();
        match stopped {
            Some(why) => {
                scope.effects.push(Effect::Emit(Emission::Warning { text: format!("a hook ends the turn: {why}").into() }));
                self.end(scope, QueryEnding::well(Terminal::HookStopped))
            }
            None => self.begin(scope, begins),
        }
    }

    /// The first request, or what is done instead of it.
    fn begin(&mut self, scope: &mut QueryScope<'_>, begins: QueryBeginning) -> QueryVerdict {
        let id = RequestId::first(self.prompt);
        if self.is_over_budget(scope) {
            return self.end_over_budget(scope); // no hook of a compaction is asked, either
        }
        match begins {
            QueryBeginning::Asking => self.begin_iteration(scope, id),
            QueryBeginning::Compacting(instructions) => {
                let cause = CompactionCause { instructions, ..CompactionCause::new(CompactTrigger::Manual) };
                self.compact(scope, cause, (id, AfterCompaction::End(id)))
            }
        }
    }
}
