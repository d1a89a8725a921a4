//! Random runs of a scenario from a seed, beyond what an exploration finishes (E-4).
//!
//! ```text
//!   case 17 ── strategy, draws ──> at each state one decision ──> to its end, all oracles on
//! ```
//!
//! Each case is a walk: at each state the strategy takes the next arrival or another decision. A case depends on the seed, its number and its strategy, and on
//! nothing else; a guided one also on the cases that its [`FuzzIsland`] kept before it.

mod behaviour;
mod island;
mod walk;

pub(super) use behaviour::BehaviourWatch;
pub use behaviour::FuzzBehaviour;
pub use island::{FuzzIsland, KeptCase};

use alloc::collections::BTreeMap;

use walk::CasePlan;

use super::PanicGuard;
use super::explorer::{ExploreChoice, ExploreStep, ExploredPath, ExploredRun, PathDecision, StepOutcome, faults_of, new_run};
use super::fingerprint::Fingerprint;
use super::interrupt::content;
use super::verdict::{accepted_end, announced_end, judge_counting, panicked};
use reenact_engine::contract::{Agent, Engine, RequestId};
use reenact_engine::random::{KeyedDraws, Seed};
use reenact_oracle::{QuestionCounts, Violation};
use reenact_scenario::plan::Plan;
use reenact_scenario::single_fault::{SingleFault, SingleFaultKind};
use reenact_sim::rules;
use reenact_transcript::event::RunEnd;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

words! {
    /// How a case chooses its decisions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FuzzStrategy {
        /// At each state, each arrival that may come first is as likely as any other; an input and a fault at any place, or none.
        Uniform = "uniform",
        /// From one to three places, drawn before, at which something else happens than usual: as probabilistic concurrency testing has it.
        Pct = "pct",
        /// As uniform, but an arrival is as likely as its source has arrivals waiting.
        Weighted = "weighted",
        /// Each case permits some kinds of decisions and faults, and makes several of them.
        Swarm = "swarm",
        /// In half of the cases a case that showed something new is changed in one place: as guided fuzzing has it. The others are as those of `pct`.
        Guided = "guided",
    }
}

/// The facts about the run as it is that cases are drawn from.
#[derive(Clone, Debug)]
pub struct FuzzGround {
    /// How many arrivals it has.
    arrivals: u64,
    /// Its requests, in order, each with its faults.
    requests: Vec<Vec<Arc<SingleFault>>>,
    /// Its end, where it counts as good.
    usual_end: Option<RunEnd>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzCase {
    /// Its number.
    pub number: u64,
    /// The faults, which wait for their requests from the beginning.
    pub faults: Vec<SingleFault>,
    /// Its other decisions.
    pub path: ExploredPath,
    /// The violations; none in a case that is in order.
    pub violations: Vec<Violation>,
    /// Each behaviour that it showed, with the number of the step that did so first.
    pub behaviours: BTreeMap<FuzzBehaviour, u64>,
    /// How often each oracle was asked.
    pub asked: QuestionCounts,
}

impl FuzzGround {
    /// Makes the run as it is.
    pub fn new<E: Engine>(setup: &Arc<RunSetup>, engine: &E, guard: &impl PanicGuard) -> Self {
        let mut ground = Self { arrivals: 0, requests: Vec::new(), usual_end: None };
        let mut run = new_run(setup, engine, false);
        let next = ExploreChoice { step: ExploreStep::Next, fault: None };
        let words = content();
        let mut is_over = false;
        while !is_over {
            run.watcher_mut().begin_decision();
            match guard.run(|| next.make(&mut run, &words)) {
                Ok(StepOutcome::Over(end)) => (is_over, ground.usual_end) = (true, announced_end(setup, end)),
                Ok(StepOutcome::Running) => (),
                _ => break,
            }
            ground.arrivals += 1;
            let of = |(agent, id): &(Agent, RequestId)| faults_of(&setup.scenario.explore, agent, *id, run.count_answer_events(agent, *id));
            ground.requests.extend(run.watcher().requests.iter().map(of));
        }
        ground
    }

    /// Makes a case.
    pub fn case<E: Engine>(
        &self,
        setup: &Arc<RunSetup>,
        engine: &E,
        (strategy, seed, number): (FuzzStrategy, u64, u64),
        kept: &[KeptCase],
        guard: &impl PanicGuard,
    ) -> FuzzCase {
        let mut draws = Seed(seed).draws(strategy.as_str(), &number.to_string());
        let is_guided = strategy == FuzzStrategy::Guided && !kept.is_empty() && draws.below(2) == 0;
        let base = if is_guided { kept.get(index(&mut draws, kept.len())) } else { None };
        let (plan, faults) = CasePlan::new(strategy, self, base, &mut draws);
        let path = ExploredPath::default();
        let mut case =
            FuzzCase { number, faults, path, violations: Vec::new(), behaviours: BTreeMap::new(), asked: QuestionCounts::default() };
        let setup = case.setup(setup);
        let mut run = new_run(&setup, engine, false);
        run.watcher_mut().behaviours = Some(BehaviourWatch::default());
        self.walk(&mut case, &setup, run, (plan, draws), guard);
        case
    }

