//! The reasons of a finding (E-5): for each injection where it fails and where not, and the nearest run that passes.
//!
//! ```text
//!   before 7   after 7   before 8   after 8   before 9         an interrupt is tried at the boundaries around its own,
//!     passes    FAILS     FAILS      FAILS     passes          as far as the run fails
//! ```

mod parting;

use core::cmp::Reverse;

use super::fingerprint::Fingerprint;
use super::shrink::{PlanInjection, PossibleDeviation, ProbedRun, ScenarioProbe, ShrunkRun, with_injections};
use reenact_engine::time::{Micros, Time};
use reenact_scenario::boundary::{BoundarySide, RunBoundary};
use reenact_scenario::plan::{Plan, PlannedDeviation, PlannedInterrupt, PlannedInterruptKind};
use reenact_scenario::single_fault::{SingleFault, SingleFaultKind};
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;

/// So many runs are made to explain one finding.
const RUNS_MAX: u32 = 400;

/// The reasons of a finding.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// One for each injection, in order.
    pub choices: Vec<ChoiceExplanation>,
    /// The run that passes and differs least; `None` for a run that fails as it is.
    pub nearest: Option<PassingRun>,
}

/// Where an injection fails.
#[derive(Clone, Debug)]
pub struct ChoiceExplanation {
    /// In words.
    pub text: String,
    /// The smallest change of time that it takes; `None` for what is no change of time.
    pub distance: Option<Micros>,
    /// The outermost runs that fail, with words for each.
    pub borders: Vec<(String, Plan)>,
}

/// A run that passes.
#[derive(Clone, Debug)]
pub struct PassingRun {
    /// Its difference from the run that fails.
    pub text: String,
    /// How far apart the two are; `None` where it is not a matter of time.
    pub distance: Option<Micros>,
    /// Its plan.
    pub plan: Plan,
    /// The first lines in which the two differ: of the run that fails, then of the one that passes.
    pub parting: Option<(String, String)>,
}

/// Explains a run that was made small.
pub fn explain(shrunk: &ShrunkRun, fingerprint: &Fingerprint, probe: &mut dyn ScenarioProbe) -> Explanation {
    let runs_max = probe.runs() + RUNS_MAX;
    let mut explaining = Explaining { shrunk, fingerprint, probe, runs_max, passing: Vec::new() };
    let mut choices: Vec<ChoiceExplanation> = (0..shrunk.injections.len()).map(|number| explaining.choice(number)).collect();
    if explaining.probe.runs() >= runs_max
        && let Some(last) = choices.last_mut()
    {
        last.text += "; not every run around it was tried";
    }
    let nearest = explaining.nearest();
    Explanation { choices, nearest }
}

struct Explaining<'a> {
    shrunk: &'a ShrunkRun,
    fingerprint: &'a Fingerprint,
    probe: &'a mut dyn ScenarioProbe,
    runs_max: u32,
    passing: Vec<NearPass>,
}

/// A run that passes, and the one that fails beside it.
struct NearPass {
    text: String,
    distance: Option<Micros>,
    fails: Vec<PlanInjection>,
    passes: Vec<PlanInjection>,
}

/// The outcome of a run beside the one that was found.
enum Trial {
    Fails,
    Passes,
    /// The injection did not come, another rule was broken, or too many runs were made.
    Unknown,
}

