//! The faults that an exploration tries at each request (E-3).

use reenact_engine::contract::{Agent, RequestId};
use reenact_scenario::explore_settings::ExploreSettings;
use reenact_scenario::single_fault::{FaultReach, SingleFault, SingleFaultKind};
use reenact_wire::prelude::*;

/// Each kind in an answer's place, with the attempts that it hits: once, as long as the same model is asked, for ever.
const INSTEAD: [(SingleFaultKind, &[FaultReach]); 5] = [
    (SingleFaultKind::Overloaded, &FaultReach::ALL),
    (SingleFaultKind::Internal, &FaultReach::ALL),
    (SingleFaultKind::RateLimit, &FaultReach::ALL),
    (SingleFaultKind::TooLong, &[FaultReach::Once, FaultReach::Forever]),
    (SingleFaultKind::Reset, &[FaultReach::Once, FaultReach::Forever]),
];

/// Each kind after an event of an answer.
const WITHIN: [SingleFaultKind; 3] = [SingleFaultKind::Cut, SingleFaultKind::ErrorEvent, SingleFaultKind::Stall];

/// The faults that are tried, in words: `overloaded once`, `cut after each event`.
pub fn fault_list(settings: &ExploreSettings) -> Vec<String> {
    let is_tried = |kind: &SingleFaultKind| settings.faults.contains(kind);
    let instead = INSTEAD.iter().filter(|(kind, _)| is_tried(kind));
    let instead = instead.flat_map(|(kind, reaches)| reaches.iter().map(|reach| format!("{} {}", kind.as_str(), reach.as_str())));
    let within = WITHIN.iter().filter(|kind| is_tried(kind)).map(|kind| format!("{} after each event", kind.as_str()));
    let close = is_tried(&SingleFaultKind::Close).then(|| format!("{} before the last event", SingleFaultKind::Close.as_str()));
    instead.chain(within).chain(close).collect()
}

/// The faults of a request that the scenario's explorations try. `events` is how many events its answer has, if it is a stream.
pub(crate) fn faults_of(settings: &ExploreSettings, agent: &Agent, id: RequestId, events: Option<u32>) -> Vec<Arc<SingleFault>> {
    faults_at(settings, &agent.key(id).into(), events).into_iter().map(Arc::new).collect()
}

/// The same, of a request by its name.
#[doc(hidden)]
pub fn faults_at(settings: &ExploreSettings, request: &Arc<str>, events: Option<u32>) -> Vec<SingleFault> {
    let fault = |kind, after_event, reach| SingleFault { request: request.clone(), kind, after_event, reach };
    let mut faults = Vec::new();
    for (kind, reaches) in INSTEAD {
        faults.extend(reaches.iter().map(|reach| fault(kind, 0, *reach)));
    }
    for event in 0..events.unwrap_or_default() {
        faults.extend(WITHIN.map(|kind| fault(kind, event, FaultReach::Once)));
    }
    if let Some(before_last) = events.and_then(|events| events.checked_sub(1)) {
        faults.push(fault(SingleFaultKind::Close, before_last, FaultReach::Once));
    }
    faults.retain(|fault| settings.faults.contains(&fault.kind));
    faults
}
