//! E-1: each kind of interrupt at every boundary of a scenario's run, each on a copy of the run at that point; all oracles on each.
//!
//! Complete, not sampled. A rule of which the scenario says that it is broken (`[expect] breaks`) is a remark, not a finding. What the scenario
//! expects of its uninterrupted run is not asked for; what must hold in every run is, and that it ends as a run should: with a terminal for every
//! prompt, or as the uninterrupted run does.

use alloc::collections::BTreeMap;

use super::interrupt::{BoundaryPlace, BoundarySide, RunBoundary, SweepKind, content, describe, inject};
use super::verdict::{judge, panicked};
use super::{PanicGuard, audit, ignored_interrupts};
use reenact_engine::contract::{Block, Engine, Input};
use reenact_oracle::Oracles;
use reenact_sim::{FinishedRun, Run, rules};
use reenact_transcript::event::RunEnd;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

pub use super::finding::SweepFinding;

/// The findings of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// How many places there are: before and after every event.
    pub boundaries: usize,
    /// How many runs were made, that without an interrupt and repeated ones included.
    pub runs: usize,
    /// The findings, in the order of the boundaries; empty when all is well.
    pub findings: Vec<SweepFinding>,
    /// The kinds of interrupt of which the engine takes no notice anywhere: one finding stands for all that follow from it.
    pub ignored: Vec<SweepKind>,
    /// How many interrupts were not made, because so many runs before them had reached a limit that all others would have, too.
    pub left_out: usize,
    /// In how many runs a rule was broken of which the scenario says so.
    pub shown: usize,
    /// How the run ended without an interrupt; `None` when it panicked.
    pub usual_end: Option<RunEnd>,
}

/// So many runs with one kind of interrupt reach a limit that the run as it is does not reach, before no more of that kind are made. Each takes
/// as long as a thousand requests, and all say the same.
pub const AT_LIMIT_MAX: usize = 3;

/// Sweeps over one scenario. `engine` is the engine under test in its first state.
pub fn sweep<E: Engine>(setup: &Arc<RunSetup>, engine: &E, kinds: &[SweepKind], guard: &impl PanicGuard) -> SweepReport {
    let expect = &setup.scenario.expect;
    let mut sweep = InterruptSweep { kinds, guard, content: content(), setup, at_limit: BTreeMap::new(), report: SweepReport::default() };
    let mut run = Run::watched(setup.clone(), engine.clone(), rules::oracles(setup));
    run.expect_injections();
    sweep.report.usual_end = sweep.check(&run, expect.terminal.as_deref(), None, Run::finish);
    if sweep.report.usual_end.is_some() {
        sweep.walk(run);
        let SweepReport { findings, boundaries, runs, ignored, left_out, .. } = &mut sweep.report;
        (*ignored, *findings) = ignored_interrupts::fold(setup, engine, kinds, core::mem::take(findings), guard);
        // Runs that reach a limit are too long to be made twice once more.
        if *left_out == 0 {
            let (audited, differences) = audit::audit(setup, engine, kinds, *boundaries, guard);
            *runs += audited;
            findings.extend(differences);
        }
    }
    sweep.report
}

struct InterruptSweep<'a, G> {
    kinds: &'a [SweepKind],
    guard: &'a G,
    content: Arc<[Block]>,
    setup: &'a RunSetup,
    /// How many runs with each kind of interrupt reached a limit.
    at_limit: BTreeMap<SweepKind, usize>,
    report: SweepReport,
}

impl<G: PanicGuard> InterruptSweep<'_, G> {
    /// From one end of the run to the other, with copies sent off from every boundary.
    fn walk<E: Engine>(&mut self, mut run: Run<E, Oracles>) {
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

    fn interrupt<E: Engine>(&mut self, run: &Run<E, Oracles>, boundary: RunBoundary, input: &Input) {
        // An interrupted run may end as the uninterrupted one does.
        let usual_end = self.report.usual_end.clone();
        let content = self.content.clone();
        for kind in self.kinds {
            if self.at_limit.get(kind).is_some_and(|count| *count >= AT_LIMIT_MAX) {
                self.report.left_out += 1;
                continue;
            }
            let place = || (BoundaryPlace { boundary, at: run.now(), event: describe(input) }, *kind);
            let end = self.check(run, usual_end.as_ref().map(RunEnd::as_str), Some(&place), |mut copy| {
                inject(&mut copy, *kind, &content);
                copy.finish()
            });
            if matches!(end, Some(RunEnd::LimitReached { .. })) && end != usual_end {
                *self.at_limit.entry(*kind).or_default() += 1;
            }
        }
    }

    /// Sends off a copy and notes what is wrong with it. `accepted` is an end that counts as good. Returns how it ended.
    fn check<E: Engine>(
        &mut self,
        run: &Run<E, Oracles>,
        accepted: Option<&str>,
        place: Option<&dyn Fn() -> (BoundaryPlace, SweepKind)>,
        work: impl FnOnce(Run<E, Oracles>) -> FinishedRun<E, Oracles>,
    ) -> Option<RunEnd> {
        self.report.runs += 1;
        // What was wrong before the interrupt is a finding of the run as it is.
        let known = run.watcher().violations().len();
        let (end, mut violations) = match self.guard.run(|| work(run.clone())) {
            Ok(FinishedRun { end, at, watcher, .. }) => (Some(end.clone()), judge(self.setup, watcher, known, (&end, at), accepted)),
            Err(panic) => (None, vec![panicked(run.now(), &panic)]),
        };
        let all = violations.len();
        violations.retain(|violation| !rules::shows(&self.setup.scenario.expect, violation.oracle));
        self.report.shown += usize::from(violations.len() < all);
        if !violations.is_empty() {
            self.report.findings.push(SweepFinding { interrupt: place.map(|place| place()), violations });
        }
        end
    }
}
