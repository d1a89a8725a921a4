//! The faults of single requests: those of the plan, and those that an exploration injects (E-3). They come before the scenario's rules.

use super::model_request::ModelRequest;
use reenact_engine::contract::{Agent, RequestId};
use reenact_scenario::plan::Plan;
use reenact_scenario::single_fault::{FaultReach, SingleFault};
use reenact_wire::prelude::*;

/// The faults that may still hit a request, in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct SingleFaults {
    open: Vec<OpenFault>,
    /// Those whose request came, and that have changed nothing.
    without_effect: Vec<Arc<SingleFault>>,
    /// Whether one has hit.
    has_hit: bool,
}

#[derive(Clone, Debug, PartialEq, Hash)]
struct OpenFault {
    fault: Arc<SingleFault>,
    /// The first request that it hit, and its model.
    first: Option<(Agent, RequestId, Arc<str>)>,
}

impl SingleFaults {
    /// Sets a fault.
    pub(crate) fn add(&mut self, fault: Arc<SingleFault>) {
        self.open.push(OpenFault { fault, first: None });
    }

    /// Sets those of a plan.
    pub(crate) fn add_planned(&mut self, plan: &Plan) {
        plan.single_faults.iter().for_each(|fault| self.add(fault.clone().into()));
    }

    /// The fault of a request, if it has one. A fault that can hit nothing more is forgotten, so that no key has it.
    pub(crate) fn due(&mut self, asked: &ModelRequest<'_>) -> Option<Arc<SingleFault>> {
        if self.open.is_empty() {
            return None;
        }
        self.open.retain(|open| !open.is_over(asked));
        let index = self.open.iter().position(|open| open.hits(asked))?;
        let open = &mut self.open[index];
        let fault = open.fault.clone();
        if open.first.is_none() {
            self.without_effect.push(fault.clone());
        }
        if fault.reach == FaultReach::Once {
            self.open.remove(index);
        } else if open.first.is_none() {
            open.first = Some((asked.agent.clone(), asked.id, asked.request.model.clone()));
        }
        Some(fault)
    }

    /// Whether one has hit that goes on for ever.
    pub(crate) fn is_endless(&self) -> bool {
        self.open.iter().any(|open| open.first.is_some() && open.fault.reach != FaultReach::Once)
    }

    /// A fault that was due has had its effect.
    pub(crate) fn note_hit(&mut self, fault: &Arc<SingleFault>) {
        self.has_hit = true;
        self.without_effect.retain(|known| known != fault);
    }

    /// Whether one has hit: the run is no longer as its scenario means it.
    pub(crate) fn has_hit(&self) -> bool {
        self.has_hit
    }

    /// The faults that hit nothing.
    pub(crate) fn unused(&self) -> impl Iterator<Item = &SingleFault> {
        let never_due = self.open.iter().filter(|open| open.first.is_none()).map(|open| &open.fault);
        never_due.chain(&self.without_effect).map(|fault| &**fault)
    }
}

impl OpenFault {
    fn hits(&self, asked: &ModelRequest<'_>) -> bool {
        match &self.first {
            None => asked.agent.key(asked.id) == *self.fault.request,
            Some((agent, first, model)) => {
                let is_further_attempt = agent == asked.agent && is_same_turn(*first, asked.id);
                is_further_attempt && (self.fault.reach == FaultReach::Forever || *model == asked.request.model)
            }
        }
    }

    /// Whether the agent that it hit asks something else now.
    fn is_over(&self, asked: &ModelRequest<'_>) -> bool {
        self.first.as_ref().is_some_and(|(agent, first, _)| agent == asked.agent && !is_same_turn(*first, asked.id))
    }
}

fn is_same_turn(one: RequestId, other: RequestId) -> bool {
    (one.prompt, one.turn) == (other.prompt, other.turn)
}
