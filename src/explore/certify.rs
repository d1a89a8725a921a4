//! The checker of certificates (E-3c): it searches nothing. It makes each run of the tree again, carries out every decision in each state, and looks
//! whether what follows is among the states of the certificate.
//!
//! Which decisions there are it finds by itself, from the words of the claim: a decision that the exploration never tried leads to a state that the certificate
//! lacks.

mod decisions;

use alloc::collections::BTreeMap;

use super::PanicGuard;
use super::budget::ExploreBudget;
use super::certificate::{Certificate, digest};
use super::explorer::{ExploreChoice, ExploredPath, ExploredRun, StepOutcome, new_run, state_key};
use super::interrupt::content;
use super::verdict::{accepted_end, announced_end, judge_counting};
use decisions::{ClaimedFaults, remaining, steps};
use reenact_engine::contract::{Block, Engine, KeySink};
use reenact_engine::key::StateKey;
use reenact_oracle::{QuestionCounts, Violation};
use reenact_sim::rules;
use reenact_transcript::event::RunEnd;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// Which states are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertifyPart {
    /// All.
    All,
    /// The part `number` of so many parts, from 1. All parts together are all states.
    Shard {
        /// Which part.
        number: u32,
        /// Of how many.
        of: u32,
    },
    /// So many of a million, chosen by a seed.
    Sample {
        /// How many.
        per_million: u32,
        /// By which they are chosen.
        seed: u64,
    },
}

/// The size of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CertifyReport {
    /// How many states there are.
    pub states: usize,
    /// How many of them were checked.
    pub checked: usize,
    /// How many decisions were carried out.
    pub transitions: u64,
}

/// Why a certificate does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertifyRefusal {
    /// In words.
    pub reason: String,
    /// The decisions that lead there, if it is about a state.
    pub path: Option<ExploredPath>,
}

/// Checks a certificate. `goes_on` is asked now and then with how many states were checked.
///
/// # Errors
/// The first thing that does not hold, and `None` when it was stopped.
pub fn certify<E: Engine>(
    certificate: &Certificate,
    setup: &Arc<RunSetup>,
    engine: &E,
    guard: &impl PanicGuard,
    (part, goes_on): (CertifyPart, &mut dyn FnMut(usize) -> bool),
) -> Result<CertifyReport, Option<CertifyRefusal>> {
    let refused = |reason: String| Some(CertifyRefusal { reason, path: None });
    let budget = certificate.budget().map_err(refused)?;
    let faults = ClaimedFaults::read(&certificate.claim.faults).map_err(refused)?;
    let tree = StateTree::new(certificate, part);
    let first = new_run(setup, engine, true);
    let usual_end = guard.run(|| first.clone().finish().end).ok().and_then(|end| announced_end(setup, end));
    let mut checker = CertificateChecker {
        setup,
        guard,
        faults,
        tree: &tree,
        certificate,
        usual_end,
        words: content(),
        choices: vec![None; certificate.states.len()],
        next: vec![None; certificate.states.len()],
        sink: KeySink::default(),
        report: CertifyReport { states: certificate.states.len(), ..CertifyReport::default() },
        asked: QuestionCounts::default(),
    };
    // All other states are found by their keys.
    if state_key(&first, budget, &mut checker.sink) != certificate.states.first().map(|state| state.key) {
        let reason = "state 0 has another key than the certificate says: it is of another budget, or of another engine";
        return Err(Some(CertifyRefusal { reason: reason.into(), path: Some(ExploredPath::default()) }));
    }
    let mut open = vec![OpenState { place: 0, run: first.into(), left: budget }];
    while let Some(state) = open.pop() {
        if checker.report.checked.is_multiple_of(256) && !goes_on(checker.report.checked) {
            return Err(None);
        }
        let place = state.place;
        let next = checker.check(state).map_err(|reason| Some(CertifyRefusal { reason, path: Some(checker.path(place)) }))?;
        open.extend(next);
    }
    if part == CertifyPart::All {
        checker.compare_counts().map_err(refused)?;
        if let Some(place) = checker.endless_state() {
            let reason = format!("a rule is broken: state {place} comes back for ever (O-18)");
            return Err(Some(CertifyRefusal { reason, path: Some(checker.path(place)) }));
        }
    }
    Ok(checker.report)
}

/// A state whose run is at hand.
struct OpenState<E> {
    place: usize,
    run: Box<ExploredRun<E>>,
    left: ExploreBudget,
}

