//! The end of an executor whose answer was discarded, or whose turn is over (Q-19, Q-20, T-19).

use super::entry::result_message;
use super::pipeline::{PipelineHalt, PipelineScope};
use super::{DiscardedTool, EntryState, Executor};
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, ToolOutcome, ToolRun};
use crate::emission::Emission;
use reenact_wire::block::Block;
use reenact_wire::prelude::*;

impl Executor {
    /// Discards everything (T-19): nothing more comes out of it. What still runs counts as executing until it stops or its grace is over. Hooks and
    /// questions end. Returns what the settings leave running.
    pub(crate) fn discard(&mut self, scope: &mut PipelineScope<'_>) -> Vec<ToolRun> {
        let until = scope.now + scope.env.settings.tool_grace;
        let left: Vec<ToolRun> = self.entries.iter().filter(|entry| entry.is_left_running(scope.env)).map(|entry| entry.run).collect();
        for entry in &self.entries {
            // What is left running will have done what it does.
            if entry.has_run || left.contains(&entry.run) {
                self.discarded_work.add(entry, true);
            }
            let until = match &entry.state {
                EntryState::Executing(pipeline) if left.contains(&entry.run) => {
                    pipeline.abandon(scope.effects);
                    continue;
                }
                EntryState::Stopping { until, .. } => *until,
                EntryState::Executing(pipeline) if pipeline.halt(scope.env, scope.effects) == PipelineHalt::Stopping => until,
                _ => continue,
            };
            self.discarded_work.add(entry, false);
            self.ghosts.push(DiscardedTool { run: entry.run, class: entry.class, until });
        }
        self.forget_entries();
        self.report(scope.effects);
        left
    }

    /// each tool use whose result was not emitted gets this error as its result, in order of arrival. Only before a discard:
    /// what the tools give themselves is lost.
    pub(crate) fn fill_missing_results(&self, text: &str, effects: &mut AgentEffects) {
        let outcome = ToolOutcome::error(text);
        for entry in self.entries.iter().filter(|entry| !matches!(entry.state, EntryState::Yielded { .. })) {
            let block = Block::tool_result(&entry.tool_use.id, &outcome.content, outcome.is_error);
            effects.push(Effect::Emit(Emission::User(Arc::new(result_message(entry, block)))));
        }
    }

    /// The results that were emitted, by name: consumers have them.
    pub(crate) fn emitted_results(&self) -> impl Iterator<Item = Arc<str>> + '_ {
        let emitted = self.entries.iter().filter(|entry| matches!(entry.state, EntryState::Yielded { .. }));
        emitted.map(|entry| entry.result_name())
    }

    /// Runs of a discarded attempt that are stopping.
    pub(crate) fn ghost_runs(&self) -> Vec<ToolRun> {
        self.ghosts.iter().map(|ghost| ghost.run).collect()
    }

    /// Whether anything that was started has not stopped, of this answer or of one that was discarded.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_settled() && self.ghosts.is_empty()
    }

    /// the tools of another answer come, behind the results of these.
    pub(crate) fn begin_answer(&mut self) {
        self.discarded_work.on_told(&self.entries);
        self.forget_entries();
    }

    /// Tools of a discarded answer that still run count on (T-19), their work stays done (O-17), and denials are yet to be reported.
    fn forget_entries(&mut self) {
        let Self { ghosts, discarded_work, in_progress, interruptible, denials, .. } = core::mem::take(self);
        *self = Self { ghosts, discarded_work, in_progress, interruptible, denials, ..Self::default() };
    }
}
