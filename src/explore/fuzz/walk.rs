//! The strategies of a search by chance: how a case chooses its decisions (E-4).

use alloc::collections::BTreeMap;

use super::super::explorer::{ExploreStep, ExploredRun};
use super::island::KeptCase;
use super::{FuzzGround, FuzzStrategy, index};
use reenact_engine::contract::Engine;
use reenact_engine::random::KeyedDraws;
use reenact_scenario::single_fault::{SingleFault, SingleFaultKind};
use reenact_wire::prelude::*;
use reenact_world::Arrival;

/// A walk has at most so many decisions beside the next arrival: more make a run that nobody reads.
const DECISIONS_MAX: usize = 8;

/// The decisions of a case beside its faults, as far as they are drawn before it begins.
pub(super) struct CasePlan {
    strategy: FuzzStrategy,
    /// The steps of the kept case that it begins with, at their places.
    kept: BTreeMap<u64, ExploreStep>,
    /// At which arrivals something else happens; for the uniform and the weighted strategy, an input.
    places: Vec<u64>,
    /// The steps that may be taken, by their kinds.
    kinds: Vec<StepKind>,
    /// How many decisions may still be made.
    pub(super) left: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Deviation,
    Input(ExploreStep),
    Late,
}

impl StepKind {
    /// A deviation is as likely as all inputs together.
    fn all() -> Vec<Self> {
        let inputs = ExploreStep::INPUTS.map(Self::Input);
        [Self::Deviation; 4].into_iter().chain(inputs).chain([Self::Late]).collect()
    }
}

impl CasePlan {
    /// The same with the faults of the case. `base` is a kept case, for the guided strategy.
    pub(super) fn new(
        strategy: FuzzStrategy,
        ground: &FuzzGround,
        base: Option<&KeptCase>,
        draws: &mut KeyedDraws,
    ) -> (Self, Vec<SingleFault>) {
        let arrivals = ground.arrivals.max(1);
        let mut kinds = StepKind::all();
        let mut kept = BTreeMap::new();
        let (places, faults) = match (strategy, base) {
            (FuzzStrategy::Guided, Some(base)) => {
                let change = KeptChange::new(base, ground, draws);
                kept = change.steps;
                (change.places, change.faults)
            }
            (FuzzStrategy::Uniform | FuzzStrategy::Weighted, _) => {
                let places = if draws.below(2) == 0 { vec![draws.below(arrivals)] } else { Vec::new() };
                (places, ground.faults(draws.below(2), &SingleFaultKind::ALL, draws))
            }
            (FuzzStrategy::Pct | FuzzStrategy::Guided, _) => {
                // A fault is one of the places.
                let fault = draws.below(3) / 2;
                let count = (1 + draws.below(3)).saturating_sub(fault);
                ((0..count).map(|_| draws.below(arrivals)).collect(), ground.faults(fault, &SingleFaultKind::ALL, draws))
            }
            (FuzzStrategy::Swarm, _) => {
                kinds.retain(|_| draws.below(2) == 0);
                let permitted: Vec<SingleFaultKind> = SingleFaultKind::ALL.into_iter().filter(|_| draws.below(2) == 0).collect();
                let places = (0..arrivals).filter(|_| draws.below(8) == 0).collect();
                let count = draws.below(3);
                (places, ground.faults(count, &permitted, draws))
            }
        };
        (Self { strategy, kept, places, kinds, left: DECISIONS_MAX }, faults)
    }

    /// The step at a state, before which so many steps were taken.
    pub(super) fn step<E: Engine>(&mut self, run: &ExploredRun<E>, number: u64, draws: &mut KeyedDraws) -> ExploreStep {
        if self.left == 0 {
            return ExploreStep::Next;
        }
        let is_place = self.places.contains(&number);
        let step = match (self.kept.get(&number), self.strategy) {
            (Some(kept), _) => Self::possible(run, *kept),
            (None, FuzzStrategy::Uniform | FuzzStrategy::Weighted) if is_place => {
                ExploreStep::INPUTS[index(draws, ExploreStep::INPUTS.len())]
            }
            (None, FuzzStrategy::Uniform) => {
                let deviations = run.deviations();
                // The next arrival is one of them.
                let chosen = index(draws, deviations.len() + 1);
                deviations.get(chosen).map_or(ExploreStep::Next, |deviation| ExploreStep::Deviation(*deviation))
            }
            (None, FuzzStrategy::Weighted) => Self::weighted(run, draws),
            _ if is_place && !self.kinds.is_empty() => self.drawn(run, draws),
            _ => ExploreStep::Next,
        };
        self.left -= usize::from(step != ExploreStep::Next);
        step
    }

