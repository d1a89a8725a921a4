//! O-17: an exclusive tool that had finished is not silently run again when the attempt that asked for it was discarded.

use super::OracleFindings;
use super::running_tools::ToolClass;
use reenact_engine::contract::{Effect, Input, Note, RequestId, ToolRun, ToolUse};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-17";

/// The exclusive tools of the request that is worked on.
#[derive(Clone, Debug, Default)]
pub(super) struct RepeatedEffectOracle {
    uses: Vec<ExclusiveUse>,
    discarded: Vec<RequestId>,
    /// The run that was noted as a repetition.
    marked: Option<ToolRun>,
}

#[derive(Clone, Debug)]
struct ExclusiveUse {
    run: ToolRun,
    tool_use: Arc<ToolUse>,
    is_told_to_stop: bool,
    is_done: bool,
}

impl RepeatedEffectOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::ToolEnded { run, .. } = input
            && let Some(entry) = self.uses.iter_mut().find(|entry| entry.run == *run)
        {
            entry.is_done = !entry.is_told_to_stop;
        }
    }

    /// `class` is that of the tool use that starts.
    pub(super) fn on_effect(&mut self, class: Option<ToolClass>, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, tool_use } if class == Some(ToolClass::Exclusive) => self.on_start(*run, tool_use, found),
            Effect::StopTool { run } => {
                self.uses.iter_mut().filter(|entry| entry.run == *run).for_each(|entry| entry.is_told_to_stop = true);
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => self.discarded.push(*id),
            Effect::Note(Note::Repeated { run, .. }) => self.marked = Some(*run),
            _ => (),
        }
    }

    /// Only attempts at the same request can repeat each other.
    pub(super) fn on_request(&mut self, id: RequestId) {
        let is_same = |other: RequestId| (other.prompt, other.turn) == (id.prompt, id.turn);
        self.uses.retain(|entry| is_same(entry.run.request));
        self.discarded.retain(|discarded| is_same(*discarded));
    }

    fn on_start(&mut self, run: ToolRun, tool_use: &Arc<ToolUse>, found: &mut OracleFindings<'_>) {
        let is_same = |entry: &&ExclusiveUse| entry.tool_use.name == tool_use.name && entry.tool_use.input == tool_use.input;
        let done = self.uses.iter().filter(is_same).find(|entry| entry.is_done && self.discarded.contains(&entry.run.request));
        if let Some(earlier) = done.filter(|_| self.marked != Some(run)) {
            found.add(ORACLE, format!("tool {run} repeats the work of tool {}, and no note reports it", earlier.run));
        }
        self.uses.push(ExclusiveUse { run, tool_use: tool_use.clone(), is_told_to_stop: false, is_done: false });
    }
}
