//! O-3: no exclusive tool overlaps any other in the whole tree of agents, and no more run at once than the settings allow (T-4, T-20).

use super::running_tools::{RunningTool, RunningTools, ToolClass};
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Agent, ToolRun};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-3";

/// A tool starts beside those that run.
pub(super) fn on_start(
    rules: &OracleRules,
    running: &RunningTools,
    agent: &Agent,
    run: ToolRun,
    class: ToolClass,
    found: &mut OracleFindings<'_>,
) {
    // Who waits for agents does nothing meanwhile: what they do is what may overlap.
    let others: Vec<&RunningTool> = running.tools().iter().filter(|other| !other.waits_for_agents).collect();
    if !others.is_empty() {
        found.ask(ORACLE);
    }
    let in_the_way = others.iter().find(|other| class == ToolClass::Exclusive || other.class == ToolClass::Exclusive);
    if let Some(other) = in_the_way {
        let (run, other_run) = (name(agent, run), name(&other.agent, other.run));
        let which = if class == ToolClass::Exclusive { &run } else { &other_run };
        found.add(ORACLE, format!("tool {run} starts while {other_run} runs, and {which} must run alone"));
        return;
    }
    if let Some(most) = rules.tools_at_once_max()
        && others.len() + 1 > usize::try_from(most).unwrap_or(usize::MAX)
    {
        found.add(ORACLE, format!("tool {run} starts beside {} others, and at most {most} may run at once", others.len()));
    }
}

/// A run's name in the whole tree.
fn name(agent: &Agent, run: ToolRun) -> String {
    agent.tool_use_id().map_or_else(|| run.to_string(), |agent| format!("{run} of agent {agent}"))
}
