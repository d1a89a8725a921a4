//! O-17: an exclusive tool that had finished is not silently run again: neither when the attempt that asked for it was discarded, nor when a
//! retry has forgotten its result.
//!
//! A tool that was told to stop and went on to its end has finished as well: its result is no error. Once the model is told of the same work, asking for it
//! again is no repetition.

use super::OracleFindings;
use super::pairs::result_id;
use super::running_tools::ToolClass;
use reenact_engine::contract::{Effect, Emission, Input, Message, Note, Request, RequestId, ToolRun, ToolUse};
use reenact_engine::key::SharedValue;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-17";

/// How many requests are remembered.
const REQUESTS_MAX: usize = 4;

/// The exclusive tools of the prompt that is worked on.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct RepeatedEffectOracle {
    uses: Vec<ExclusiveUse>,
    discarded: Vec<RequestId>,
    /// The run that was noted as a repetition.
    marked: Option<ToolRun>,
    /// The latest requests: a tool may start when another one was made already.
    requests: Vec<(RequestId, SharedValue<Request>)>,
    /// The tool uses of an earlier session that were run.
    settled: Vec<Arc<str>>,
    /// A compaction of any level was announced: results may stand in a summary.
    is_compacted: bool,
}

#[derive(Clone, Debug, Hash)]
struct ExclusiveUse {
    run: ToolRun,
    tool_use: Arc<ToolUse>,
    is_told_to_stop: bool,
    is_done: bool,
}

impl RepeatedEffectOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::ToolEnded { run, outcome } = input
            && let Some(entry) = self.uses.iter_mut().find(|entry| entry.run == *run)
        {
            entry.is_done |= !entry.is_told_to_stop || !outcome.is_error;
        }
    }

    /// `class` is that of the tool use that starts.
    pub(super) fn on_effect(&mut self, class: Option<ToolClass>, effect: &Effect, found: &mut OracleFindings<'_>) {
        if let Effect::StartTool { run, tool_use } = effect
            && run.request.turn == 0
        {
            self.on_settled(tool_use, found);
        }
        match effect {
            Effect::StartTool { run, tool_use } if class == Some(ToolClass::Exclusive) => self.on_start(*run, tool_use, found),
            Effect::StopTool { run } => {
                self.uses.iter_mut().filter(|entry| entry.run == *run).for_each(|entry| entry.is_told_to_stop = true);
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => self.discarded.push(*id),
            Effect::Note(Note::Repeated { run, .. }) => self.marked = Some(*run),
            Effect::Note(Note::Compaction { ran, .. }) => self.is_compacted |= *ran,
            Effect::Emit(Emission::CompactBoundary { .. } | Emission::SnipBoundary { .. } | Emission::MicrocompactBoundary { .. }) => {
                self.is_compacted = true;
            }
            _ => (),
        }
    }

    /// S-3: what an earlier session left open is settled once.
    fn on_settled(&mut self, tool_use: &ToolUse, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        if self.settled.contains(&tool_use.id) {
            found.add(ORACLE, format!("{} of an earlier session, {}, is run a second time", tool_use.name, tool_use.id));
        }
        self.settled.push(tool_use.id.clone());
    }

    /// Only work for the same prompt can be repeated by mistake.
    pub(super) fn on_request(&mut self, id: RequestId, request: &SharedValue<Request>) {
        self.uses.retain(|entry| entry.run.request.prompt == id.prompt);
        // Another prompt's compaction has put none of these results into a summary.
        self.is_compacted &= !self.uses.is_empty();
        self.discarded.retain(|discarded| discarded.prompt == id.prompt);
        if self.requests.len() == REQUESTS_MAX {
            self.requests.remove(0);
        }
        self.requests.push((id, request.clone()));
    }

    fn on_start(&mut self, run: ToolRun, tool_use: &Arc<ToolUse>, found: &mut OracleFindings<'_>) {
        let is_same = |entry: &&ExclusiveUse| entry.tool_use.name == tool_use.name && entry.tool_use.input == tool_use.input;
        let asked = self.requests.iter().rev().find(|(id, _)| *id == run.request).map(|(_, request)| request);
        let is_discarded = |entry: &ExclusiveUse| self.discarded.contains(&entry.run.request);
        // One answer may ask for the same twice.
        let is_of_this_answer = |entry: &ExclusiveUse| entry.run.request == run.request;
        // Results may stand in a summary, but not those of discarded attempts.
        let is_told = |entry: &ExclusiveUse| {
            let is_sent = |request: &SharedValue<Request>| holds_result(&request.messages, &entry.tool_use.id);
            !is_discarded(entry) && !is_of_this_answer(entry) && (self.is_compacted || asked.is_none_or(is_sent))
        };
        let done: Vec<&ExclusiveUse> = self.uses.iter().filter(is_same).filter(|entry| entry.is_done).collect();
        let since_told = done.iter().rposition(|entry| is_told(entry)).map_or(0, |told| told + 1);
        // Where this answer has made up for it already, the model asks for the same twice.
        let is_made_up_for = done.last().is_some_and(|last| is_of_this_answer(last));
        let mut lost = done[since_told..].iter().filter(|_| !is_made_up_for);
        let lost = lost.find(|entry| is_discarded(entry) || !is_of_this_answer(entry));
        if !done.is_empty() {
            found.ask(ORACLE);
        }
        if let Some(earlier) = lost.filter(|_| self.marked != Some(run)) {
            found.add(ORACLE, format!("tool {run} repeats the work of tool {}, and no note reports it", earlier.run));
        }
        self.uses.push(ExclusiveUse { run, tool_use: tool_use.clone(), is_told_to_stop: false, is_done: false });
    }
}

/// Whether the model is told the result of a tool use.
fn holds_result(messages: &[Arc<Message>], id: &Arc<str>) -> bool {
    messages.iter().flat_map(|message| &message.content).filter_map(result_id).any(|result| result == id)
}
