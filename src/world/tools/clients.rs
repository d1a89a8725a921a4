//! Scripted tools for clients other than our engine: the client runs them by the clock, the scenario says what they give (G-1).

use super::{perform, said_of};
use crate::ArrivalSlack;
use crate::choices::{ChoiceMaker, NotedChoices};
use crate::setup::RunSetup;
use crate::tool_uses::ToolUseNames;
use reenact_engine::contract::{ToolOutcome, ToolUse};
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// One run of a scripted tool, with all choices made.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct ClientToolRun {
    /// Whether the scenario says what it gives.
    #[doc(hidden)]
    pub is_scripted: bool,
    /// How long it takes; `None` for one that hangs.
    #[doc(hidden)]
    pub takes: Option<Micros>,
    /// How far from its time the end may come, by the range of its latency.
    #[doc(hidden)]
    pub slack: Option<ArrivalSlack>,
    #[doc(hidden)]
    pub outcome: Arc<ToolOutcome>,
    /// Its reports on its way, each with its time after the start.
    #[doc(hidden)]
    pub progress: Vec<(Micros, Arc<str>)>,
}

/// The run of a tool use. `scripted_id` is the id that the scenario has for it; `nth` counts the runs of the same tool, from 0.
pub(crate) fn client_tool_run(
    setup: &RunSetup,
    noted: Option<&mut Arc<NotedChoices>>,
    tool_use: &ToolUse,
    scripted_id: &str,
    nth: usize,
) -> ClientToolRun {
    let outcome = setup.outcome_of(scripted_id, None);
    let names = ToolUseNames { scripted: scripted_id, chosen: &tool_use.id, outcome };
    let said = said_of(setup, tool_use, names);
    let performance = perform(setup, &mut ChoiceMaker::new(&setup.scenario, noted), tool_use, (names, said), nth);
    ClientToolRun {
        is_scripted: said.is_some(),
        takes: performance.ends_after,
        slack: performance.slack,
        outcome: performance.outcome,
        progress: performance.progress.into_iter().map(|progress| (progress.at, progress.text)).collect(),
    }
}
