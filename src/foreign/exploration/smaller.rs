//! A smaller run with the same defect: fewer decisions, shorter faults, rounder times (E-5).
//!
//! The first run is made again as it was found: a defect that does not come again is no finding to rely on.

use super::decision::{ChangedOrder, ChangedTimes, ClientDecision};
use reenact_engine::time::{Micros, Time};
use reenact_scenario::single_fault::{FaultReach, SingleFault};
use reenact_wire::prelude::*;

/// Units of time, the roundest first.
const ROUND: [u64; 5] = [1_000_000, 100_000, 10_000, 1_000, 100];

/// The smallest run so far, and what is tried next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SmallerRun {
    best: Vec<ClientDecision>,
    step: SmallerStep,
    /// The run that is being tried.
    open: Option<Vec<ClientDecision>>,
    has_come_again: bool,
}

/// Each with the place of the decision that it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SmallerStep {
    Again,
    Without(usize),
    Shorter(usize, FaultReach),
    Rounder(usize),
    Done,
}

impl SmallerRun {
    pub(super) fn new(best: Vec<ClientDecision>) -> Self {
        Self { best, step: SmallerStep::Again, open: None, has_come_again: false }
    }

    /// The decisions of the smallest run.
    pub(super) fn best(&self) -> &[ClientDecision] {
        &self.best
    }

    /// Whether the run showed its defect again.
    pub(super) fn has_come_again(&self) -> bool {
        self.has_come_again
    }

    pub(super) fn is_done(&self) -> bool {
        self.step == SmallerStep::Done
    }

    /// The next run to try; `None` while one is tried, and in the end.
    pub(super) fn next(&mut self) -> Option<Vec<ClientDecision>> {
        while self.open.is_none() && self.step != SmallerStep::Done {
            if let Some(candidate) = self.candidate() {
                self.open = Some(candidate.clone());
                return Some(candidate);
            }
            self.step = self.behind(false);
        }
        None
    }

    /// The run was tried; whether it is the smallest now.
    pub(super) fn on_tried(&mut self, shows: bool) -> bool {
        let open = self.open.take();
        if self.step == SmallerStep::Again {
            self.has_come_again = shows;
            self.step = if shows { SmallerStep::Without(0) } else { SmallerStep::Done };
            return shows;
        }
        self.step = self.behind(shows);
        if shows && let Some(open) = open {
            self.best = open;
        }
        shows
    }

    /// The run of this step, where it is another one.
    fn candidate(&self) -> Option<Vec<ClientDecision>> {
        let mut smaller = self.best.clone();
        match self.step {
            SmallerStep::Again => (),
            SmallerStep::Without(index) => {
                let removed = smaller.get(index)?;
                let is_order = |decision: &ClientDecision| matches!(decision, ClientDecision::Order(_));
                // The times of a later order are those of a run with this one.
                if is_order(removed) && smaller[index + 1..].iter().any(is_order) {
                    return None;
                }
                smaller.remove(index);
            }
            SmallerStep::Shorter(index, reach) => match smaller.get_mut(index)? {
                ClientDecision::Fault(SingleFault { reach: known, .. }) if reach < *known => *known = reach,
                _ => return None,
            },
            SmallerStep::Rounder(index) => match smaller.get_mut(index)? {
                ClientDecision::Order(order) => *order = rounder(order)?,
                _ => return None,
            },
            SmallerStep::Done => return None,
        }
        Some(smaller)
    }

    /// The step behind this one. `shows` says whether its run has the defect.
    fn behind(&self, shows: bool) -> SmallerStep {
        let count = self.best.len();
        let within = |index: usize, step: SmallerStep, end: SmallerStep| if index < count { step } else { end };
        match self.step {
            SmallerStep::Again => SmallerStep::Without(0),
            // What stood behind it stands in its place now.
            SmallerStep::Without(index) if shows => SmallerStep::Without(index),
            SmallerStep::Without(index) => within(index + 1, SmallerStep::Without(index + 1), SmallerStep::Shorter(0, FaultReach::Once)),
            SmallerStep::Shorter(index, FaultReach::Once) if !shows => SmallerStep::Shorter(index, FaultReach::Model),
            SmallerStep::Shorter(index, _) => within(index + 1, SmallerStep::Shorter(index + 1, FaultReach::Once), SmallerStep::Rounder(0)),
            SmallerStep::Rounder(index) => within(index + 1, SmallerStep::Rounder(index + 1), SmallerStep::Done),
            SmallerStep::Done => SmallerStep::Done,
        }
    }
}

