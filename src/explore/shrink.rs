//! A smaller run with the same violation (E-5): fewer injections, then a smaller scenario, then rounder times.
//!
//! ```text
//!   scenario, plan ─ without an injection ─ without prompts, turns, entries, keys, ends of texts ─ at the latest and roundest time
//!                          each time: the same fingerprint, and without injections none
//! ```
//!
//! Another fingerprint is another finding. A scenario that breaks the rule by itself is no smaller one: the order would not be needed any more.

mod injection;
mod probe;

pub use injection::PlanInjection;
pub(super) use injection::with_injections;
pub use probe::{EngineProbe, EventChoices, PossibleDeviation, ProbedRun, ScenarioProbe};

use alloc::collections::BTreeSet;

use super::fingerprint::{Fingerprint, masked};
use super::verdict::is_announced;
use injection::AnchoredInjection;
use reenact_engine::time::{Micros, Time};
use reenact_oracle::Violation;
use reenact_scenario::parse::reduction::{PartKind, ScenarioParts};
use reenact_scenario::plan::PlannedDeviation;
use reenact_scenario::single_fault::{FaultReach, SingleFault};
use reenact_scenario::types::{Expectations, Scenario};
use reenact_wire::prelude::*;

/// So many runs are made to find a smaller one.
pub const RUNS_MAX: u32 = 200;

/// Units of time, the roundest first.
const ROUND: [u64; 5] = [1_000_000, 100_000, 10_000, 1_000, 100];

/// A small run with the violation.
#[derive(Clone, Debug)]
pub struct ShrunkRun {
    /// The scenario, with the injections in its plan.
    pub scenario: Scenario,
    /// The injections, in the order in which they come.
    pub injections: Vec<PlanInjection>,
    /// The violations of its run.
    pub violations: Vec<Violation>,
    /// How the run without injections ends: others may end so as well.
    pub usual_end: Option<Arc<str>>,
    /// How many parts of the scenario were taken out.
    pub removed: usize,
    /// How many runs it took.
    pub runs: u32,
    /// Whether everything was tried.
    pub is_complete: bool,
}

/// A run that breaks a rule, as it is. The plan of `scenario` has the injections.
///
/// # Errors
/// When the run does not break the rule.
pub fn unchanged(scenario: &Scenario, fingerprint: &Fingerprint, probe: &mut dyn ScenarioProbe) -> Result<ShrunkRun, String> {
    let mut shrinking = Shrinking::new(fingerprint, probe);
    let FailingRun { scenario, injections, violations, usual_end } = shrinking.begin(scenario)?;
    let runs = shrinking.probe.runs();
    Ok(ShrunkRun { scenario, injections, violations, usual_end, removed: 0, runs, is_complete: false })
}

/// Makes a run smaller that breaks a rule. The plan of `scenario` has the injections.
///
/// # Errors
/// When the run does not break the rule.
pub fn shrink(scenario: &Scenario, fingerprint: &Fingerprint, probe: &mut dyn ScenarioProbe) -> Result<ShrunkRun, String> {
    let mut scenario = scenario.clone();
    // What the scenario expects is said of the run as it is.
    scenario.expect = Expectations { breaks: core::mem::take(&mut scenario.expect.breaks), ..Expectations::default() };
    let mut shrinking = Shrinking::new(fingerprint, probe);
    let mut best = shrinking.begin(&scenario)?;
    best = shrinking.with_fewer_injections(best);
    best = shrinking.with_shorter_faults(best);
    let removed = shrinking.reduce(&mut best);
    shrinking.at_round_times(&mut best);
    let FailingRun { scenario, injections, violations, usual_end } = best;
    let runs = shrinking.probe.runs();
    Ok(ShrunkRun { scenario, injections, violations, usual_end, removed, runs, is_complete: runs < RUNS_MAX })
}

/// A run with the violation.
#[derive(Clone, Debug)]
struct FailingRun {
    scenario: Scenario,
    injections: Vec<PlanInjection>,
    violations: Vec<Violation>,
    usual_end: Option<Arc<str>>,
}

