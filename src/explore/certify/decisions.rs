//! Which decisions there are at a state, as the claim of a certificate says it. Nothing here is taken from the explorer: what that forgets is found here.

use super::super::budget::ExploreBudget;
use super::super::explorer::{ExploreChoice, ExploreStep};
use super::super::interrupt::{BoundarySide, InjectionKind};
use reenact_engine::contract::{Agent, Engine, RequestId};
use reenact_scenario::single_fault::{FaultReach, SingleFault, SingleFaultKind};
use reenact_sim::Run;
use reenact_sim::agenda::Deviation;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;

/// The faults that the claim names.
pub(super) struct ClaimedFaults(Vec<ClaimedFault>);

#[derive(Clone, Copy)]
enum ClaimedFault {
    Instead(SingleFaultKind, FaultReach),
    AfterEachEvent(SingleFaultKind),
    BeforeTheLastEvent(SingleFaultKind),
}

impl ClaimedFaults {
    /// Reads them from their words.
    pub(super) fn read(list: &[String]) -> Result<Self, String> {
        let read = |words: &String| {
            let (kind, place) = words.split_once(' ')?;
            let kind = SingleFaultKind::from_word(kind)?;
            match place {
                "after each event" => Some(ClaimedFault::AfterEachEvent(kind)),
                "before the last event" => Some(ClaimedFault::BeforeTheLastEvent(kind)),
                reach => Some(ClaimedFault::Instead(kind, FaultReach::from_word(reach)?)),
            }
        };
        let faults = list.iter().map(|words| read(words).ok_or_else(|| format!("the claim names a fault that is unknown here: {words}")));
        faults.collect::<Result<_, _>>().map(Self)
    }

    /// Those of a request whose answer has so many events: first what comes instead of the answer, then event by event, then the rest.
    pub(super) fn at_request(&self, agent: &Agent, id: RequestId, events: Option<u32>) -> Vec<Arc<SingleFault>> {
        let request: Arc<str> = agent.key(id).into();
        let new = |kind, after_event, reach| Arc::new(SingleFault { request: request.clone(), kind, after_event, reach });
        let events = events.unwrap_or(0);
        let mut found = Vec::new();
        for fault in &self.0 {
            if let ClaimedFault::Instead(kind, reach) = fault {
                found.push(new(*kind, 0, *reach));
            }
        }
        for event in 0..events {
            for fault in &self.0 {
                if let ClaimedFault::AfterEachEvent(kind) = fault {
                    found.push(new(*kind, event, FaultReach::Once));
                }
            }
        }
        for fault in &self.0 {
            if let (ClaimedFault::BeforeTheLastEvent(kind), 1..) = (fault, events) {
                found.push(new(*kind, events - 1, FaultReach::Once));
            }
        }
        found
    }
}

/// The steps that the budget permits: the next arrival; cancels and messages after and before; late ends of tools; another arrival first.
pub(super) fn steps<E: Engine, W: TranscriptWatch>(run: &Run<E, W>, left: ExploreBudget) -> Vec<ExploreStep> {
    let mut steps = vec![ExploreStep::Next];
    if left.inputs > 0 {
        for kind in [InjectionKind::Cancel, InjectionKind::Interrupt] {
            steps.extend([BoundarySide::After, BoundarySide::Before].map(|side| ExploreStep::Input(kind, side)));
        }
        steps.extend(run.stopping_tools().iter().enumerate().map(|(number, _)| ExploreStep::LateCompletion(number)));
    }
    if left.deviations > 0 {
        steps.extend(deviations(run).into_iter().map(ExploreStep::Deviation));
    }
    steps
}

/// An arrival may come first if it can come at an instant at which all others can still be waiting, and if no earlier one is of its own source.
fn deviations<E: Engine, W: TranscriptWatch>(run: &Run<E, W>) -> Vec<Deviation> {
    let pending: Vec<_> = run.pending().collect();
    let last = |at, window: &reenact_sim::agenda::ArrivalWindow| window.latest.max(at);
    let mut found = Vec::new();
    for (number, (index, at, window, arrival)) in pending.iter().enumerate().skip(1) {
        let instant = window.earliest.max(run.now());
        let is_possible = instant <= last(*at, window);
        let others_wait = pending.iter().enumerate().all(|(other, (_, at, window, _))| other == number || last(*at, window) >= instant);
        let is_first_of_source = !pending[..number].iter().any(|(.., earlier)| earlier.is_of_one_source(arrival));
        if is_possible && others_wait && is_first_of_source {
            found.push(Deviation { index: *index, at: instant });
        }
    }
    found
}

/// The budget that is left after a decision.
pub(super) fn remaining(left: ExploreBudget, choice: &ExploreChoice) -> ExploreBudget {
    let mut left = left;
    match choice.step {
        ExploreStep::Next => (),
        ExploreStep::Deviation(_) => left.deviations = left.deviations.saturating_sub(1),
        ExploreStep::Input(..) | ExploreStep::LateCompletion(_) => left.inputs = left.inputs.saturating_sub(1),
    }
    if choice.fault.is_some() {
        left.faults = left.faults.saturating_sub(1);
    }
    left
}

/// A decision in words.
pub(super) fn words(choice: &ExploreChoice) -> String {
    let step = match choice.step {
        ExploreStep::Next => String::from("the next arrival"),
        ExploreStep::Deviation(deviation) => format!("another arrival first, at {},", deviation.at),
        ExploreStep::Input(kind, side) => format!("the {kind} {} an arrival", side.as_str()),
        ExploreStep::LateCompletion(_) => String::from("the late end of a tool that was told to stop"),
    };
    match &choice.fault {
        Some(fault) => format!("{step} with {fault}"),
        None => step,
    }
}
