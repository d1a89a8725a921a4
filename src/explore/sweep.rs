//! The interrupt sweep, E-1: each kind of interrupt at every boundary of a scenario's run, each on a copy of the run at that point; all oracles on each.
//!
//! Complete, not sampled. A rule of which the scenario says that it is broken (`[expect] breaks`) is a remark, not a finding. What the scenario
//! expects of its uninterrupted run is not asked for; what must hold in every run is, and that it ends as a run should: with a terminal for every
//! prompt, or as the uninterrupted run does.

use alloc::collections::BTreeMap;

use super::coverage::{CoverageWatch, RunCoverage};
use super::interrupt::{BoundaryPlace, BoundarySide, InjectionKind, RunBoundary, content, inject};
use super::judged_states::JudgedStates;
use super::sweep_watch::{LastInput, SweepWatch};
use super::verdict::{judge, may_end_as_usual, panicked};
use super::{PanicGuard, audit, ignored_interrupts};
use reenact_engine::contract::{Block, Engine, Input, Time};
use reenact_sim::{FinishedRun, Run, rules};
use reenact_transcript::event::RunEnd;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

pub use super::finding::SweepFinding;

/// The findings of an interrupt sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a finding fails no test by itself: assert that `findings` is empty"]
pub struct InterruptSweepReport {
    /// How many places there are: before and after every event.
    pub boundaries: usize,
    /// How many runs were made, that without an interrupt and repeated ones included.
    pub runs: usize,
    /// The findings, in the order of the boundaries; empty when all is well.
    pub findings: Vec<SweepFinding>,
    /// The kinds of interrupt of which the engine takes no notice anywhere: one finding stands for all that follow from it.
    pub ignored: Vec<InjectionKind>,
    /// How many interrupts were not made, because so many runs before them had reached a limit that all others would have, too.
    pub left_out: usize,
    /// In how many runs a rule was broken of which the scenario says so.
    pub shown: usize,
    /// How the run ended without an interrupt; `None` when it panicked.
    pub usual_end: Option<RunEnd>,
    /// How many of the runs were ended because they came to a state from which a run without a finding had gone on (E-3).
    pub merged: usize,
    /// The event at which the run without an interrupt panicked, if it did.
    pub usual_panic: Option<BoundaryPlace>,
    /// The coverage of the runs, where it was counted.
    pub coverage: RunCoverage,
}

/// So many runs with one kind of interrupt reach a limit that the run as it is does not reach, before no more of that kind are made. Each takes
/// as long as a thousand requests, and all say the same.
pub const AT_LIMIT_MAX: usize = 3;

/// Sweeps over one scenario. `engine` is the engine under test in its first state.
pub fn sweep<E: Engine>(setup: &Arc<RunSetup>, engine: &E, kinds: &[InjectionKind], guard: &impl PanicGuard) -> InterruptSweepReport {
    sweep_with(setup, engine, kinds, guard, None)
}

/// The same, counting what the runs reach: the run as it is, and each interrupted one from its interrupt on. A run that panics is not counted, nor are
/// those that are only made again.
pub fn sweep_with_coverage<E: Engine>(
    setup: &Arc<RunSetup>,
    engine: &E,
    kinds: &[InjectionKind],
    guard: &impl PanicGuard,
) -> InterruptSweepReport {
    sweep_with(setup, engine, kinds, guard, Some(CoverageWatch::new(setup)))
}

fn sweep_with<E: Engine>(
    setup: &Arc<RunSetup>,
    engine: &E,
    kinds: &[InjectionKind],
    guard: &impl PanicGuard,
    counter: Option<CoverageWatch>,
) -> InterruptSweepReport {
    let expect = &setup.scenario.expect;
    let (content, at_limit, report) = (content(), BTreeMap::new(), InterruptSweepReport::default());
    let judged = counter.is_none().then(JudgedStates::default);
    let mut sweep = InterruptSweep { kinds, guard, content, setup, counter, at_limit, faults_before_heal: None, judged, report };
    let mut run = Run::watched(setup.clone(), engine.clone(), SweepWatch::new(rules::oracles(setup)));
    run.expect_injections();
    sweep.report.usual_end = sweep.check(&run, expect.terminal.as_deref(), None, |run| Some(run.finish()));
    if sweep.report.usual_end.is_some() {
        sweep.walk(run);
        let InterruptSweepReport { findings, boundaries, runs, ignored, left_out, coverage, .. } = &mut sweep.report;
        (*ignored, *findings) = ignored_interrupts::fold(setup, engine, kinds, core::mem::take(findings), guard);
        // Runs that reach a limit are too long to be made twice once more.
        if *left_out == 0 {
            let (audited, differences) = audit::audit(setup, engine, kinds, *boundaries, guard);
            *runs += audited;
            if sweep.counter.is_some() {
                coverage.add_asked(audit::asked(audited));
            }
            findings.extend(differences);
        }
    }
    sweep.report
}

struct InterruptSweep<'a, G> {
    kinds: &'a [InjectionKind],
    guard: &'a G,
    content: Arc<[Block]>,
    setup: &'a RunSetup,
    /// A counter that has counted nothing, for each run that is counted.
    counter: Option<CoverageWatch>,
    /// How many runs with each kind of interrupt reached a limit.
    at_limit: BTreeMap<InjectionKind, usize>,
    /// How many faults had come where the world was healed last: as long as no further one comes, the same run would follow.
    faults_before_heal: Option<u32>,
    /// The states from which runs without a finding have gone on; `None` where every run is to be counted to its end.
    judged: Option<JudgedStates>,
    report: InterruptSweepReport,
}

