//! The injections of a plan one by one, and how each is found again in a changed scenario (E-5).
//!
//! A plan counts the events of its run, and a smaller scenario has fewer. So an injection is anchored to what happens there: the third `tool # ends`.

use super::super::fingerprint::masked;
use super::probe::{EventChoices, ProbedRun};
use reenact_scenario::boundary::BoundarySide;
use reenact_scenario::plan::{LateCompletion, Plan, PlannedDeviation, PlannedInterrupt};
use reenact_scenario::single_fault::SingleFault;
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;

/// One injection of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanInjection {
    /// A fault of a request.
    Fault(SingleFault),
    /// An arrival out of the usual order.
    Deviation(PlannedDeviation),
    /// A tool that comes to its own end although it was told to stop.
    Late(LateCompletion),
    /// An input of the user.
    Interrupt(PlannedInterrupt),
}

/// An injection, and what happens where it belongs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnchoredInjection {
    pub(super) injection: PlanInjection,
    anchor: InjectionAnchor,
}

/// The place of an injection among all events of its kind, from the first and from the last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InjectionAnchor {
    what: String,
    from_first: usize,
    from_last: usize,
}

impl PlanInjection {
    /// Those of a plan, in the order in which they come; faults first, as they wait for their requests.
    pub fn of_plan(plan: &Plan) -> Vec<Self> {
        let faults = plan.single_faults.iter().cloned().map(Self::Fault);
        let deviations = plan.deviations.iter().cloned().map(Self::Deviation);
        let late = plan.late_completions.iter().cloned().map(Self::Late);
        let interrupts = plan.interrupts.iter().cloned().map(Self::Interrupt);
        let mut all: Vec<Self> = faults.chain(deviations).chain(late).chain(interrupts).collect();
        all.sort_by_key(Self::order);
        all
    }

    /// The same plan with these injections in the place of its own.
    pub fn planned<'i>(plan: &Plan, injections: impl IntoIterator<Item = &'i Self>) -> Plan {
        let mut plan = plan.without_injections();
        injections.into_iter().for_each(|injection| injection.add_to(&mut plan));
        plan
    }

    fn add_to(&self, plan: &mut Plan) {
        match self.clone() {
            Self::Fault(fault) => plan.single_faults.push(fault),
            Self::Deviation(deviation) => plan.deviations.push(deviation),
            Self::Late(late) => plan.late_completions.push(late),
            Self::Interrupt(interrupt) => plan.interrupts.push(interrupt),
        }
    }

    /// Before which event it comes, and its place among others there.
    fn order(&self) -> (u64, u8) {
        match self {
            Self::Fault(_) => (0, 0),
            Self::Interrupt(planned) if planned.boundary.side == BoundarySide::After => (planned.boundary.event + 1, 0),
            Self::Late(late) => (late.event.into(), 1),
            Self::Deviation(deviation) => (deviation.event.into(), 2),
            Self::Interrupt(planned) => (planned.boundary.event, 3),
        }
    }

    /// The number of the event that it is anchored to.
    fn event(&self) -> u64 {
        match self {
            Self::Fault(_) => 0,
            Self::Interrupt(planned) => planned.boundary.event,
            Self::Late(late) => late.event.into(),
            Self::Deviation(deviation) => deviation.event.into(),
        }
    }

    /// The same at another event; one for each arrival or tool that it may be about there.
    fn moved(&self, event: u64, choices: impl FnOnce() -> EventChoices) -> Vec<Self> {
        let number = u32::try_from(event).unwrap_or(u32::MAX);
        match self {
            Self::Fault(fault) => vec![Self::Fault(fault.clone())],
            Self::Interrupt(planned) => {
                let mut planned = planned.clone();
                planned.boundary.event = event;
                vec![Self::Interrupt(planned)]
            }
            Self::Late(late) => {
                let is_alike = |tool: &Arc<str>| masked(tool) == masked(&late.tool);
                let tools = choices().stopping_tools.into_iter().filter(is_alike);
                tools.map(|tool| Self::Late(LateCompletion { event: number, tool })).collect()
            }
            Self::Deviation(deviation) => {
                let wanted = masked(&deviation.arrival);
                let found = choices().deviations.into_iter().map(|possible| possible.planned);
                found.filter(|planned| masked(&planned.arrival) == wanted).map(Self::Deviation).collect()
            }
        }
    }
}

/// A scenario with these injections and no other.
pub(in super::super) fn with_injections(scenario: &Scenario, injections: &[PlanInjection]) -> Scenario {
    Scenario { plan: PlanInjection::planned(&scenario.plan, injections), ..scenario.clone() }
}

impl AnchoredInjection {
    /// Anchors an injection to its place. `before` is the run with the injections that come earlier.
    pub(super) fn new(injection: PlanInjection, before: &ProbedRun) -> Self {
        let (all, place) = match &injection {
            PlanInjection::Fault(fault) => {
                let requests = before.requests();
                let place = requests.iter().position(|request| *request == *fault.request);
                (vec![String::new(); requests.len()], place.unwrap_or(requests.len()))
            }
            other => {
                let all: Vec<String> = before.descriptions().iter().map(|description| masked(description)).collect();
                (all, usize::try_from(other.event()).unwrap_or(usize::MAX).saturating_sub(1))
            }
        };
        let what = all.get(place).cloned().unwrap_or_default();
        let from_first = all.iter().take(place).filter(|other| **other == what).count();
        let from_last = all.iter().skip(place.saturating_add(1)).filter(|other| **other == what).count();
        Self { injection, anchor: InjectionAnchor { what, from_first, from_last } }
    }

    /// Where it may belong in another run, the likely places first. `choices` says what is possible before an event.
    pub(super) fn places(&self, run: &ProbedRun, mut choices: impl FnMut(u64) -> EventChoices) -> Vec<PlanInjection> {
        if let PlanInjection::Fault(fault) = &self.injection {
            let requests = run.requests();
            let at = self.anchor.places(&vec![String::new(); requests.len()]);
            return at
                .into_iter()
                .map(|at| PlanInjection::Fault(SingleFault { request: requests[at].as_str().into(), ..fault.clone() }))
                .collect();
        }
        let all: Vec<String> = run.descriptions().iter().map(|description| masked(description)).collect();
        let mut at = self.anchor.places(&all);
        // What comes after the last event has no event to be anchored to.
        if self.anchor.what.is_empty() {
            at = vec![all.len()];
        }
        at.into_iter().map(|at| at as u64 + 1).flat_map(|event| self.injection.moved(event, || choices(event))).collect()
    }
}

impl InjectionAnchor {
    fn places(&self, all: &[String]) -> Vec<usize> {
        let alike: Vec<usize> = (0..all.len()).filter(|place| all[*place] == self.what).collect();
        let first = alike.get(self.from_first).copied();
        let last = alike.len().checked_sub(self.from_last + 1).map(|place| alike[place]);
        first.into_iter().chain(last.filter(|last| Some(*last) != first)).collect()
    }
}
