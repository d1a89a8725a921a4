//! Tools whose results come from outside, in place of those of the scenario.

use crate::World;
use crate::setup::RunSetup;
use crate::tool_uses::ToolUseNames;
use crate::tools::{outcome, said_of};
use crate::workspace::is_scripted;
use reenact_engine::contract::{Agent, ToolOutcome, ToolRun, ToolUse};
use reenact_wire::prelude::*;

impl World {
    /// The result that the scenario has for a tool use; `None` where it gives none.
    pub fn scripted_outcome(&self, setup: &RunSetup, agent: &Agent, run: ToolRun, tool_use: &ToolUse) -> Option<Arc<ToolOutcome>> {
        let scripted = setup.scripted_id(self.model.original_id(&tool_use.id));
        let of_use = setup.outcome_of(scripted, self.served_answers.place(agent, run));
        let said = said_of(setup, tool_use, ToolUseNames { scripted, chosen: scripted, outcome: of_use });
        is_scripted(said).then(|| Arc::new(outcome(said, &tool_use.name)))
    }

    /// Puts a result in place of what the scenario says of a tool that runs.
    pub fn set_tool_outcome(&mut self, agent: &Agent, run: ToolRun, outcome: ToolOutcome) {
        self.tools.set_outcome(agent, run, outcome);
    }
}
