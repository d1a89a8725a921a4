//! One admission for the whole tree of agents (B-8, T-4): what runs elsewhere counts as executing, and what waits because of it is looked at
//! again when it has ended.
//!
//! A tool that agents carry out is left out: it waits for them, and would otherwise keep their tools from running.

use super::admission::ConcurrencyClass;
use super::diagram::ToolPhase;
use super::{Executor, PipelineScope, ToolEvent};
use crate::agent_effects::TreeLoad;
use crate::settings::Environment;
use reenact_wire::prelude::*;

/// The running tools of other agents, as phases of tool uses here.
pub(super) fn slots(load: TreeLoad) -> Vec<(ConcurrencyClass, ToolPhase)> {
    let safe = core::iter::repeat_n((ConcurrencyClass::Safe, ToolPhase::Calling), load.safe);
    safe.chain(core::iter::repeat_n((ConcurrencyClass::Exclusive, ToolPhase::Calling), load.exclusive)).collect()
}

fn add(load: &mut TreeLoad, class: ConcurrencyClass) {
    match class {
        ConcurrencyClass::Safe => load.safe += 1,
        ConcurrencyClass::Exclusive => load.exclusive += 1,
    }
}

impl Executor {
    /// The running tools here, as the other agents see them.
    pub(crate) fn executing(&self, env: &Environment) -> TreeLoad {
        let own = self.entries.iter().filter(|entry| entry.phase().is_running() && env.agent_tool(&entry.tool_use.name).is_none());
        let mut executing = TreeLoad::default();
        own.map(|entry| entry.class).chain(self.ghosts.iter().map(|ghost| ghost.class)).for_each(|class| add(&mut executing, class));
        executing
    }

    /// Something ended in another agent: what waited for it may start.
    pub(crate) fn on_room(&mut self, scope: &mut PipelineScope<'_>) -> ToolEvent {
        match self.entries.iter().any(|entry| entry.phase() == ToolPhase::Queued) {
            true => self.scan(scope),
            false => ToolEvent::default(),
        }
    }
}
