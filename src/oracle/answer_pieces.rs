//! Pieces of answers: most inputs of a run are these, and most effects hand them on. Few oracles have anything to do with them, and only those are asked.

use super::{AgentOracles, OracleFindings, Oracles};
use reenact_engine::contract::{Agent, Effect, Input, Time};
use reenact_wire::event::EventPayload;
use reenact_wire::prelude::*;

impl Oracles {
    /// Whether this is a piece of an answer that no oracle waits for. Most inputs are, and a run is several times as fast without asking all of them.
    pub(super) fn is_of_no_concern(&self, agent: &Agent, input: &Input) -> bool {
        let Input::Stream { id, event } = input else { return false };
        let is_piece = matches!(event.payload(), EventPayload::BlockDelta { .. } | EventPayload::Ping);
        let concerns = |watched: &AgentOracles| {
            watched.abort.is_aborted()
                || watched.progress_set.has_work()
                || watched.decisions.awaits_content(*id)
                || watched.summaries.awaits_words(*id)
        };
        is_piece && self.agents.get(agent).is_some_and(|watched| !concerns(watched))
    }

    /// A piece is handed on to consumers.
    pub(super) fn on_stream_event(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        let found = &mut OracleFindings { at, violations: &mut self.violations, questions: &mut self.questions };
        let watched = Arc::make_mut(&mut self.agents).entry(agent);
        watched.summaries.on_effect(&self.rules, (effect, ""), found);
        watched.terminals.on_effect(agent, effect, found);
        watched.discarded.on_effect(effect, found);
    }

    /// A timer is set, or no longer needed: one rule alone is about timers.
    pub(super) fn on_timer(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        let found = &mut OracleFindings { at, violations: &mut self.violations, questions: &mut self.questions };
        Arc::make_mut(&mut self.agents).entry(agent).leftovers.on_effect(&self.rules, effect, found);
    }
}
