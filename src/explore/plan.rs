//! A run with all its choices, as a scenario that makes the same run under every seed (F-11).

use super::PanicGuard;
use super::interrupt::{InjectionKind, RunBoundary, TEXT};
use reenact_engine::contract::{Block, Engine};
use reenact_engine::time::Micros;
use reenact_scenario::plan::{PlannedInterrupt, PlannedInterruptKind};
use reenact_scenario::types::{Expectations, Scenario};
use reenact_sim::{Run, rules};
use reenact_transcript::event::{EventKind, RunEnd, Transcript};
use reenact_wire::prelude::*;
use reenact_wire::validate::is_defect;
use reenact_world::setup::RunSetup;

/// The scenario with the plan of its run, interrupted at a boundary or as it is. A run that ends in a panic has the choices up to it.
pub fn planned<E: Engine>(
    setup: &RunSetup,
    engine: &E,
    interrupt: Option<(RunBoundary, InjectionKind)>,
    guard: &impl PanicGuard,
) -> Scenario {
    let mut setup = setup.clone();
    if let Some((boundary, kind)) = interrupt {
        setup.scenario.plan.add_interrupt(planned_interrupt(boundary, kind));
    }
    let setup = Arc::new(setup);
    let mut run = Run::new(setup.clone(), engine.clone()).noting_choices();
    let end = loop {
        match guard.run(|| run.advance()) {
            Ok(None) => (),
            Ok(Some(end)) => break Some(end),
            Err(_) => break None,
        }
    };
    let mut scenario = setup.scenario.clone();
    if interrupt.is_some() {
        let transcript = run.watcher().clone().into_transcript(&None, scenario.seed);
        scenario.expect = interrupted_expectations(&setup, end.as_ref(), &transcript);
    }
    if let Some(plan) = run.plan() {
        scenario.plan = plan;
    }
    scenario
}

/// The interrupt that [`inject`](super::interrupt::inject) makes, as a plan has it.
pub fn planned_interrupt(boundary: RunBoundary, kind: InjectionKind) -> PlannedInterrupt {
    let kind = match kind {
        InjectionKind::Cancel => PlannedInterruptKind::Cancel,
        InjectionKind::Interrupt => PlannedInterruptKind::Interrupt(vec![Block::text(TEXT)]),
        InjectionKind::Heal => PlannedInterruptKind::Heal,
    };
    PlannedInterrupt { boundary, kind }
}

/// The expectations of an interrupted run. Those of the uninterrupted run do not count. Three facts are expected: the end of this run, the
/// refusals that the scenario is about, and the rules that it shows broken.
fn interrupted_expectations(setup: &RunSetup, end: Option<&RunEnd>, transcript: &Transcript) -> Expectations {
    let expect = &setup.scenario.expect;
    let is_refusal = |what: &EventKind| matches!(what, EventKind::Refused { rule, overruled: false, .. } if is_defect(rule));
    let refusals = transcript.events.iter().filter(|event| is_refusal(&event.what)).count() as u64;
    // A limit is a good end of no run (O-18).
    let accepted = |end: &&RunEnd| !matches!(end, RunEnd::Idle | RunEnd::LimitReached { .. });
    let terminal = end.filter(accepted).map(|end| end.as_str().into());
    let broken = rules::violations_in(setup, transcript, terminal.as_deref(), Micros::ZERO);
    let is_broken = |rule: &&String| broken.iter().any(|violation| violation.oracle == rule.as_str());
    let breaks = expect.breaks.iter().filter(is_broken).cloned().collect();
    Expectations { breaks, refusals: expect.refusals.map(|_| refusals), terminal, ..Expectations::default() }
}
