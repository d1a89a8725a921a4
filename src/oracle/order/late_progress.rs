//! O-14, of tools that were told to stop: progress that such a tool reports after that never comes out (T-6, T-15a).
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
            Effect::StartTool { run, .. } => self.0.push(ReportingTool { run: *run, is_stopped: false, reported: Vec::new() }),
            Effect::StopTool { run } => {
                if let Some(tool) = self.find(*run) {
                    tool.is_stopped = true;
                }
            }
            Effect::Emit(Emission::Progress { run, text, .. }) => self.on_progress(*run, text, found),
            Effect::Emit(Emission::User(message)) => self.0.retain(|tool| tool.run != message.run),
            Effect::Finished { prompt, .. } => self.0.retain(|tool| tool.run.request.prompt != *prompt),
            _ => (),
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