struct Shrinking<'a> {
    fingerprint: &'a Fingerprint,
    probe: &'a mut dyn ScenarioProbe,
    /// The rules that the scenario breaks by itself.
    plain: BTreeSet<Fingerprint>,
    /// The other failures that it has by itself.
    plain_failures: BTreeSet<String>,
    /// The injections, each with its place.
    anchors: Vec<AnchoredInjection>,
}

impl<'a> Shrinking<'a> {
    fn new(fingerprint: &'a Fingerprint, probe: &'a mut dyn ScenarioProbe) -> Self {
        Self { fingerprint, probe, plain: BTreeSet::new(), plain_failures: BTreeSet::new(), anchors: Vec::new() }
    }

    /// The run as it was found, and the places of its injections.
    fn begin(&mut self, scenario: &Scenario) -> Result<FailingRun, String> {
        let unready = || String::from("the scenario cannot be made ready");
        let injections = PlanInjection::of_plan(&scenario.plan);
        let mut plain = self.probe.run(&with_injections(scenario, &[]), None).ok_or_else(unready)?;
        plain.end = plain.end.filter(|end| is_announced(scenario, end));
        self.plain = plain.violations.iter().map(Fingerprint::from).collect();
        self.plain_failures = plain.failures.iter().map(|failure| failure_kind(failure)).collect();
        // A run that fails as it is needs no injection.
        let injections = if self.plain.contains(self.fingerprint) { Vec::new() } else { injections };
        let run = self.probe.run(&with_injections(scenario, &injections), plain.end.as_deref()).ok_or_else(unready)?;
        if !run.breaks(self.fingerprint) {
            return Err(format!("the run does not show this: {}", self.fingerprint));
        }
        self.anchors = self.anchored(scenario, &injections).ok_or_else(unready)?;
        Ok(FailingRun { scenario: with_injections(scenario, &injections), injections, violations: run.violations, usual_end: plain.end })
    }

    fn anchored(&mut self, scenario: &Scenario, injections: &[PlanInjection]) -> Option<Vec<AnchoredInjection>> {
        let mut anchors = Vec::new();
        for (number, injection) in injections.iter().enumerate() {
            let before = self.probe.run(&with_injections(scenario, &injections[..number]), None)?;
            anchors.push(AnchoredInjection::new(injection.clone(), &before));
        }
        Some(anchors)
    }

    /// Faults and inputs first, then deviations.
    fn with_fewer_injections(&mut self, mut best: FailingRun) -> FailingRun {
        for takes_deviations in [false, true] {
            let mut number = self.anchors.len();
            while number > 0 {
                number -= 1;
                if matches!(self.anchors[number].injection, PlanInjection::Deviation(_)) != takes_deviations {
                    continue;
                }
                let taken = self.anchors.remove(number);
                match self.attempt(&best.scenario) {
                    Some(smaller) => best = smaller,
                    None => self.anchors.insert(number, taken),
                }
            }
        }
        best
    }

    /// A fault that hits one attempt is less than one that hits several.
    fn with_shorter_faults(&mut self, mut best: FailingRun) -> FailingRun {
        for number in 0..self.anchors.len() {
            let known = self.anchors[number].clone();
            let PlanInjection::Fault(fault) = &known.injection else { continue };
            let shorter = FaultReach::ALL.into_iter().filter(|reach| *reach < fault.reach);
            for reach in shorter {
                self.anchors[number].injection = PlanInjection::Fault(SingleFault { reach, ..fault.clone() });
                if let Some(smaller) = self.attempt(&best.scenario) {
                    best = smaller;
                    break;
                }
                self.anchors[number] = known.clone();
            }
        }
        best
    }

    /// Takes parts out of the scenario. Returns how many.
    fn reduce(&mut self, best: &mut FailingRun) -> usize {
        let parts = ScenarioParts::new(&best.scenario);
        let mut removed = Vec::new();
        for kind in PartKind::ALL {
            let of_kind = parts.of_kind(kind);
            let is_left = |part: &usize| !removed.iter().any(|other| parts.is_inside(*part, *other));
            let left: Vec<usize> = of_kind.into_iter().filter(is_left).collect();
            self.take_out(&parts, &left, &mut removed, best);
        }
        removed.len()
    }