    /// Makes the run of a case to its end, or to a violation.
    fn walk<E: Engine>(
        &self,
        case: &mut FuzzCase,
        setup: &Arc<RunSetup>,
        mut run: ExploredRun<E>,
        (mut plan, mut draws): (CasePlan, KeyedDraws),
        guard: &impl PanicGuard,
    ) {
        let words = content();
        let is_shown = |violation: &Violation| rules::shows(&setup.scenario.expect, violation.oracle);
        loop {
            let choice = ExploreChoice { step: plan.step(&run, case.path.choices.len() as u64, &mut draws), fault: None };
            let (at, known) = (run.now(), run.watcher().oracles.violations().len());
            run.watcher_mut().begin_decision();
            let before = (choice.step != ExploreStep::Next).then(|| run.clone());
            let made = guard.run(|| choice.make(&mut run, &words));
            match made {
                // Nothing arrives any more: the walk ends as the run does.
                Ok(StepOutcome::Impossible) => {
                    plan.left = 0;
                    run = before.unwrap_or(run);
                }
                Ok(StepOutcome::Running) => {
                    case.path.choices.push(choice);
                    case.violations =
                        run.watcher().oracles.violations()[known..].iter().filter(|found| !is_shown(found)).cloned().collect();
                    if !case.violations.is_empty() {
                        case.asked = run.watcher().oracles.question_counts();
                        return;
                    }
                }
                Ok(StepOutcome::Over(end)) => {
                    case.path.choices.push(choice);
                    let mut finished = run.finished(end);
                    case.behaviours = finished.watcher.behaviours.take().map(BehaviourWatch::finish).unwrap_or_default();
                    let accepted = accepted_end(self.usual_end.as_ref(), &finished.end, finished.has_endless_fault);
                    (case.violations, case.asked) =
                        judge_counting(setup, finished.watcher.oracles, known, (&finished.end, finished.at), accepted);
                    case.violations.retain(|found| !is_shown(found));
                    return;
                }
                Err(panic) => {
                    case.path.choices.push(choice);
                    case.violations = vec![panicked(at, &panic)];
                    return;
                }
            }
        }
    }
}

impl FuzzCase {
    /// The rule that was broken first.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.violations.iter().min_by_key(|violation| violation.at).map(Fingerprint::from)
    }

    /// How many decisions it has beside the next arrival.
    pub fn decisions(&self) -> usize {
        self.faults.len() + self.path.choices.iter().filter(|choice| choice.step != ExploreStep::Next).count()
    }

    /// The scenario with its faults.
    fn setup(&self, setup: &Arc<RunSetup>) -> Arc<RunSetup> {
        if self.faults.is_empty() {
            return setup.clone();
        }
        let mut scenario = setup.scenario.clone();
        scenario.plan.single_faults.extend(self.faults.iter().cloned());
        Arc::new(setup.with_scenario(scenario))
    }

    /// The plan that makes its run again, and its decisions in order.
    pub fn plan<E: Engine>(&self, setup: &Arc<RunSetup>, engine: &E, guard: &impl PanicGuard) -> (Plan, Vec<PathDecision>) {
        let faults = self.faults.iter().map(|fault| PathDecision::Fault(Arc::new(fault.clone())));
        let (plan, decisions) = self.path.plan(&self.setup(setup), engine, guard);
        (plan, faults.chain(decisions).collect())
    }
}

impl FuzzGround {
    /// So many faults of these kinds, each of another request.
    fn faults(&self, count: u64, kinds: &[SingleFaultKind], draws: &mut KeyedDraws) -> Vec<SingleFault> {
        let mut chosen: Vec<(usize, SingleFault)> = Vec::new();
        for _ in 0..count {
            let request = index(draws, self.requests.len());
            let permitted: Vec<_> = self.requests.get(request).into_iter().flatten().filter(|fault| kinds.contains(&fault.kind)).collect();
            if !permitted.is_empty() && chosen.iter().all(|(other, _)| *other != request) {
                chosen.push((request, SingleFault::clone(permitted[index(draws, permitted.len())])));
            }
        }
        chosen.sort_by_key(|(request, _)| *request);
        chosen.into_iter().map(|(_, fault)| fault).collect()
    }
}

/// A place among so many; 0 of an empty list.
fn index(draws: &mut KeyedDraws, count: usize) -> usize {
    usize::try_from(draws.below(count.max(1) as u64)).unwrap_or(0)
}
