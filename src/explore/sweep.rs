//! E-1: each kind of interrupt at every boundary of a scenario's run, each on a copy of the run at that point; all oracles on each.
//!
//! Complete, not sampled. What the scenario expects of its uninterrupted run is not asked for; what must hold in every run is, and
//! that it ends as a run should: with a terminal for every prompt, or as the uninterrupted run does.

use super::interrupt::{Boundary, Kind, Place, Side, content, describe, inject};
use super::verdict::{judge, panicked};
use super::{Guard, audit};
use crate::engine::contract::{Block, Engine, Input};
use crate::oracle::{Oracles, Violation};
use crate::prelude::*;
use crate::sim::{Finished, Run};
use crate::transcript::event::RunEnd;
use crate::world::setup::Setup;

/// What a sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// How many places there are: before and after every event.
    pub boundaries: usize,
    /// How many runs were made, that without an interrupt and repeated ones included.
    pub runs: usize,
    /// What did not hold, in the order of the boundaries; empty when all is well.
    pub findings: Vec<Finding>,
}

/// A run in which something did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where and how it was interrupted; `None` for the run as it is.
    pub interrupt: Option<(Place, Kind)>,
    /// What did not hold.
    pub violations: Vec<Violation>,
}

/// Sweeps over one scenario. `engine` is the engine under test in its first state.
pub fn sweep<E: Engine>(setup: &Arc<Setup>, engine: &E, kinds: &[Kind], guard: &impl Guard) -> SweepReport {
    let mut sweep = Sweep { kinds, guard, content: content(), usual_end: None, report: SweepReport::default() };
    let mut run = Run::watched(
        setup.clone(),
        engine.clone(),
        Oracles::new(&setup.environment).with_refusals(setup.scenario.expect.refusals.is_some()),
    );
    run.expect_injections();
    let expected = setup.scenario.expect.terminal.as_deref();
    sweep.usual_end = sweep.check(&run, expected, None, Run::finish);
    if sweep.usual_end.is_some() {
        sweep.walk(run);
        let (runs, findings) = audit::audit(setup, engine, kinds, sweep.report.boundaries, guard);
        sweep.report.runs += runs;
        sweep.report.findings.extend(findings);
    }
    sweep.report
}

struct Sweep<'a, G> {
    kinds: &'a [Kind],
    guard: &'a G,
    content: Arc<[Block]>,
    /// How the uninterrupted run ends; an interrupted one may end so too.
    usual_end: Option<RunEnd>,
    report: SweepReport,
}

impl<G: Guard> Sweep<'_, G> {
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
                self.interrupt(&run, Boundary { event, side: Side::Before }, &input);
            }
            if run.advance().is_some() {
                return;
            }
            self.report.boundaries += 1;
            self.interrupt(&run, Boundary { event, side: Side::After }, &input);
        }
    }

    fn interrupt<E: Engine>(&mut self, run: &Run<E, Oracles>, boundary: Boundary, input: &Input) {
        let usual_end = self.usual_end.clone();
        let content = self.content.clone();
        for kind in self.kinds {
            let place = || (Place { boundary, at: run.now(), event: describe(input) }, *kind);
            self.check(run, usual_end.as_ref().map(RunEnd::as_str), Some(&place), |mut copy| {
                inject(&mut copy, *kind, &content);
                copy.finish()
            });
        }
    }

    /// Sends off a copy and notes what is wrong with it. `accepted` is an end that counts as good. Returns how it ended.
    fn check<E: Engine>(
        &mut self,
        run: &Run<E, Oracles>,
        accepted: Option<&str>,
        place: Option<&dyn Fn() -> (Place, Kind)>,
        work: impl FnOnce(Run<E, Oracles>) -> Finished<E, Oracles>,
    ) -> Option<RunEnd> {
        self.report.runs += 1;
        // What was wrong before the interrupt is a finding of the run as it is.
        let known = run.watcher().violations().len();
        let (end, violations) = match self.guard.run(|| work(run.clone())) {
            Ok(Finished { end, at, watcher, .. }) => (Some(end.clone()), judge(watcher, known, (&end, at), accepted)),
            Err(panic) => (None, vec![panicked(run.now(), &panic)]),
        };
        if !violations.is_empty() {
            self.report.findings.push(Finding { interrupt: place.map(|place| place()), violations });
        }
        end
    }
}
