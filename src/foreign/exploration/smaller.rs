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
                smaller.remove((index < smaller.len()).then_some(index)?);
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
