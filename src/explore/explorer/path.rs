//! The way to a finding, as a plan that makes the same run again (E-3, E-8).

use core::fmt;

use super::super::PanicGuard;
use super::super::interrupt::{BoundarySide, InjectionKind, RunBoundary, content};
use super::super::plan::planned_interrupt;
use super::super::verdict::{judge, panicked};
use super::choice::{ExploreChoice, ExploreStep, StepOutcome};
use super::expansion::new_run;
use reenact_engine::contract::Engine;
use reenact_engine::time::Time;
use reenact_oracle::Violation;
use reenact_scenario::plan::{LateCompletion, Plan, PlannedDeviation};
use reenact_scenario::single_fault::SingleFault;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// The decisions of a run, from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExploredPath {
    /// Each arrival or input, with its fault.
    pub choices: Vec<ExploreChoice>,
}

/// A decision that differs from the run as it is, in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathDecision {
    /// An arrival comes first, instead of another one.
    Deviation(PlannedDeviation, String),
    /// A fault.
    Fault(Arc<SingleFault>),
    /// A tool that was told to stop comes to its own end.
    Completion(LateCompletion, Time),
    /// An input of the user.
    Input(RunBoundary, InjectionKind, Time),
}

/// `event 14: tool 1B ends comes at 1.203s, before head of answer 2`.
impl fmt::Display for PathDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deviation(PlannedDeviation { event, arrival, at }, next) => {
                write!(f, "event {event}: {arrival} comes at {}, before {next}", Time::ZERO + *at)
            }
            Self::Fault(fault) => write!(f, "{fault}"),
            Self::Completion(LateCompletion { event, tool }, at) => {
                write!(f, "event {event}: tool {tool}, which was told to stop, comes to its own end at {at}")
            }
            Self::Input(RunBoundary { event, side }, kind, at) => write!(f, "{kind} {} event {event} at {at}", side.as_str()),
        }
    }
}

impl ExploredPath {
    /// The plan that makes the run again, beside what the scenario plans itself, and its decisions in order.
    pub fn plan<E: Engine>(&self, setup: &Arc<RunSetup>, engine: &E, guard: &impl PanicGuard) -> (Plan, Vec<PathDecision>) {
        let mut run = new_run(setup, engine, false);
        let mut plan = setup.scenario.plan.clone();
        let words = content();
        let mut decisions = Vec::new();
        for choice in &self.choices {
            if let Some(fault) = &choice.fault {
                plan.single_faults.push(SingleFault::clone(fault));
                decisions.push(PathDecision::Fault(fault.clone()));
            }
            match choice.step {
                ExploreStep::Next => (),
                ExploreStep::Deviation(deviation) => {
                    let planned = run.planned_deviation(deviation);
                    plan.deviations.push(planned.clone());
                    decisions.push(PathDecision::Deviation(planned, run.next_arrival_name()));
                }
                ExploreStep::LateCompletion(index) => {
                    let event = u32::try_from(run.events() + 1).unwrap_or(u32::MAX);
                    let tool = run.stopping_tools().get(index).cloned().unwrap_or_default();
                    let late = LateCompletion { event, tool };
                    plan.late_completions.push(late.clone());
                    decisions.push(PathDecision::Completion(late, run.now()));
                }
                ExploreStep::Input(kind, side) => {
                    let (event, at) = match side {
                        BoundarySide::After => (run.events(), run.now()),
                        BoundarySide::Before => (run.events() + 1, run.next_arrival_time().unwrap_or(run.now())),
                    };
                    let boundary = RunBoundary { event, side };
                    plan.add_interrupt(planned_interrupt(boundary, kind));
                    decisions.push(PathDecision::Input(boundary, kind, at));
                }
            }
            // A run that panics has no more decisions.
            if !matches!(guard.run(|| choice.make(&mut run, &words)), Ok(StepOutcome::Running)) {
                break;
            }
        }
        (plan, decisions)
    }

    /// The setup of the run as a scenario of its own plans it.
    pub fn setup<E: Engine>(&self, setup: &Arc<RunSetup>, engine: &E, guard: &impl PanicGuard) -> Arc<RunSetup> {
        let (plan, _) = self.plan(setup, engine, guard);
        let mut planned = RunSetup::clone(setup);
        planned.scenario.plan = plan;
        Arc::new(planned)
    }
}

/// The violations of a run that goes as its scenario plans it, with all oracles on: what a finding is held against.
pub fn replay<E: Engine>(planned: &Arc<RunSetup>, engine: &E, accepted: Option<&str>, guard: &impl PanicGuard) -> Vec<Violation> {
    let run = new_run(planned, engine, false);
    let now = run.now();
    let known = run.watcher().oracles.violations().len();
    match guard.run(|| run.finish()) {
        Ok(finished) => judge(planned, finished.watcher.oracles, known, (&finished.end, finished.at), accepted),
        Err(panic) => vec![panicked(now, &panic)],
    }
}
