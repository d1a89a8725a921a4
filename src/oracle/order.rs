//! O-14: progress precedes its result, and results respect the order of emission that the settings ask for (T-6, T-7, T-8).

mod late_progress;

use late_progress::LateProgressOracle;

use super::running_tools::{RunningTool, RunningTools, ToolClass};
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Agent, Effect, Emission, Input, RequestId, ToolRun};
use reenact_engine::settings::EmissionOrder;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-14";

/// The tool uses of the prompts that are not over.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct OrderOracle {
    /// In order of arrival.
    uses: Vec<OrderedUse>,
    late_progress: LateProgressOracle,
}

#[derive(Clone, Copy, Debug, Hash)]
struct OrderedUse {
    run: ToolRun,
    has_result: bool,
}

impl OrderOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        self.late_progress.on_input(input);
    }

    pub(super) fn on_effect(
        &mut self,
        rules: &OracleRules,
        running: &RunningTools,
        agent: &Agent,
        effect: &Effect,
        found: &mut OracleFindings<'_>,
    ) {
        self.late_progress.on_effect(effect, found);
        match effect {
            Effect::Emit(Emission::Assistant(message)) if message.block.as_tool_use().is_some() => {
                let run = ToolRun { request: message.id, index: self.next_index(message.id) };
                self.uses.push(OrderedUse { run, has_result: false });
            }
            Effect::Emit(Emission::Progress { run, .. }) if self.uses.iter().any(|entry| entry.run == *run && entry.has_result) => {
                found.add(ORACLE, format!("progress of {run} came out after its result"));
            }
            Effect::Emit(Emission::User(message)) => self.on_result(rules, running, agent, message.run, found),
            Effect::Finished { prompt, .. } => self.uses.retain(|entry| entry.run.request.prompt != *prompt),
            _ => (),
        }
    }

    fn next_index(&self, request: RequestId) -> u32 {
        let of_request = self.uses.iter().rev().find(|entry| entry.run.request == request);
        of_request.map_or(0, |entry| entry.run.index + 1)
    }

    fn on_result(&mut self, rules: &OracleRules, running: &RunningTools, agent: &Agent, run: ToolRun, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        let earlier = |other: ToolRun| other.request == run.request && other.index < run.index;
        let holds_back = match rules.settings.emission_order {
            EmissionOrder::Arrival => self.uses.iter().find(|entry| earlier(entry.run) && !entry.has_result).map(|entry| entry.run),
            EmissionOrder::Eager => {
                // What still runs and has its result was given it by the engine: its answer is lost.
                let is_open = |run: ToolRun| self.uses.iter().any(|entry| entry.run == run && !entry.has_result);
                let holds = |tool: &&RunningTool| {
                    tool.agent == *agent && earlier(tool.run) && tool.class == ToolClass::Exclusive && is_open(tool.run)
                };
                running.tools().iter().find(holds).map(|tool| tool.run)
            }
        };
        if let Some(other) = holds_back {
            let why = match rules.settings.emission_order {
                EmissionOrder::Arrival => "which arrived earlier and has no result yet",
                EmissionOrder::Eager => "which arrived earlier, must run alone, and still runs",
            };
            found.add(ORACLE, format!("the result of {run} came out before that of {other}, {why}"));
        }
        if let Some(entry) = self.uses.iter_mut().find(|entry| entry.run == run) {
            entry.has_result = true;
        }
    }
}
