//! Calls of built-in tools on the files of the session, as parts of their runs.

use super::{ActiveTool, ToolAct, ToolPerformance};
use crate::workspace::SimulatedFiles;
use reenact_engine::contract::{Input, ToolOutcome, ToolUse};
use reenact_engine::time::Time;
use reenact_scenario::types::ScriptedOutcome;
use reenact_tools::call::BuiltinCall;
use reenact_tools::shell_run::CallStep;
use reenact_wire::prelude::*;

/// A tool whose file is slow takes so many times as long.
const SLOW_FACTOR: u64 = 10;

/// The next part of a call.
pub(super) enum CallArrival {
    /// It says something, or sleeps.
    Goes(Option<Input>, Option<(Time, ToolAct)>),
    Ends(Arc<ToolOutcome>),
}

/// Begins the call of a tool use whose result the scenario does not give. One that fails at once has its outcome in the performance.
pub(super) fn begin(
    files: &mut SimulatedFiles,
    now: Time,
    tool_use: &ToolUse,
    said: Option<&ScriptedOutcome>,
    performance: &mut ToolPerformance,
) -> Option<BuiltinCall> {
    match files.begin(now, tool_use, said)? {
        Ok(call) => {
            if files.is_slow(&call) {
                performance.ends_after = performance.ends_after.map(|after| after.scaled(SLOW_FACTOR, 1));
            }
            Some(call)
        }
        Err(outcome) => {
            performance.outcome = Arc::new(outcome);
            None
        }
    }
}

impl ActiveTool {
    /// Goes on with the call.
    pub(super) fn step_call(&mut self, now: Time, files: &mut SimulatedFiles) -> Option<CallArrival> {
        let run = self.run;
        let call = self.call.as_mut()?;
        Some(match files.step(now, (&self.agent, run), call) {
            CallStep::Work => CallArrival::Goes(None, Some((now, ToolAct::Ends))),
            CallStep::Sleep(span) => CallArrival::Goes(None, Some((now + span, ToolAct::Ends))),
            CallStep::Progress { text, kind } => {
                CallArrival::Goes(Some(Input::ToolProgress { run, text, kind: Some(kind) }), Some((now, ToolAct::Ends)))
            }
            CallStep::Done(outcome) => CallArrival::Ends(Arc::new(outcome)),
        })
    }

    /// Goes through the rest of the call at once.
    pub(super) fn finish_call(&mut self, now: Time, files: &mut SimulatedFiles) -> Option<Arc<ToolOutcome>> {
        loop {
            if let CallArrival::Ends(outcome) = self.step_call(now, files)? {
                return Some(outcome);
            }
        }
    }
}
