//! O-29: the set of tool uses in progress is true. A tool is in it until its result comes out, and then no longer (T-10). And so is the flag that work may be
//! interrupted: while a tool runs that does not stop for a message, or a person is asked about one, or nothing runs, it is not set (T-18).
//!
//! It is asked of engines that say them at all. That the flag is missing is not asked: tool uses that wait for something execute, too, and their ends are not
//! all seen.

use super::OracleFindings;
use super::running_tools::ToolFacts;
use reenact_engine::contract::{Effect, Emission, Input, Note, ToolRun};
use reenact_engine::settings::InterruptBehaviour;
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-29";

/// The set as the engine said it last, and the tools that run.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ProgressSetOracle {
    /// `None` until the engine says one.
    said: Option<Vec<Arc<str>>>,
    started: Vec<ShownTool>,
    /// The engine says that all that runs stops for a message.
    is_interruptible: bool,
    /// Tool uses without a result: a model may use an id again.
    asked: Vec<Arc<str>>,
    /// Tool uses whose result came out since the last input.
    answered: Vec<Arc<str>>,
}

/// A tool that was started, was not told to stop, and has no result that came out.
#[derive(Clone, Debug, Hash)]
struct ShownTool {
    run: ToolRun,
    has_ended: bool,
    /// It was left out of the set after it had ended.
    is_left_out: bool,
    tool_use_id: Arc<str>,
    behaviour: InterruptBehaviour,
}

impl ProgressSetOracle {
    /// Whether a tool runs, or a result came out in the last step: else there is nothing that the set could lack.
    pub(super) fn has_work(&self) -> bool {
        !self.started.is_empty() || !self.answered.is_empty()
    }

    /// Before anything else happens the set has to be true. `asked` is a tool that does not stop for a message and that a person was asked about until now:
    /// the message has to wait for it, too.
    pub(super) fn on_input(&mut self, asked: Option<ToolRun>, input: &Input, found: &mut OracleFindings<'_>) {
        self.check(asked, found);
        if let Input::ToolEnded { run, .. } = input {
            self.started.iter_mut().filter(|started| started.run == *run).for_each(|started| started.has_ended = true);
        }
    }

    fn check(&mut self, asked: Option<ToolRun>, found: &mut OracleFindings<'_>) {
        let answered = core::mem::take(&mut self.answered);
        if self.is_interruptible {
            self.check_flag(asked, found);
        }
        let Some(said) = &self.said else { return };
        found.ask(ORACLE);
        for shown in self.started.iter_mut().filter(|started| !said.contains(&started.tool_use_id)) {
            let ShownTool { run, tool_use_id, .. } = shown;
            // Whether it has a result that is still to come out shows when it does.
            if !shown.has_ended {
                found.add(ORACLE, format!("tool {run} ({tool_use_id}) runs, and is not in the set of those in progress"));
            }
            shown.is_left_out = shown.has_ended;
        }
        for id in answered.iter().filter(|id| said.contains(id) && !self.asked.contains(id)) {
            found.add(ORACLE, format!("tool use {id} has its result, and is in the set of those in progress"));
        }
    }

    fn check_flag(&self, asked: Option<ToolRun>, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        let blocks = |started: &&ShownTool| started.behaviour == InterruptBehaviour::Block && !started.has_ended;
        if let Some(ShownTool { run, .. }) = self.started.iter().find(blocks) {
            found.add(ORACLE, format!("tool {run} runs and does not stop for a message, and the engine says that all that runs does"));
        }
        if let Some(run) = asked {
            found.add(
                ORACLE,
                format!(
                    "a person is asked about tool {run}, which does not stop for a message, and the engine says that all that runs does"
                ),
            );
        }
        if self.started.iter().all(|started| started.has_ended) && self.asked.is_empty() {
            found.add(ORACLE, String::from("no tool use is open, and the engine says that what runs stops for a message"));
        }
    }

    /// A sub-agent is over, and so is the tool use that it is: no input says so, and its result may come later.
    pub(super) fn on_agent_finished(&mut self, tool_use_id: &str) {
        self.started.retain(|started| *started.tool_use_id != *tool_use_id);
    }

    pub(super) fn on_effect(&mut self, tools: &ToolFacts, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, tool_use } | Effect::StartAgent { run, tool_use } => {
                let behaviour = tools.behaviour(&tool_use.name);
                self.started.push(ShownTool {
                    run: *run,
                    has_ended: false,
                    is_left_out: false,
                    tool_use_id: tool_use.id.clone(),
                    behaviour,
                });
            }
            Effect::StopTool { run } => self.started.retain(|started| started.run != *run),
            Effect::Emit(Emission::Interruptible(said)) => self.is_interruptible = *said,
            Effect::Emit(Emission::InProgress { tool_use_ids }) => self.said = Some(tool_use_ids.clone()),
            Effect::Emit(Emission::Assistant(message)) => {
                self.asked.extend(message.block.as_tool_use().map(|tool_use| tool_use.id.clone()))
            }
            Effect::Emit(Emission::User(message)) => {
                let ended: Vec<ShownTool> = self.started.extract_if(.., |started| started.run == message.run).collect();
                for ShownTool { run, tool_use_id, .. } in ended.iter().filter(|shown| shown.is_left_out) {
                    found.add(
                        ORACLE,
                        format!("tool {run} ({tool_use_id}) was not in the set of those in progress until its result came out"),
                    );
                }
                if let BlockKind::ToolResult { tool_use_id, .. } = message.block.kind() {
                    self.answered.push(tool_use_id.clone());
                    if let Some(at) = self.asked.iter().position(|asked| asked == tool_use_id) {
                        self.asked.remove(at);
                    }
                }
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => {
                self.started.retain(|started| started.run.request != *id);
            }
            Effect::Finished { prompt, .. } => {
                self.started.retain(|started| started.run.request.prompt != *prompt);
                self.asked.clear();
            }
            _ => (),
        }
    }
}
