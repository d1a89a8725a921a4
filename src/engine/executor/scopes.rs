//! The end of tool uses when a scope around them is aborted (T-12 to T-15a). [`super::abort_reason`] decides which scopes are aborted, and why.
//!
//! ```text
//!   queued ──> answered at once, or in its turn behind what still executes (`abort_results`)
//!   executing ──> told to stop ──ended, or its grace is over──> answered
//! ```

use super::Executor;
use super::abort_reason::AbortKind;
use super::diagram::{ToolCause, ToolPhase};
use super::entry::{EntryState, ToolEntry};
use super::pipeline::{PipelineHalt, PipelineScope};
use crate::emission::ToolState;
use crate::time::Time;
use reenact_wire::prelude::*;

impl Executor {
    /// Aborts the query scope (T-12, Q-10): waiting tool uses are answered, running tools are stopped, as the settings say.
    pub(crate) fn abort(&mut self, scope: &mut PipelineScope<'_>, kind: AbortKind) {
        if matches!(self.aborts.query, None | Some(AbortKind::Interrupt)) {
            self.aborts.query = Some(kind); // what a message left alone ends with the prompt
        }
        self.apply_to_all(scope);
    }

    /// The answer that asked for these tools is lost and will not be asked for again: each open tool use is answered (T-16).
    pub(crate) fn lose(&mut self, scope: &mut PipelineScope<'_>) {
        self.aborts.discarded = true;
        self.apply_to_all(scope);
    }

    /// When the next grace of a stopping tool is over (T-15a).
    pub(crate) fn grace_until(&self) -> Option<Time> {
        let stopping = self.entries.iter().filter_map(|entry| match entry.state {
            EntryState::Stopping { until, .. } => Some(until),
            _ => None,
        });
        stopping.chain(self.ghosts.iter().map(|ghost| ghost.until)).min()
    }

    /// Completes stopping tool uses whose grace is over (T-15a).
    pub(super) fn on_grace_over(&mut self, scope: &mut PipelineScope<'_>) {
        for entry in &mut self.entries {
            if let EntryState::Stopping { reason, until } = &entry.state
                && *until <= scope.now
            {
                let reason = reason.clone();
                entry.complete_aborted(scope.env, &reason, scope.effects);
            }
        }
        self.ghosts.retain(|ghost| ghost.until > scope.now);
    }

    /// T-13. Without streaming execution the scope is one batch (T-20).
    pub(super) fn abort_siblings(&mut self, scope: &mut PipelineScope<'_>, batch: Option<u32>, failed: String) {
        self.aborts.sibling = Some(failed.into());
        self.apply_aborts(scope, |entry| entry.batch == batch);
        if !scope.env.settings.streaming_execution {
            self.aborts.sibling = None;
        }
    }

    fn apply_to_all(&mut self, scope: &mut PipelineScope<'_>) {
        self.apply_aborts(scope, |_| true);
        if self.entries.iter().any(|entry| entry.phase() == ToolPhase::Queued) {
            self.scan(scope).by_nobody(); // what stopped at once may have made room
        }
    }

    /// Ends what is aborted: what waits is answered unless it waits for its turn, what runs is told to stop. The next batch knows nothing of a
    /// sibling's failure in this one, so that nobody could be told of it later (T-20).
    fn apply_aborts(&mut self, scope: &mut PipelineScope<'_>, concerns: impl Fn(&ToolEntry) -> bool) {
        let settings = &scope.env.settings;
        let are_there_turns = settings.streaming_execution || self.aborts.sibling.is_none();
        let until = scope.now + settings.tool_grace;
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            let Some(reason) = entry.why_aborted(&self.aborts, settings).filter(|_| concerns(entry)) else { continue };
            if let EntryState::Executing(pipeline) = &entry.state
                && let Some(stop) = pipeline.stop_until_now()
            {
                entry.heard.stop.get_or_insert_with(|| stop.clone());
            }
            match &entry.state {
                EntryState::Queued { .. } if are_there_turns && entry.has_a_turn(settings) => (),
                EntryState::Queued { .. } => entry.complete_aborted(scope.env, &reason, scope.effects),
                EntryState::Executing(pipeline) => match pipeline.halt(scope.env, scope.effects) {
                    PipelineHalt::AtOnce => entry.complete_aborted(scope.env, &reason, scope.effects),
                    PipelineHalt::Stopping => {
                        entry.to(ToolCause::Abort, EntryState::Stopping { reason, until });
                        entry.note(ToolState::Stopping, scope.effects);
                    }
                    // The scope is aborted already, so nothing more follows from how it ended.
                    PipelineHalt::Ended(end) => {
                        entry.complete(ToolCause::Abort, &end.outcome, scope.effects);
                        drop(self.on_end(scope, index, end));
                    }
                },
                _ => (),
            }
        }
        self.check_invariants(settings);
    }
}
