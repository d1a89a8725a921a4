//! Random runs of a scenario from a seed, beyond what an exploration finishes (E-4).
//!
//! ```text
//!   case 17 ── strategy, draws ──> at each state one decision ──> to its end, all oracles on
//! ```
//!
//! Each case is a walk: at each state the strategy takes the next arrival or another decision. A case depends on the seed, its number and its strategy, and on nothing else.

use super::PanicGuard;
use super::explorer::{ExploreChoice, ExploreStep, ExploredPath, ExploredRun, PathDecision, StepOutcome, faults_of, new_run};
use super::fingerprint::Fingerprint;
use super::interrupt::content;
use super::verdict::{accepted_end, judge, panicked};
use reenact_engine::contract::{Agent, Engine, RequestId};
use reenact_engine::random::{KeyedDraws, Seed};
use reenact_oracle::Violation;
use reenact_scenario::plan::Plan;
use reenact_scenario::single_fault::{SingleFault, SingleFaultKind};
use reenact_sim::rules;
use reenact_transcript::event::RunEnd;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// A walk has at most so many decisions beside the next arrival: more make a run that nobody reads.
const DECISIONS_MAX: usize = 8;

words! {
    /// How a case chooses its decisions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FuzzStrategy {
        /// At each state, each arrival that may come first is as likely as any other; an input and a fault at any place, or none.
        Uniform = "uniform",
        /// From one to three places, drawn before, at which something else happens than usual: as probabilistic concurrency testing has it.
        Pct = "pct",
        /// Each case permits some kinds of decisions and faults, and makes several of them.
        Swarm = "swarm",
    }
}

/// The facts about the run as it is that cases are drawn from.
#[derive(Clone, Debug)]
pub struct FuzzGround {
    /// How many arrivals it has.
    arrivals: u64,
    /// Its requests, in order, each with its faults.
    requests: Vec<Vec<Arc<SingleFault>>>,
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
}

impl FuzzGround {
    /// Makes the run as it is.
    pub fn new<E: Engine>(setup: &Arc<RunSetup>, engine: &E, guard: &impl PanicGuard) -> Self {
        let mut ground = Self { arrivals: 0, requests: Vec::new(), usual_end: None };
        let mut run = new_run(setup, engine, false);
        let next = ExploreChoice { step: ExploreStep::Next, fault: None };
        let words = content();
        while ground.usual_end.is_none() {
            run.watcher_mut().begin_decision();
            match guard.run(|| next.make(&mut run, &words)) {
                Ok(StepOutcome::Over(end)) => ground.usual_end = Some(end),
                Ok(StepOutcome::Running) => (),
                _ => break,
            }
            ground.arrivals += 1;
            let of = |(agent, id): &(Agent, RequestId)| faults_of(agent, *id, run.count_answer_events(agent, *id));
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
        guard: &impl PanicGuard,
    ) -> FuzzCase {
        let mut draws = Seed(seed).draws(strategy.as_str(), &number.to_string());
        let (mut plan, faults) = CasePlan::new(strategy, self, &mut draws);
        let mut case = FuzzCase { number, faults, path: ExploredPath::default(), violations: Vec::new() };
        let setup = &case.setup(setup);
        let mut run = new_run(setup, engine, false);
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
                        return case;
                    }
                }
                Ok(StepOutcome::Over(end)) => {
                    case.path.choices.push(choice);
                    let finished = run.finished(end);
                    let accepted = accepted_end(self.usual_end.as_ref(), &finished.end, finished.has_endless_fault);
                    case.violations = judge(setup, finished.watcher.oracles, known, (&finished.end, finished.at), accepted);
                    case.violations.retain(|found| !is_shown(found));
                    return case;
                }
                Err(panic) => {
                    case.path.choices.push(choice);
                    case.violations = vec![panicked(at, &panic)];
                    return case;
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

/// The decisions of a case beside its faults, as far as they are drawn before it begins.
struct CasePlan {
    strategy: FuzzStrategy,
    /// At which arrivals something else happens; for the uniform strategy, an input.
    places: Vec<u64>,
    /// The steps that may be taken, by their kinds.
    kinds: Vec<StepKind>,
    /// How many decisions may still be made.
    left: usize,
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
    /// The same with the faults of the case.
    fn new(strategy: FuzzStrategy, ground: &FuzzGround, draws: &mut KeyedDraws) -> (Self, Vec<SingleFault>) {
        let arrivals = ground.arrivals.max(1);
        let mut kinds = StepKind::all();
        let (places, faults) = match strategy {
            FuzzStrategy::Uniform => {
                let places = if draws.below(2) == 0 { vec![draws.below(arrivals)] } else { Vec::new() };
                (places, ground.faults(draws.below(2), &SingleFaultKind::ALL, draws))
            }
            FuzzStrategy::Pct => {
                // A fault is one of the places.
                let fault = draws.below(3) / 2;
                let count = (1 + draws.below(3)).saturating_sub(fault);
                ((0..count).map(|_| draws.below(arrivals)).collect(), ground.faults(fault, &SingleFaultKind::ALL, draws))
            }
            FuzzStrategy::Swarm => {
                kinds.retain(|_| draws.below(2) == 0);
                let permitted: Vec<SingleFaultKind> = SingleFaultKind::ALL.into_iter().filter(|_| draws.below(2) == 0).collect();
                let places = (0..arrivals).filter(|_| draws.below(8) == 0).collect();
                let count = draws.below(3);
                (places, ground.faults(count, &permitted, draws))
            }
        };
        (Self { strategy, places, kinds, left: DECISIONS_MAX }, faults)
    }

    /// The step at a state, before which so many steps were taken.
    fn step<E: Engine>(&mut self, run: &ExploredRun<E>, number: u64, draws: &mut KeyedDraws) -> ExploreStep {
        if self.left == 0 {
            return ExploreStep::Next;
        }
        let is_place = self.places.contains(&number);
        let step = match self.strategy {
            FuzzStrategy::Uniform if is_place => ExploreStep::INPUTS[index(draws, ExploreStep::INPUTS.len())],
            FuzzStrategy::Uniform => {
                let deviations = run.deviations();
                // The next arrival is one of them.
                let chosen = index(draws, deviations.len() + 1);
                deviations.get(chosen).map_or(ExploreStep::Next, |deviation| ExploreStep::Deviation(*deviation))
            }
            _ if is_place && !self.kinds.is_empty() => self.drawn(run, draws),
            _ => ExploreStep::Next,
        };
        self.left -= usize::from(step != ExploreStep::Next);
        step
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