/// The states of a certificate as a tree.
struct StateTree {
    by_key: BTreeMap<StateKey, usize>,
    /// The children of each state: the number of the decision, and the place.
    children: Vec<Vec<(u32, usize)>>,
    /// Which states are checked.
    is_checked: Vec<bool>,
    /// Which are on the way to such a state.
    is_needed: Vec<bool>,
}

impl StateTree {
    /// Of a certificate that was read, whose states are a tree.
    fn new(certificate: &Certificate, part: CertifyPart) -> Self {
        let states = &certificate.states;
        let is_checked: Vec<bool> = (0..states.len()).map(|place| part.has(place, states.len())).collect();
        let mut tree = Self {
            by_key: states.iter().enumerate().map(|(place, state)| (state.key, place)).collect(),
            children: vec![Vec::new(); states.len()],
            is_needed: is_checked.clone(),
            is_checked,
        };
        for (place, state) in states.iter().enumerate().rev() {
            let Some((parent, event)) = state.parent else { continue };
            // It is smaller than a place.
            let parent = usize::try_from(parent).unwrap_or(0);
            tree.children[parent].push((event, place));
            tree.is_needed[parent] |= tree.is_needed[place];
        }
        tree.children.iter_mut().for_each(|children| children.sort_unstable());
        tree
    }
}

impl CertifyPart {
    /// Whether it has none of so many states.
    pub fn is_empty(self, states: usize) -> bool {
        !(0..states).any(|place| self.has(place, states))
    }

    fn has(self, place: usize, states: usize) -> bool {
        match self {
            Self::All => true,
            // States that are near each other have most of their way in common.
            Self::Shard { number, of } => place as u64 * u64::from(of) / (states as u64).max(1) == u64::from(number.saturating_sub(1)),
            Self::Sample { per_million, seed } => {
                let mut sink = KeySink::default();
                core::hash::Hash::hash(&(seed, place as u64), &mut sink);
                core::hash::Hasher::finish(&sink) % 1_000_000 < u64::from(per_million)
            }
        }
    }
}

struct CertificateChecker<'a, G> {
    setup: &'a RunSetup,
    guard: &'a G,
    faults: ClaimedFaults,
    tree: &'a StateTree,
    certificate: &'a Certificate,
    usual_end: Option<RunEnd>,
    words: Arc<[Block]>,
    /// The last decision on the way to each state.
    choices: Vec<Option<ExploreChoice>>,
    /// The state behind each by its next arrival.
    next: Vec<Option<usize>>,
    sink: KeySink,
    report: CertifyReport,
    /// How often each oracle was asked.
    asked: QuestionCounts,
}

/// The outcome of a decision.
struct DecisionOutcome<E> {
    hash: u64,
    /// Where it leads, if the run goes on.
    to: Option<(usize, Box<ExploredRun<E>>, ExploreBudget)>,
    /// The faults that the requests of the decision may have.
    faults: Vec<ExploreChoice>,
}