impl Explaining<'_> {
    fn choice(&mut self, number: usize) -> ChoiceExplanation {
        match &self.shrunk.injections[number] {
            PlanInjection::Interrupt(planned) => self.interrupt(number, planned),
            PlanInjection::Deviation(planned) => self.deviation(number, planned),
            PlanInjection::Fault(fault) => self.fault(number, fault),
            PlanInjection::Late(late) => {
                self.note_pass(number, None, format!("tool {} comes to no late end", late.tool), None);
                ChoiceExplanation {
                    text: format!("fails when tool {} comes to its own end after it was told to stop", late.tool),
                    distance: None,
                    borders: Vec::new(),
                }
            }
        }
    }

    /// The boundaries around an interrupt at which the run fails as well.
    fn interrupt(&mut self, number: usize, planned: &PlannedInterrupt) -> ChoiceExplanation {
        let places = self.places_of_inputs(number);
        let own = BoundarySlot::from(planned.boundary);
        let at = |slot: BoundarySlot| PlanInjection::Interrupt(PlannedInterrupt { boundary: slot.boundary(), ..planned.clone() });
        let word = match &planned.kind {
            PlannedInterruptKind::Cancel => "cancel",
            PlannedInterruptKind::Interrupt(_) => "message",
            PlannedInterruptKind::Heal => "end of all faults",
        };
        let last = BoundarySlot(places.len() * 2);
        let mut borders = [own, own];
        for (border, is_up) in borders.iter_mut().zip([false, true]) {
            while let Some(next) = border.next(is_up, last) {
                match self.trial(number, at(next)) {
                    Trial::Fails => *border = next,
                    Trial::Passes => {
                        let distance = next.time(&places).since(border.time(&places)).max(border.time(&places).since(next.time(&places)));
                        let text = format!("the {word} comes at {}", next.words(&places));
                        self.passing.push(NearPass {
                            text,
                            distance: Some(distance),
                            fails: self.changed(number, Some(at(*border))),
                            passes: self.changed(number, Some(at(next))),
                        });
                        break;
                    }
                    Trial::Unknown => break,
                }
            }
        }
        let [first, final_slot] = borders;
        let text = if first == final_slot {
            format!("fails when the {word} comes at {}, and at no neighbouring boundary", first.words(&places))
        } else {
            format!("fails while the {word} comes from {}, to {}", first.words(&places), final_slot.words(&places))
        };
        let border = |slot: BoundarySlot| (slot.words(&places), self.plan(&self.changed(number, Some(at(slot)))));
        ChoiceExplanation { text, distance: None, borders: vec![border(first), border(final_slot)] }
    }

    /// The times at which an arrival may come and the run fails.
    fn deviation(&mut self, number: usize, planned: &PlannedDeviation) -> ChoiceExplanation {
        let before = self.scenario(&self.shrunk.injections[..number]);
        let possible = self.probe.choices_before(&before, planned.event.into()).deviations;
        let Some(possible) = possible.into_iter().find(|possible| possible.planned.arrival == planned.arrival) else {
            return ChoiceExplanation { text: format!("fails when {} comes first", planned.arrival), distance: None, borders: Vec::new() };
        };
        let PossibleDeviation { planned: earliest, usual, next, next_at, .. } = &possible;
        let at = |time: u64| PlanInjection::Deviation(PlannedDeviation { at: Micros(time), ..planned.clone() });
        // Where it cannot come before the other one, that one waits for it.
        let latest = next_at.since(Time::ZERO).max(earliest.at);
        let low = self.border(planned.at.0, earliest.at.0, |explaining, time| explaining.trial(number, at(time)));
        let high = self.border(planned.at.0, latest.0, |explaining, time| explaining.trial(number, at(time)));
        let (arrival, [first, last]) = (&planned.arrival, [low, high].map(|time| Time::ZERO + Micros(time)));
        let span = if low == high { format!("which it can at {first}") } else { format!("which it can from {first} to {last}") };
        let usually = format!("usually `{arrival}` comes at {usual}, and `{next}` at {next_at}");
        let text = format!("fails when `{arrival}` comes before `{next}`, {span}; {usually}");
        let border = |time: u64| self.plan(&self.changed(number, Some(at(time))));
        let borders = vec![(format!("at {first}"), border(low)), (format!("at {last}"), border(high))];
        let distance = usual.since(last).max(last.since(*usual));
        self.note_pass(number, Some(at(high)), format!("`{arrival}` comes at its usual time, {usual}"), Some(distance));
        ChoiceExplanation { text, distance: Some(distance), borders }
    }

    /// The last time on the way to `limit` at which the run fails, to the microsecond.
    fn border(&mut self, known: u64, limit: u64, mut trial: impl FnMut(&mut Self, u64) -> Trial) -> u64 {
        if known == limit || matches!(trial(self, limit), Trial::Fails) {
            return limit;
        }
        let (mut fails, mut other) = (known, limit);
        while fails.abs_diff(other) > 1 {
            let middle = fails.midpoint(other);
            if matches!(trial(self, middle), Trial::Fails) { fails = middle } else { other = middle }
        }
        fails
    }

    /// The other events and kinds with which a fault fails.
    fn fault(&mut self, number: usize, fault: &SingleFault) -> ChoiceExplanation {
        let with = |kind, after_event| PlanInjection::Fault(SingleFault { kind, after_event, ..fault.clone() });
        let mut borders = Vec::new();
        let mut text = format!("fails with {fault}");
        if fault.kind.is_within_answer() {
            let mut range = [fault.after_event, fault.after_event];
            for (border, is_up) in range.iter_mut().zip([false, true]) {
                while let Some(next) = if is_up { border.checked_add(1) } else { border.checked_sub(1) } {
                    if !matches!(self.trial(number, with(fault.kind, next)), Trial::Fails) {
                        break;
                    }
                    *border = next;
                }
            }
            if range[0] < range[1] {
                text += &format!(", and after each event from {} to {}", range[0], range[1]);
                borders = range
                    .map(|event| (format!("after event {event}"), self.plan(&self.changed(number, Some(with(fault.kind, event))))))
                    .into();
            }
        }
        let others =
            SingleFaultKind::ALL.iter().filter(|kind| **kind != fault.kind && kind.is_within_answer() == fault.kind.is_within_answer());
        let (mut alike, mut harmless) = (Vec::new(), Vec::new());
        for kind in others {
            match self.trial(number, with(*kind, fault.after_event)) {
                Trial::Fails => alike.push(kind.as_str()),
                Trial::Passes => harmless.push(kind.as_str()),
                Trial::Unknown => (),
            }
        }
        for (words, kinds) in [("fails as well with", alike), ("passes with", harmless)] {
            if !kinds.is_empty() {
                text += &format!("; {words} {}", kinds.join(", "));
            }
        }
        self.note_pass(number, Some(PlanInjection::Fault(fault.clone())), String::from("without the fault"), None);
        ChoiceExplanation { text, distance: None, borders }
    }

    /// The run without an injection passes: all of them are needed.
    fn note_pass(&mut self, number: usize, border: Option<PlanInjection>, text: String, distance: Option<Micros>) {
        let border = border.or_else(|| self.shrunk.injections.get(number).cloned());
        self.passing.push(NearPass { text, distance, fails: self.changed(number, border), passes: self.changed(number, None) });
    }

    /// The inputs of the run with the injections before this one.
    fn places_of_inputs(&mut self, number: usize) -> Vec<(Time, String)> {
        let before = self.scenario(&self.shrunk.injections[..number]);
        let run = self.probe.run(&before, self.shrunk.usual_end.as_deref());
        let places = |run: ProbedRun| run.inputs().map(|(at, _)| at).zip(run.descriptions()).collect();
        run.map(places).unwrap_or_default()
    }

    fn trial(&mut self, number: usize, injection: PlanInjection) -> Trial {
        if self.probe.runs() >= self.runs_max {
            return Trial::Unknown;
        }
        let scenario = self.scenario(&self.changed(number, Some(injection)));
        match self.probe.run(&scenario, self.shrunk.usual_end.as_deref()) {
            Some(run) if run.is_as_planned && run.breaks(self.fingerprint) => Trial::Fails,
            Some(run) if run.is_as_planned && run.violations.is_empty() => Trial::Passes,
            _ => Trial::Unknown,
        }
    }

    /// The injections with another one in a place, or without it.
    fn changed(&self, number: usize, injection: Option<PlanInjection>) -> Vec<PlanInjection> {
        let mut injections = self.shrunk.injections.clone();
        injections.splice(number..=number, injection);
        injections
    }

    fn scenario(&self, injections: &[PlanInjection]) -> Scenario {
        with_injections(&self.shrunk.scenario, injections)
    }

    fn plan(&self, injections: &[PlanInjection]) -> Plan {
        PlanInjection::planned(&self.shrunk.scenario.plan, injections)
    }

    /// The nearest of all runs that pass.
    fn nearest(&mut self) -> Option<PassingRun> {
        self.passing.sort_by_key(|near| (near.distance.is_none(), near.distance, Reverse(near.passes.len())));
        for NearPass { text, distance, fails, passes } in core::mem::take(&mut self.passing) {
            let [failing, passing] = [&fails, &passes].map(|injections| {
                let scenario = self.scenario(injections);
                self.probe.run(&scenario, self.shrunk.usual_end.as_deref())
            });
            let (Some(failing), Some(passing)) = (failing, passing) else { continue };
            if passing.violations.is_empty() {
                let parting = parting::between(&failing.transcript, &passing.transcript);
                return Some(PassingRun { text, distance, plan: self.plan(&passes), parting });
            }
        }
        None
    }
}

