//! O-14, of single reports: progress that a tool reports comes out, and what a tool reports after it was told to stop never comes out (T-6, T-15a).
//!
//! Progress that was reported in time may come out later. The agents of a tool report to their parent inside of the engine, so only tools count that the
//! driver runs.

use super::ORACLE;
use crate::OracleFindings;
use reenact_engine::contract::{Effect, Emission, Input, ToolRun};
use reenact_wire::prelude::*;

/// The tools of one agent that run or are stopping.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct LateProgressOracle(Vec<ReportingTool>);

#[derive(Clone, Debug, Hash)]
struct ReportingTool {
    run: ToolRun,
    is_stopped: bool,
    /// Its result is out.
    is_answered: bool,
    /// Progress that was reported before the stop and is not out.
    reported: Vec<Arc<str>>,
}

impl LateProgressOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::ToolProgress { run, text, .. } = input
            && let Some(tool) = self.0.iter_mut().find(|tool| tool.run == *run && !tool.is_stopped)
        {
            tool.reported.push(text.clone());
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, .. } => {
                self.0.push(ReportingTool { run: *run, is_stopped: false, is_answered: false, reported: Vec::new() })
            }
            Effect::StopTool { run } => {
                if let Some(tool) = self.find(*run) {
                    tool.is_stopped = true;
                }
            }
            Effect::Emit(Emission::Progress { run, text, .. }) => self.on_progress(*run, text, found),
            Effect::Emit(Emission::User(message)) => self.on_result(message.run),
            Effect::Finished { prompt, .. } => self.on_finished(*prompt, found),
            _ => (),
        }
    }

    /// The result is out. Progress that comes after it is another rule's to see; here it must come at all.
    fn on_result(&mut self, run: ToolRun) {
        self.0.iter_mut().filter(|tool| tool.run == run).for_each(|tool| tool.is_answered = true);
        self.0.retain(|tool| !tool.is_answered || !tool.reported.is_empty());
    }

    fn on_finished(&mut self, prompt: u32, found: &mut OracleFindings<'_>) {
        for tool in self.0.extract_if(.., |tool| tool.run.request.prompt == prompt) {
            if tool.is_answered && !tool.is_stopped && !tool.reported.is_empty() {
                found.add(ORACLE, format!("progress that tool {} reported did not come out: {}", tool.run, tool.reported.join(", ")));
            }
        }
    }

    fn on_progress(&mut self, run: ToolRun, text: &str, found: &mut OracleFindings<'_>) {
        let Some(tool) = self.find(run) else { return };
        let in_time = tool.reported.iter().position(|reported| **reported == *text).map(|at| tool.reported.remove(at));
        if tool.is_stopped {
            found.ask(ORACLE);
            if in_time.is_none() {
                found.add(ORACLE, format!("tool {run} was told to stop, and progress that it did not report before came out: {text}"));
            }
        }
    }

    fn find(&mut self, run: ToolRun) -> Option<&mut ReportingTool> {
        self.0.iter_mut().find(|tool| tool.run == run)
    }
}