impl<G: PanicGuard> CertificateChecker<'_, G> {
    /// Checks a state, and returns those that follow it in the tree.
    fn check<E: Engine>(&mut self, state: OpenState<E>) -> Result<Vec<OpenState<E>>, String> {
        let OpenState { place, run, left } = state;
        let certified = self.certificate.states[place];
        let mut transitions = Vec::new();
        let mut next = Vec::new();
        let mut children = self.tree.children[place].iter().peekable();
        let mut take = |checker: &mut Self, run, choice: ExploreChoice| -> Result<Vec<ExploreChoice>, String> {
            let Some(outcome) = checker.carry_out(run, left, &choice)? else { return Ok(Vec::new()) };
            let event = transitions.len();
            let to = outcome.to.as_ref().map(|(to, ..)| *to);
            if event == 0 {
                checker.next[place] = to;
            }
            transitions.push((outcome.hash, to.map(|to| to as u64)));
            if let Some((_, child)) = children.next_if(|(number, _)| *number as usize == event) {
                let Some((to, run, left)) = outcome.to.filter(|(to, ..)| to == child) else {
                    return Err(format!("decision {event} of state {place} does not lead to state {child}"));
                };
                if checker.tree.is_needed[to] {
                    checker.choices[to] = Some(choice);
                    next.push(OpenState { place: to, run, left });
                }
            }
            Ok(outcome.faults)
        };
        let steps = steps(&run, left);
        if let ([only], 0) = (&steps[..], left.faults) {
            // Most states have no budget left: no copy is needed.
            take(self, run, ExploreChoice { step: *only, fault: None })?;
        } else {
            for step in steps {
                for with_fault in take(self, run.clone(), ExploreChoice { step, fault: None })? {
                    take(self, run.clone(), with_fault)?;
                }
            }
        }
        if let Some((event, child)) = children.next() {
            return Err(format!("state {place} has no decision {event}, which is to lead to state {child}"));
        }
        if self.tree.is_checked[place] {
            if digest(transitions.iter().copied()) != certified.digest {
                return Err(format!("the decisions of state {place} have other effects, or lead elsewhere, than the certificate says"));
            }
            self.report.checked += 1;
            self.report.transitions += transitions.len() as u64;
        }
        Ok(next)
    }

    /// The decisions that lead to a state.
    fn path(&self, mut place: usize) -> ExploredPath {
        let mut choices = Vec::new();
        while let (Some((parent, _)), Some(choice)) = (self.certificate.states[place].parent, &self.choices[place]) {
            choices.push(choice.clone());
            place = usize::try_from(parent).unwrap_or(0);
        }
        choices.reverse();
        ExploredPath { choices }
    }

    /// Carries out a decision; `None` when it cannot be made here.
    fn carry_out<E: Engine>(
        &mut self,
        mut run: Box<ExploredRun<E>>,
        left: ExploreBudget,
        choice: &ExploreChoice,
    ) -> Result<Option<DecisionOutcome<E>>, String> {
        let at = run.now();
        let oracles = &run.watcher().oracles;
        let (known, asked_before) = (oracles.violations().len(), oracles.question_counts());
        run.watcher_mut().begin_decision();
        let made = self.guard.run(|| choice.make(&mut run, &self.words)).map_err(|panic| format!("a decision ends in a panic: {panic}"))?;
        if matches!(made, StepOutcome::Impossible) {
            return Ok(None);
        }
        let left = remaining(left, choice);
        let watch = run.watcher();
        let hash = watch.hash_decision(at, choice, &mut self.sink);
        let faults = if left.faults > 0 && choice.fault.is_none() {
            let of = |(agent, id): &_| self.faults.at_request(agent, *id, run.count_answer_events(agent, *id));
            let faults = watch.requests.iter().flat_map(of);
            faults.map(|fault| ExploreChoice { step: choice.step, fault: Some(fault) }).collect()
        } else {
            Vec::new()
        };
        self.hold(&watch.oracles.violations()[known..])?;
        let to = if let StepOutcome::Over(end) = made {
            let finished = run.finished(end);
            let accepted = accepted_end(self.usual_end.as_ref(), &finished.end, finished.has_endless_fault);
            let end = (&finished.end, finished.at);
            let (violations, asked) = judge_counting(self.setup, finished.watcher.oracles, known, end, accepted);
            self.asked.add_between(&asked_before, &asked);
            self.hold(&violations)?;
            None
        } else {
            self.asked.add_between(&asked_before, &watch.oracles.question_counts());
            let key = state_key(&run, left, &mut self.sink).ok_or("the engine has no key")?;
            let place = self
                .tree
                .by_key
                .get(&key)
                .ok_or_else(|| format!("{} leads to a state that the certificate lacks", decisions::words(choice)))?;
            Some((*place, run, left))
        };
        Ok(Some(DecisionOutcome { hash, to, faults }))
    }

    /// A state that comes again by next arrivals alone: its run has no end (O-18).
    fn endless_state(&self) -> Option<usize> {
        // The way that was on a state last: a state that is met twice on one way is on a circle.
        let mut ways = vec![usize::MAX; self.next.len()];
        for start in 0..self.next.len() {
            let mut at = Some(start);
            while let Some(place) = at {
                match ways[place] {
                    usize::MAX => ways[place] = start,
                    way if way == start => return Some(place),
                    _ => break,
                }
                at = self.next[place];
            }
        }
        None
    }

    /// The figures of the claim, once all states are checked.
    fn compare_counts(&self) -> Result<(), String> {
        let claim = &self.certificate.claim;
        if claim.transitions != self.report.transitions {
            return Err(format!("the claim names {} transitions, and there are {}", claim.transitions, self.report.transitions));
        }
        let other = claim.asked.iter().zip(self.asked.by_oracle()).find(|((_, claimed), (_, count))| claimed != count);
        other.map_or(Ok(()), |((oracle, claimed), (_, count))| {
            Err(format!("the claim says that {oracle} was asked {claimed} times, and it was asked {count} times"))
        })
    }

    /// No rule is broken but those that the scenario shows broken.
    fn hold(&self, violations: &[Violation]) -> Result<(), String> {
        let broken = violations.iter().find(|violation| !rules::shows(&self.setup.scenario.expect, violation.oracle));
        broken.map_or(Ok(()), |violation| Err(format!("a rule is broken: {violation}")))
    }
}