/// A boundary in the order of a run: before the first event, after it, before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BoundarySlot(usize);

impl From<RunBoundary> for BoundarySlot {
    fn from(boundary: RunBoundary) -> Self {
        let event = usize::try_from(boundary.event).unwrap_or(usize::MAX / 4);
        Self(event.saturating_sub(1) * 2 + usize::from(boundary.side == BoundarySide::After))
    }
}

impl BoundarySlot {
    fn boundary(self) -> RunBoundary {
        let side = if self.0 % 2 == 1 { BoundarySide::After } else { BoundarySide::Before };
        RunBoundary { event: self.0 as u64 / 2 + 1, side }
    }

    fn next(self, is_up: bool, end: Self) -> Option<Self> {
        let next = if is_up { Some(self.0 + 1) } else { self.0.checked_sub(1) };
        next.filter(|next| *next < end.0).map(Self)
    }

    fn time(self, places: &[(Time, String)]) -> Time {
        places.get(self.0 / 2).map_or(Time::ZERO, |(at, _)| *at)
    }

    /// `0.512s, after event 7 (tool 1A ends)`.
    fn words(self, places: &[(Time, String)]) -> String {
        let RunBoundary { event, side } = self.boundary();
        let what = places.get(self.0 / 2).map(|(_, what)| format!(" ({what})")).unwrap_or_default();
        format!("{}, {} event {event}{what}", self.time(places), side.as_str())
    }
}
