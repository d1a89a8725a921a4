//! O-29: the set of tool uses in progress is true. A tool is in it while it runs, and what has its result is not.
//!
//! It is asked of engines that say the set at all.

use super::OracleFindings;
use reenact_engine::contract::{Effect, Emission, Input, Note, ToolRun};
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-29";

/// The set as the engine said it last, and the tools that run.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ProgressSetOracle {
    /// `None` until the engine says one.
    said: Option<Vec<Arc<str>>>,
    started: Vec<(ToolRun, Arc<str>)>,
    /// Tool uses without a result: a model may use an id again.
    asked: Vec<Arc<str>>,
    /// Tool uses whose result came out since the last input.
    answered: Vec<Arc<str>>,
}

impl ProgressSetOracle {
    /// Whether a tool runs, or a result came out in the last step: else there is nothing that the set could lack.
    pub(super) fn has_work(&self) -> bool {
        !self.started.is_empty() || !self.answered.is_empty()
    }

    /// Before anything else happens the set has to be true.
    pub(super) fn on_input(&mut self, input: &Input, found: &mut OracleFindings<'_>) {
        self.check(found);
        if let Input::ToolEnded { run, .. } = input {
            self.started.retain(|(started, _)| started != run);
        }
    }

    fn check(&mut self, found: &mut OracleFindings<'_>) {
        let answered = core::mem::take(&mut self.answered);
        let Some(said) = &self.said else { return };
        found.ask(ORACLE);
        for (run, id) in self.started.iter().filter(|(_, id)| !said.contains(id)) {
            found.add(ORACLE, format!("tool {run} ({id}) runs, and is not in the set of those in progress"));
        }
        for id in answered.iter().filter(|id| said.contains(id) && !self.asked.contains(id)) {
            found.add(ORACLE, format!("tool use {id} has its result, and is in the set of those in progress"));
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::StartTool { run, tool_use } | Effect::StartAgent { run, tool_use } => self.started.push((*run, tool_use.id.clone())),
            Effect::StopTool { run } => self.started.retain(|(started, _)| started != run),
            Effect::Emit(Emission::InProgress { tool_use_ids }) => self.said = Some(tool_use_ids.clone()),
            Effect::Emit(Emission::Assistant(message)) => {
                self.asked.extend(message.block.as_tool_use().map(|tool_use| tool_use.id.clone()))
            }
            Effect::Emit(Emission::User(message)) => {
                self.started.retain(|(run, _)| *run != message.run);
                if let BlockKind::ToolResult { tool_use_id, .. } = message.block.kind() {
                    self.answered.push(tool_use_id.clone());
                    if let Some(at) = self.asked.iter().position(|asked| asked == tool_use_id) {
                        self.asked.remove(at);
                    }
                }
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => self.started.retain(|(run, _)| run.request != *id),
            Effect::Finished { prompt, .. } => {
                self.started.retain(|(run, _)| run.request.prompt != *prompt);
                self.asked.clear();
            }
            _ => (),
        }
    }
}