    /// Takes these parts out, or one half and then the other.
    fn take_out(&mut self, parts: &ScenarioParts, part: &[usize], removed: &mut Vec<usize>, best: &mut FailingRun) {
        let left: Vec<usize> = part.iter().copied().filter(|part| !removed.iter().any(|other| parts.is_inside(*part, *other))).collect();
        if left.is_empty() || self.probe.runs() >= RUNS_MAX {
            return;
        }
        let candidate = [&removed[..], &left].concat();
        let smaller = parts.without(&candidate).and_then(|scenario| self.attempt(&scenario));
        match smaller {
            Some(smaller) => (*best, *removed) = (smaller, candidate),
            None if left.len() > 1 => {
                // What comes late is needed less often.
                let (early, late) = left.split_at(left.len() / 2);
                self.take_out(parts, late, removed, best);
                self.take_out(parts, early, removed, best);
            }
            None => (),
        }
    }

    /// The scenario with its injections where they belong in it, if its run breaks the rule.
    fn attempt(&mut self, scenario: &Scenario) -> Option<FailingRun> {
        let plain = self.probe.run(&with_injections(scenario, &[]), None)?;
        // A scenario that breaks more rules by itself, or says what does not come to pass, is no smaller one, but another one.
        let breaks_more = plain.violations.iter().any(|violation| !self.plain.contains(&Fingerprint::from(violation)));
        if breaks_more || plain.failures.iter().any(|failure| !self.plain_failures.contains(&failure_kind(failure))) {
            return None;
        }
        let anchors = self.anchors.clone();
        self.placed(scenario, &plain, &mut Vec::new(), &anchors, plain.end.as_deref())
    }

    /// Places the injections one after the other. `run` is the run with those that are placed.
    fn placed(
        &mut self,
        scenario: &Scenario,
        run: &ProbedRun,
        injections: &mut Vec<PlanInjection>,
        rest: &[AnchoredInjection],
        usual_end: Option<&str>,
    ) -> Option<FailingRun> {
        let Some((first, rest)) = rest.split_first() else {
            let is_same = run.is_as_planned && run.breaks(self.fingerprint);
            let (injections, violations) = (injections.clone(), run.violations.clone());
            let scenario = with_injections(scenario, &injections);
            return is_same.then(|| FailingRun { scenario, injections, violations, usual_end: usual_end.map(Arc::from) });
        };
        let before = with_injections(scenario, injections);
        for injection in first.places(run, |event| self.probe.choices_before(&before, event)) {
            injections.push(injection);
            let next = self.probe.run(&with_injections(scenario, injections), usual_end);
            let found = next.and_then(|next| self.placed(scenario, &next, injections, rest, usual_end));
            injections.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Lets deviations come as late as possible, and at round times.
    fn at_round_times(&mut self, best: &mut FailingRun) {
        for number in 0..best.injections.len() {
            let PlanInjection::Deviation(deviation) = &best.injections[number] else { continue };
            let before = with_injections(&best.scenario, &best.injections[..number]);
            let possible = self.probe.choices_before(&before, deviation.event.into()).deviations;
            let Some(possible) = possible.into_iter().find(|possible| possible.planned.arrival == deviation.arrival) else { continue };
            let earliest = Time::ZERO + possible.planned.at;
            let latest = possible.next_at.max(earliest);
            for at in [latest].into_iter().chain(round_times(earliest, latest)) {
                let mut injections = best.injections.clone();
                injections[number] = PlanInjection::Deviation(PlannedDeviation { at: at.since(Time::ZERO), ..possible.planned.clone() });
                let scenario = with_injections(&best.scenario, &injections);
                let Some(run) = self.probe.run(&scenario, best.usual_end.as_deref()) else { continue };
                if run.is_as_planned && run.breaks(self.fingerprint) {
                    (best.scenario, best.injections, best.violations) = (scenario, injections, run.violations);
                    if at != latest {
                        break;
                    }
                }
            }
        }
    }
}

/// A failure without its place in the file, ids and figures.
fn failure_kind(failure: &str) -> String {
    masked(failure.lines().last().unwrap_or_default())
}

/// The latest time of each unit between two times, the roundest first.
fn round_times(earliest: Time, latest: Time) -> impl Iterator<Item = Time> {
    let floor = move |unit| Time::ZERO + Micros(latest.since(Time::ZERO).0 / unit * unit);
    ROUND.into_iter().map(floor).filter(move |at| (earliest..latest).contains(at))
}
