//! The decisions that may follow those of a run (E-3).
//!
//! Each further one lies behind the last one, so that the run comes to all of them. Another order of the same decisions is another run's.

use super::ExplorationTerms;
use super::decision::{ClientDecision, PlacedDecision};
use super::order::orders_of;
use crate::exploration_lines::ClientInput;
use crate::run_trace::{RunTrace, TracedRequest};
use reenact_engine::time::Time;
use reenact_explore::budget::ExploreBudget;
use reenact_explore::explorer::faults_at;
use reenact_scenario::explore_settings::ExploreSettings;
use reenact_scenario::plan::ClientInterrupt;
use reenact_scenario::single_fault::SingleFault;
use reenact_wire::prelude::*;

/// All decisions of these kinds that may follow in a run. `boundaries` are the places at which its client can be interrupted.
pub(super) fn possible(
    terms: &ExplorationTerms,
    settings: &ExploreSettings,
    (trace, boundaries): (&RunTrace, &[(Arc<str>, Time)]),
    from: Time,
    is_wanted: impl Fn(ExploreBudget) -> bool,
) -> Vec<PlacedDecision> {
    let mut found = Vec::new();
    if is_wanted(ExploreBudget::new(0, 0, 1)) {
        for (boundary, at) in boundaries.iter().filter(|(_, at)| *at >= from) {
            found.extend(terms.actions.iter().map(|action| PlacedDecision { decision: input(terms, *action, boundary), at: *at }));
        }
    }
    if is_wanted(ExploreBudget::new(1, 0, 0)) {
        found.extend(orders_of(trace, from));
    }
    if is_wanted(ExploreBudget::new(0, 1, 0)) {
        for request in trace.requests.iter().filter(|request| !request.is_faulted) {
            found.extend(faults_of(settings, request).into_iter().filter(|placed| placed.at >= from));
        }
    }
    found
}

fn input(terms: &ExplorationTerms, action: ClientInput, boundary: &Arc<str>) -> ClientDecision {
    ClientDecision::Input(ClientInterrupt {
        boundary: boundary.clone(),
        message: (action == ClientInput::Message).then(|| terms.message.clone()),
        then: Some(terms.then.clone()),
        at_once: action == ClientInput::CancelAndPrompt,
    })
}

/// The faults of a request. One within the answer shows with its event, which must come.
fn faults_of(settings: &ExploreSettings, request: &TracedRequest) -> Vec<PlacedDecision> {
    let events = u32::try_from(request.events.len()).unwrap_or(u32::MAX).checked_sub(1);
    let placed = |fault: SingleFault| {
        let at = match fault.kind.is_within_answer() {
            true => request.events.get(fault.after_event as usize).copied().filter(|at| request.left_at.is_none_or(|left| *at < left))?,
            false => request.at,
        };
        Some(PlacedDecision { decision: ClientDecision::Fault(fault), at })
    };
    faults_at(settings, &request.name, events).into_iter().filter_map(placed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(is_faulted: bool, left_at: Option<u64>) -> TracedRequest {
        let events = [10, 15, 20].map(Time).into();
        TracedRequest { name: "1".into(), at: Time(5), is_faulted, events, left_at: left_at.map(Time) }
    }

    fn faults(request: TracedRequest, from: u64) -> Vec<String> {
        let terms = ExplorationTerms { budgets: Vec::new(), actions: Vec::new(), then: "".into(), message: "".into() };
        let trace = RunTrace { requests: vec![request], ..RunTrace::default() };
        let found = possible(&terms, &ExploreSettings::default(), (&trace, &[]), Time(from), |_| true);
        found.iter().map(|placed| format!("{} {}", placed.at.0, placed.decision)).filter(|words| !words.contains("further")).collect()
    }

    #[test]
    fn e_3_a_fault_shows_at_its_request_or_with_its_event() {
        let all = faults(request(false, None), 0);
        assert_eq!((&*all[0], all.len()), ("5 overloaded instead of answer 1", 5 + 2 * 3 + 1));
        assert_eq!(
            all[5..8],
            ["10 cut after event 0 of answer 1", "10 error_event after event 0 of answer 1", "10 stall after event 0 of answer 1"]
        );
        assert_eq!(all[11], "15 close after event 1 of answer 1");
    }

    #[test]
    fn e_3_no_fault_comes_twice_before_the_last_decision_or_behind_the_end_of_the_client() {
        assert_eq!(faults(request(true, None), 0), [""; 0]);
        assert_eq!(faults(request(false, None), 11).len(), 3 + 1, "those after event 1");
        assert_eq!(faults(request(false, None), 16), [""; 0]);
        assert_eq!(faults(request(false, Some(12)), 0).len(), 5 + 3, "it never read event 1");
    }
}
