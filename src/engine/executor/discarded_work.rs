//! Work of answers that do not count, which may be done all the same (O-17): an exclusive tool that does it again is noted.
//!
//! ```text
//!   discarded: finished, or left running ──────────────────────> done ──the model is told of the same work──> forgotten
//!   discarded: told to stop ──ended, and its result is no error──▲
//! ```

use super::admission::ConcurrencyClass;
use super::entry::{EntryState, ToolEntry};
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, ToolOutcome, ToolRun};
use crate::emission::Note;
use reenact_wire::block::ToolUse;
use reenact_wire::prelude::*;

/// Exclusive tools of discarded answers, in order, for the rest of the prompt.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct DiscardedWork(Vec<DiscardedUse>);

#[derive(Clone, Debug, PartialEq, Hash)]
struct DiscardedUse {
    run: ToolRun,
    tool_use: Arc<ToolUse>,
    is_done: bool,
}

impl DiscardedWork {
    /// A tool of a discarded answer was called.
    pub(super) fn add(&mut self, entry: &ToolEntry, is_done: bool) {
        if entry.class == ConcurrencyClass::Exclusive {
            self.0.push(DiscardedUse { run: entry.run, tool_use: entry.tool_use.clone(), is_done });
        }
    }

    /// A tool that was told to stop has ended. One that stopped says so with an error; any other result says that it came to its end, also when
    /// its grace was over before.
    pub(super) fn on_ended(&mut self, run: ToolRun, outcome: &ToolOutcome) {
        self.0.iter_mut().filter(|work| work.run == run).for_each(|work| work.is_done |= !outcome.is_error);
    }

    /// The results of these tool uses go to the model: who asks for the same again knows what was done.
    pub(super) fn on_told(&mut self, entries: &[ToolEntry]) {
        for told in entries.iter().filter(|entry| entry.has_run && matches!(entry.state, EntryState::Yielded { .. })) {
            self.0.retain(|work| !is_same(&work.tool_use, &told.tool_use));
        }
    }

    /// Says so when a tool is about to do again what was done for an answer that does not count any more.
    pub(super) fn note_repetition(&self, entry: &ToolEntry, effects: &mut AgentEffects) {
        let done = self.0.iter().rev().find(|work| work.is_done && is_same(&work.tool_use, &entry.tool_use));
        if let Some(earlier) = done.filter(|_| entry.class == ConcurrencyClass::Exclusive) {
            effects.push(Effect::Note(Note::Repeated { run: entry.run, earlier: earlier.run }));
        }
    }
}

fn is_same(one: &ToolUse, other: &ToolUse) -> bool {
    one.name == other.name && one.input == other.input
}