impl<G: PanicGuard> InterruptSweep<'_, G> {
    /// From one end of the run to the other, with copies sent off from every boundary.
    fn walk<E: Engine>(&mut self, mut run: Run<E, SweepWatch>) {
        let mut event = 0;
        loop {
            // Where several inputs come at once, nothing happens between two of them: one boundary, not two.
            let is_new = run.next_input().is_none();
            if run.reach().is_some() {
                return;
            }
            let Some(input) = run.next_input().cloned() else { return };
            event += 1;
            self.report.boundaries += 1;
            if is_new {
                self.interrupt(&run, RunBoundary { event, side: BoundarySide::Before }, &input);
            }
            if run.advance().is_some() {
                return;
            }
            self.report.boundaries += 1;
            self.interrupt(&run, RunBoundary { event, side: BoundarySide::After }, &input);
        }
    }

    fn interrupt<E: Engine>(&mut self, run: &Run<E, SweepWatch>, boundary: RunBoundary, input: &Input) {
        // An interrupted run may end as the uninterrupted one does.
        let usual_end = self.report.usual_end.clone();
        let content = self.content.clone();
        for kind in self.kinds {
            if self.at_limit.get(kind).is_some_and(|count| *count >= AT_LIMIT_MAX) {
                self.report.left_out += 1;
                continue;
            }
            if *kind == InjectionKind::Heal && self.faults_before_heal.replace(run.faults()) == Some(run.faults()) {
                continue;
            }
            let place = || (BoundaryPlace::new(boundary, run.now(), input), *kind);
            let mut judged = self.judged.take();
            let known = self.report.findings.len() + self.report.shown;
            let mut is_merged = false;
            let end = self.check(run, usual_end.as_ref().map(RunEnd::as_str), Some(&place), |mut copy| {
                inject(&mut copy, *kind, &content);
                let Some(judged) = &mut judged else { return Some(copy.finish()) };
                let finished = judged.finish(copy);
                is_merged = finished.is_none();
                finished
            });
            self.report.merged += usize::from(is_merged);
            if matches!(end, Some(RunEnd::LimitReached { .. })) && (end != usual_end || *kind == InjectionKind::Heal) {
                *self.at_limit.entry(*kind).or_default() += 1;
            }
            let is_good = end == Some(RunEnd::Idle) && known == self.report.findings.len() + self.report.shown;
            if let Some(judged) = &mut judged {
                judged.settle(is_good);
            }
            self.judged = judged;
        }
    }

    /// Sends off a copy and notes what is wrong with it. `accepted` is an end that counts as good. Returns how it ended; `None` when it panicked, or
    /// when it was not needed to its end.
    fn check<E: Engine>(
        &mut self,
        run: &Run<E, SweepWatch>,
        accepted: Option<&str>,
        place: Option<&dyn Fn() -> (BoundaryPlace, InjectionKind)>,
        work: impl FnOnce(Run<E, SweepWatch>) -> Option<FinishedRun<E, SweepWatch>>,
    ) -> Option<RunEnd> {
        self.report.runs += 1;
        let kind = place.map(|place| place().1);
        // What was wrong before the interrupt is a finding of the run as it is.
        let known = run.watcher().oracles.violations().len();
        let before =
            run.watcher().oracles.violations().iter().find(|known| !rules::shows(&self.setup.scenario.expect, known.oracle)).cloned();
        let asked_before = place.map(|_| run.watcher().oracles.question_counts());
        let copy = || {
            let mut copy = run.clone();
            copy.watcher_mut().counter.clone_from(&self.counter);
            copy
        };
        let (end, mut violations) = match self.guard.run(|| work(copy())) {
            Ok(None) => return None,
            Ok(Some(FinishedRun { end, at, watcher: SweepWatch { oracles, counter, .. }, faults, .. })) => {
                if let Some(counter) = counter {
                    self.report.coverage.add(&counter.into_coverage());
                    self.report.coverage.add_asked(oracles.asked_since(asked_before.as_ref()));
                }
                let accepted = accepted.filter(|_| may_end_as_usual(kind, &end, faults));
                (Some(end.clone()), judge(self.setup, oracles, known, (&end, at), accepted))
            }
            Err(panic) => {
                let (at, event) = self.panic_place(run, kind);
                if place.is_none() {
                    self.report.usual_panic = event;
                }
                (None, vec![panicked(at, &panic)])
            }
        };
        let all = violations.len();
        violations.retain(|violation| !rules::shows(&self.setup.scenario.expect, violation.oracle));
        self.report.shown += usize::from(violations.len() < all);
        if !violations.is_empty() {
            self.report.findings.push(SweepFinding { interrupt: place.map(|place| place()), before, violations, runs: 1 });
        }
        end
    }

    /// Where a copy panics. What it was is lost with it, so another one goes there.
    fn panic_place<E: Engine>(&self, run: &Run<E, SweepWatch>, kind: Option<InjectionKind>) -> (Time, Option<BoundaryPlace>) {
        let mut copy = run.clone();
        copy.watcher_mut().last_input = LastInput::Kept(None);
        if let Some(kind) = kind {
            inject(&mut copy, kind, &self.content);
        }
        while let Ok(None) = self.guard.run(|| copy.advance()) {}
        let boundary = RunBoundary { event: copy.events(), side: BoundarySide::Before };
        let place = match &copy.watcher().last_input {
            LastInput::Kept(Some(input)) => Some(BoundaryPlace::new(boundary, copy.now(), input)),
            _ => None,
        };
        (copy.now(), place)
    }
}
