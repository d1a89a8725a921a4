//! The blocks of an answer, and the tool uses among them. Also the names of tool uses outside of the engine.

use alloc::collections::BTreeMap;

use reenact_engine::contract::{Agent, RequestId, ToolRun};
use reenact_scenario::types::ScriptedOutcome;
use reenact_wire::answer::AnswerReader;
use reenact_wire::prelude::*;

/// The names of a tool use, and what goes under them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolUseNames<'a> {
    /// In the scenario.
    pub(crate) scripted: &'a str,
    /// Among the choices of a run.
    pub(crate) chosen: &'a str,
    /// The outcome that the scenario has for this use, if any.
    pub(crate) outcome: Option<&'a ScriptedOutcome>,
}

/// Which answer each request got, by the answer's name: kept for scenarios in which ids are used again.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct ServedAnswers(Vec<(Agent, RequestId, Arc<str>)>);

impl ServedAnswers {
    /// A request gets this answer.
    pub(crate) fn note(&mut self, agent: &Agent, id: RequestId, answer: &Arc<str>) {
        self.0.push((agent.clone(), id, answer.clone()));
    }

    /// The answer that asked for a run, and which of its tool uses it is.
    pub(crate) fn place(&self, agent: &Agent, run: ToolRun) -> Option<(Arc<str>, u32)> {
        let of_run = self.0.iter().rev().find(|(asker, id, _)| asker == agent && *id == run.request);
        of_run.map(|(.., answer)| (answer.clone(), run.index))
    }
}

/// Which run had each id first: a model may use an id again.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct FirstRuns(Arc<BTreeMap<Arc<str>, (Agent, ToolRun)>>);

impl FirstRuns {
    /// The name of a tool use among the choices of a run (D3): its id. Where another run had the id before, its own run stands behind it.
    pub(crate) fn name(&mut self, id: &Arc<str>, agent: &Agent, run: ToolRun) -> Arc<str> {
        match self.0.get(id) {
            None => {
                Arc::make_mut(&mut self.0).insert(id.clone(), (agent.clone(), run));
                id.clone()
            }
            Some((first_agent, first_run)) if *first_run == run && first_agent == agent => id.clone(),
            Some(_) => format!("{id} {}", agent.tool_use_id().map_or_else(|| run.to_string(), |agent| format!("{agent}/{run}"))).into(),
        }
    }
}

/// The answer in a body.
pub(crate) fn answer<'a>(is_stream: bool, pieces: impl Iterator<Item = &'a [u8]>) -> AnswerReader {
    let mut answer = AnswerReader::new(is_stream);
    pieces.for_each(|piece| answer.feed(piece));
    answer
}