    /// A step of a kept case, or the next arrival where it cannot be made after what was changed before it.
    fn possible<E: Engine>(run: &ExploredRun<E>, kept: ExploreStep) -> ExploreStep {
        let is_possible = match kept {
            ExploreStep::Deviation(wanted) => {
                // The same place in the agenda, whatever its instant is now.
                let now = run.deviations().into_iter().find(|deviation| deviation.index == wanted.index);
                return now.map_or(ExploreStep::Next, ExploreStep::Deviation);
            }
            ExploreStep::LateCompletion(place) => place < run.stopping_tools().len(),
            ExploreStep::Next | ExploreStep::Input(..) => true,
        };
        if is_possible { kept } else { ExploreStep::Next }
    }

    /// An arrival, as likely as its source has arrivals waiting: every order of all that is waiting is then as likely as any other. Hooks and answers of
    /// people are sources of one arrival each.
    fn weighted<E: Engine>(run: &ExploredRun<E>, draws: &mut KeyedDraws) -> ExploreStep {
        let deviations = run.deviations();
        if deviations.is_empty() {
            return ExploreStep::Next;
        }
        let pending: Vec<_> = run.pending().map(|(place, _, _, arrival)| (place, arrival)).collect();
        let weight_of = |wanted: Option<usize>| {
            let arrival = pending.iter().find(|(place, _)| wanted.is_none_or(|wanted| wanted == *place)).map(|(_, arrival)| arrival);
            let of_source = |of: &&Arrival| (pending.iter().filter(|(_, other)| other.is_of_one_source(of)).count() as u64).max(1);
            arrival.map_or(1, of_source)
        };
        let candidates = core::iter::once((ExploreStep::Next, weight_of(None)))
            .chain(deviations.iter().map(|deviation| (ExploreStep::Deviation(*deviation), weight_of(Some(deviation.index)))));
        let candidates: Vec<(ExploreStep, u64)> = candidates.collect();
        let mut drawn = draws.below(candidates.iter().map(|(_, weight)| weight).sum::<u64>().max(1));
        for (step, weight) in candidates {
            if drawn < weight {
                return step;
            }
            drawn -= weight;
        }
        ExploreStep::Next
    }

    fn drawn<E: Engine>(&self, run: &ExploredRun<E>, draws: &mut KeyedDraws) -> ExploreStep {
        match self.kinds[index(draws, self.kinds.len())] {
            StepKind::Input(step) => step,
            StepKind::Deviation => {
                let deviations = run.deviations();
                if deviations.is_empty() { ExploreStep::Next } else { ExploreStep::Deviation(deviations[index(draws, deviations.len())]) }
            }
            StepKind::Late => {
                let stopping = run.stopping_tools().len();
                if stopping == 0 { ExploreStep::Next } else { ExploreStep::LateCompletion(index(draws, stopping)) }
            }
        }
    }
}

/// A kept case with one change.
struct KeptChange {
    steps: BTreeMap<u64, ExploreStep>,
    places: Vec<u64>,
    faults: Vec<SingleFault>,
}

impl KeptChange {
    fn new(base: &KeptCase, ground: &FuzzGround, draws: &mut KeyedDraws) -> Self {
        let arrivals = base.arrivals.max(1);
        let mut change = Self { steps: base.steps.clone(), places: Vec::new(), faults: base.faults.clone() };
        match draws.below(5) {
            // It goes on from where something new was seen.
            0 => {
                change.steps.retain(|place, _| *place <= base.new_at);
                change.places = (0..=draws.below(2)).map(|_| base.new_at + 1 + draws.below(arrivals)).collect();
            }
            1 => change.places.push(draws.below(arrivals)),
            2 => {
                let dropped = index(draws, change.steps.len() + change.faults.len());
                match dropped.checked_sub(change.steps.len()) {
                    Some(fault) if fault < change.faults.len() => drop(change.faults.remove(fault)),
                    _ => drop(change.steps.keys().nth(dropped).copied().and_then(|place| change.steps.remove(&place))),
                }
                change.places.push(draws.below(arrivals));
            }
            3 => {
                let moved = change.steps.keys().nth(index(draws, change.steps.len())).copied();
                if let Some((place, step)) = moved.and_then(|place| change.steps.remove_entry(&place)) {
                    change.steps.insert((place + draws.below(5)).saturating_sub(2), step);
                } else {
                    change.places.push(draws.below(arrivals));
                }
            }
            _ => {
                let count = 1 + draws.below(2);
                change.faults = ground.faults(count, &SingleFaultKind::ALL, draws);
            }
        }
        change
    }
}