/// The same order at the latest of the roundest times that a tool can end at.
fn rounder(order: &ChangedOrder) -> Option<ChangedOrder> {
    let [ChangedTimes::Tool { id, takes }] = &*order.times else { return None };
    let round = ROUND.into_iter().map(|unit| Time(order.latest.0 / unit * unit)).find(|time| *time >= order.at)?;
    let takes = Micros(takes.0 + round.0 - order.at.0);
    let times = vec![ChangedTimes::Tool { id: id.clone(), takes }];
    (round != order.at).then(|| ChangedOrder { at: round, times, ..order.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_scenario::single_fault::SingleFaultKind;

    fn fault(request: &str, reach: FaultReach) -> ClientDecision {
        ClientDecision::Fault(SingleFault { request: request.into(), kind: SingleFaultKind::Overloaded, after_event: 0, reach })
    }

    fn order(at: u64, latest: u64) -> ClientDecision {
        let times = vec![ChangedTimes::Tool { id: "b".into(), takes: Micros(at - 1_000) }];
        ClientDecision::Order(ChangedOrder { arrival: "b".into(), at: Time(at), latest: Time(latest), before: "a".into(), times })
    }

    /// The smallest run, and how many were tried.
    fn smallest(first: Vec<ClientDecision>, shows: impl Fn(&[ClientDecision]) -> bool) -> (Vec<ClientDecision>, u32) {
        let mut smaller = SmallerRun::new(first);
        let mut tried = 0;
        while let Some(run) = smaller.next() {
            assert_eq!(smaller.next(), None, "it waits for what comes of the first");
            tried += 1;
            smaller.on_tried(shows(&run));
        }
        assert!(smaller.is_done());
        (smaller.best().to_vec(), tried)
    }

    #[test]
    fn e_5_each_decision_is_left_out_in_turn() {
        let all: Vec<ClientDecision> = ["1", "2", "3", "4"].map(|request| fault(request, FaultReach::Once)).into();
        let (best, tried) = smallest(all.clone(), |run| run.contains(&all[2]));
        // Again, without each of the four, and nothing else: a fault that hits once is the shortest.
        assert_eq!((best, tried), (vec![all[2].clone()], 5));
    }

    #[test]
    fn e_5_a_fault_hits_as_few_attempts_as_show_the_defect() {
        let longest = vec![fault("1", FaultReach::Forever)];
        let is_long =
            |run: &[ClientDecision]| run.contains(&fault("1", FaultReach::Forever)) || run.contains(&fault("1", FaultReach::Model));
        assert_eq!(smallest(longest.clone(), is_long).0, [fault("1", FaultReach::Model)]);
        assert_eq!(smallest(longest.clone(), |run| !run.is_empty()).0, [fault("1", FaultReach::Once)]);
        assert_eq!(smallest(longest.clone(), |run| *run == longest).0, longest);
    }

    #[test]
    fn e_5_a_tool_ends_at_the_latest_of_the_roundest_times() {
        let (best, _) = smallest(vec![order(1_234_567, 2_345_678)], |run| !run.is_empty());
        assert_eq!(best, [order(2_000_000, 2_345_678)]);
        assert_eq!(smallest(vec![order(1_234_567, 1_234_570)], |run| !run.is_empty()).0, [order(1_234_567, 1_234_570)]);
    }

    #[test]
    fn e_5_a_defect_that_does_not_come_again_is_left_as_it_is() {
        let all = vec![fault("1", FaultReach::Forever), fault("2", FaultReach::Once)];
        assert_eq!(smallest(all.clone(), |_| false), (all, 1));
    }
}
