//! An exploration of a client: plans within a budget, handed out one by one, and what came of them (E-3, G-2).
//!
//! ```text
//!   ()  ─run─ trace ─┬─ overloaded instead of answer 1 ─run─ trace ─── … and cancel at answer 2 head
//!                    ├─ cancel at answer 1 piece 3 + 2
//!                    └─ tool toolu_2 end, before tool toolu_1 end
//! ```
//!
//! The client runs a plan and gives back the trace. Further decisions are found in the trace and lie behind those of the plan. Runs with equal
//! transcripts and boundaries are continued once. A defect's first run is made smaller in the end. What is claimed is claimed for the plans that were tried.

mod decision;
mod order;
mod possible;
mod report;
mod smaller;

#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};

use super::exploration_lines::{ClientInput, TriedFinding, TriedLine};
use super::run_trace::RunTrace;
use decision::{ChangedOrder, ClientDecision};
use possible::possible;
use reenact_engine::time::Time;
use reenact_explore::budget::ExploreBudget;
use reenact_scenario::explore_settings::ExploreSettings;
use reenact_scenario::language::scenario_text;
use reenact_scenario::plan::Plan;
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;
use smaller::SmallerRun;

/// The subject of an exploration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExplorationTerms {
    /// Each is explored.
    pub(super) budgets: Vec<ExploreBudget>,
    /// The inputs of the user.
    pub(super) actions: Vec<ClientInput>,
    /// The prompt after an input, and after a run with a fault.
    pub(super) then: Arc<str>,
    /// The text of a message.
    pub(super) message: Arc<str>,
}

/// The defect of a client that is not the same in each run.
const OTHER_RUN: &str = "the agent leaves something from run to run";

/// An exploration.
#[derive(Clone, Debug)]
pub(super) struct ClientExploration {
    terms: ExplorationTerms,
    settings: ExploreSettings,
    /// The plan of the scenario.
    plan: Plan,
    classes: Vec<PlanClass>,
    /// The class whose plans are handed out.
    current: usize,
    /// The plans that are known, each by its decisions in words.
    known: BTreeSet<String>,
    /// The plans that were handed out.
    out: BTreeMap<u64, OpenPlan>,
    /// The runs of the current class from which others may follow.
    made: BTreeMap<u64, MadeRun>,
    /// For each transcript with its boundaries the runs that were continued: how many decisions they had, and from when on.
    continued: BTreeMap<String, Vec<(ExploreBudget, Time)>>,
    /// The digests of all runs.
    transcripts: BTreeSet<String>,
    /// How many runs were not continued, because another one is equal.
    equal_runs: u64,
    /// Whether answers came that are no streams.
    has_unstreamed: bool,
    handed_out: u64,
    findings: Vec<ClientFinding>,
    is_searching: bool,
}

/// The plans with the same number of decisions of each kind.
#[derive(Clone, Debug, Default)]
struct PlanClass {
    budget: ExploreBudget,
    waiting: Vec<PlannedRun>,
    /// How many were tried.
    tried: u64,
    /// How many of these did not come to all their decisions: their runs have fewer, and are those of other plans.
    void: u64,
    is_done: bool,
}

/// A plan that is not tried yet.
#[derive(Clone, Debug, Default)]
struct PlannedRun {
    decisions: Vec<ClientDecision>,
    /// When the last decision shows.
    from: Time,
}

/// A plan that was handed out.
#[derive(Clone, Debug)]
enum OpenPlan {
    Search(PlannedRun),
    /// To make the run of a finding smaller.
    Smaller(usize),
}

#[derive(Clone, Debug)]
struct MadeRun {
    planned: PlannedRun,
    trace: RunTrace,
    boundaries: Vec<(Arc<str>, Time)>,
}

/// A defect.
#[derive(Clone, Debug)]
struct ClientFinding {
    /// The number of the plan that showed it first.
    number: u64,
    /// The mistakes in its smallest run.
    found: TriedFinding,
    /// How many plans show it.
    ways: u64,
    smaller: SmallerRun,
}

/// A plan to try.
#[derive(Clone, Debug)]
pub(super) struct NextPlan {
    pub(super) number: u64,
    /// As a section of a scenario.
    pub(super) text: String,
    /// Its decisions, in words.
    pub(super) decisions: Vec<String>,
    /// Whether the client is asked for the boundaries of the run.
    pub(super) needs_boundaries: bool,
    /// Whether it is one of the plans of the budgets. Others make the run of a finding smaller.
    pub(super) is_search: bool,
}

impl ClientExploration {
    pub(super) fn new(terms: ExplorationTerms, scenario: &Scenario) -> Self {
        let mut classes: Vec<PlanClass> = Vec::new();
        for budget in classes_of(&terms.budgets) {
            classes.push(PlanClass { budget, ..PlanClass::default() });
        }
        if let Some(plain) = classes.first_mut() {
            plain.waiting.push(PlannedRun::default());
        }
        Self {
            terms,
            settings: scenario.explore.clone(),
            plan: scenario.plan.clone(),
            classes,
            current: 0,
            known: BTreeSet::new(),
            out: BTreeMap::new(),
            made: BTreeMap::new(),
            continued: BTreeMap::new(),
            transcripts: BTreeSet::new(),
            equal_runs: 0,
            has_unstreamed: false,
            handed_out: 0,
            findings: Vec::new(),
            is_searching: true,
        }
    }

    /// Looks for nothing further. Plans that were handed out still count.
    pub(super) fn stop(&mut self) {
        self.is_searching = false;
    }

    /// How many plans of the current class were tried, and how many are known.
    pub(super) fn progress(&self) -> (ExploreBudget, u64, u64) {
        let class = self.classes.get(self.current).or(self.classes.last());
        let waiting = |class: &PlanClass| class.tried + class.waiting.len() as u64 + self.out.len() as u64;
        class.map_or((ExploreBudget::NONE, 0, 0), |class| (class.budget, class.tried, waiting(class)))
    }

    /// Whether nothing is left to try.
    pub(super) fn is_over(&self) -> bool {
        !self.is_searching && self.out.is_empty() && self.findings.iter().all(|finding| finding.smaller.is_done())
    }

    /// At most so many plans to try. None while those that are out decide what comes next.
    pub(super) fn next(&mut self, count: usize) -> Vec<NextPlan> {
        let count = count.max(1);
        if self.is_searching {
            let plans = self.next_of_search(count);
            if !plans.is_empty() || self.is_searching {
                return plans;
            }
        }
        if self.out.values().any(|open| matches!(open, OpenPlan::Search(_))) {
            return Vec::new();
        }
        let mut plans = Vec::new();
        for index in 0..self.findings.len() {
            if plans.len() == count {
                break;
            }
            if let Some(decisions) = self.findings[index].smaller.next() {
                plans.push(self.hand_out(&decisions, OpenPlan::Smaller(index), false));
            }
        }
        plans
    }

    fn next_of_search(&mut self, count: usize) -> Vec<NextPlan> {
        while let Some(class) = self.classes.get_mut(self.current) {
            let budget = class.budget;
            let planned: Vec<PlannedRun> = class.waiting.drain(..count.min(class.waiting.len())).collect();
            if !planned.is_empty() {
                let input = ExploreBudget::new(0, 0, 1);
                let needs_boundaries = self.classes.iter().any(|class| one_more(budget, class.budget) == Some(input));
                let hand_out = |planned: PlannedRun| self.hand_out(&planned.decisions.clone(), OpenPlan::Search(planned), needs_boundaries);
                return planned.into_iter().map(hand_out).collect();
            }
            if !self.out.is_empty() {
                return Vec::new();
            }
            class.is_done = true;
            for made in core::mem::take(&mut self.made).into_values() {
                self.continue_run(budget, made);
            }
            self.current += 1;
        }
        self.is_searching = false;
        Vec::new()
    }

    fn hand_out(&mut self, decisions: &[ClientDecision], open: OpenPlan, needs_boundaries: bool) -> NextPlan {
        self.handed_out += 1;
        let is_search = matches!(open, OpenPlan::Search(_));
        self.out.insert(self.handed_out, open);
        let mut plan = self.plan.clone();
        decisions.iter().for_each(|decision| decision.write(&mut plan));
        if decisions.iter().any(|decision| matches!(decision, ClientDecision::Fault(_))) {
            plan.client_follow_up = Some(self.terms.then.clone());
        }
        // A plan that names nothing has no text of its own.
        let text = if plan == Plan::EMPTY { "[plan]\n".into() } else { scenario_text(&Scenario { plan, ..Scenario::default() }, &[]) };
        let decisions = decisions.iter().map(ToString::to_string).collect();
        NextPlan { number: self.handed_out, text, decisions, needs_boundaries, is_search }
    }

    /// A plan was tried.
    ///
    /// # Errors
    /// No such plan is out.
    pub(super) fn tried(&mut self, tried: TriedLine) -> Result<(), String> {
        let TriedLine { number, trace, boundaries, finding, .. } = tried;
        let open = self.out.remove(&number).ok_or_else(|| format!("plan {number} of the exploration is not open"))?;
        match open {
            OpenPlan::Search(planned) => self.on_found(number, planned, trace, boundaries, finding),
            OpenPlan::Smaller(index) => {
                let ClientFinding { found, smaller, .. } = &mut self.findings[index];
                // A plan is no smaller one if its run does not come to all of it.
                let shown = finding.filter(|shown| shown.group == found.group && trace.missed.is_empty());
                if smaller.on_tried(shown.is_some())
                    && let Some(shown) = shown
                {
                    *found = shown;
                }
            }
        }
        Ok(())
    }

    fn on_found(
        &mut self,
        number: u64,
        planned: PlannedRun,
        trace: RunTrace,
        boundaries: Vec<(Arc<str>, Time)>,
        finding: Option<TriedFinding>,
    ) {
        self.classes[self.current].tried += 1;
        self.transcripts.insert(trace.digest.clone());
        let is_plain = planned.decisions.is_empty();
        // What is refused in other runs is no stream either.
        self.has_unstreamed |= is_plain && trace.requests.iter().any(|request| !request.is_faulted && request.events.is_empty());
        let is_made = planned.decisions.iter().all(|decision| has_come(decision, &trace));
        if !is_plain && (!trace.missed.is_empty() || !is_made) {
            self.classes[self.current].void += 1;
            self.note_other_run(number, &planned.decisions, finding);
            return;
        }
        if let Some(found) = finding {
            self.note(number, found, &planned.decisions);
            // What follows a defect says nothing new. Without any decision all else would be left out.
            if !is_plain {
                return;
            }
        }
        self.made.insert(number, MadeRun { planned, trace, boundaries });
    }

    /// A fault or an input that lies within the run as it is must come in another run of the same client.
    fn note_other_run(&mut self, number: u64, decisions: &[ClientDecision], finding: Option<TriedFinding>) {
        let ([decision @ (ClientDecision::Fault(_) | ClientDecision::Input(_))], Some(found)) = (decisions, finding) else { return };
        let words = format!("{OTHER_RUN}: the run does not come to this, and the run as it is does: {decision}");
        let others = [&[found.words], &*found.others].concat();
        self.note(number, TriedFinding { group: OTHER_RUN.into(), words: words.into(), others, plan: found.plan }, decisions);
    }

    /// The first is the one with the smallest number, whatever comes back first.
    fn note(&mut self, number: u64, found: TriedFinding, decisions: &[ClientDecision]) {
        let known = self.findings.iter().position(|finding| finding.found.group == found.group);
        let ways = known.map_or(0, |index| self.findings[index].ways) + 1;
        let first = known.map(|index| self.findings[index].number);
        let new = ClientFinding { number, found, ways, smaller: SmallerRun::new(decisions.to_vec()) };
        match known {
            Some(index) if first < Some(number) => self.findings[index].ways = ways,
            Some(index) => self.findings[index] = new,
            None => self.findings.push(new),
        }
    }

    /// Plans the runs that may follow one.
    fn continue_run(&mut self, budget: ExploreBudget, made: MadeRun) {
        let MadeRun { planned: PlannedRun { decisions, from }, trace, boundaries } = made;
        // An equal transcript says much of the state of the client, and its steps between the events say more.
        let places: Vec<&str> = boundaries.iter().map(|(name, _)| &**name).collect();
        let equals = self.continued.entry(format!("{} {}", trace.digest, places.join(","))).or_default();
        if equals.iter().any(|(fewer, earlier)| budget.covers(*fewer) && *earlier <= from) {
            self.equal_runs += 1;
            return;
        }
        equals.push((budget, from));
        let next: Vec<(ExploreBudget, usize)> =
            (0..).zip(&self.classes).filter_map(|(index, class)| Some((one_more(budget, class.budget)?, index))).collect();
        let class_of = |cost: ExploreBudget| next.iter().find(|(known, _)| *known == cost).map(|(_, index)| *index);
        let is_wanted = |cost| class_of(cost).is_some();
        for placed in possible(&self.terms, &self.settings, (&trace, &boundaries), from, is_wanted) {
            let Some(class) = class_of(placed.decision.cost()) else { continue };
            let mut longer = decisions.clone();
            longer.push(placed.decision);
            if self.known.insert(name(&longer)) {
                self.classes[class].waiting.push(PlannedRun { decisions: longer, from: placed.at });
            }
        }
    }
}

/// The numbers of decisions within these budgets, each behind those with one less.
fn classes_of(budgets: &[ExploreBudget]) -> Vec<ExploreBudget> {
    let rising = ExploreBudget::RISING.into_iter().filter(|smaller| budgets.iter().any(|budget| budget.covers(*smaller)));
    let mut classes = Vec::new();
    for budget in rising.chain(budgets.iter().copied()) {
        let mut within: Vec<ExploreBudget> = Vec::new();
        for deviations in 0..=budget.deviations {
            for faults in 0..=budget.faults {
                within.extend((0..=budget.inputs).map(|inputs| ExploreBudget::new(deviations, faults, inputs)));
            }
        }
        within.sort_by_key(|class| class.total());
        for class in within {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
    }
    classes
}

/// The one decision that `more` has beside those of `budget`.
fn one_more(budget: ExploreBudget, more: ExploreBudget) -> Option<ExploreBudget> {
    let deviations = more.deviations.checked_sub(budget.deviations)?;
    let faults = more.faults.checked_sub(budget.faults)?;
    let inputs = more.inputs.checked_sub(budget.inputs)?;
    Some(ExploreBudget::new(deviations, faults, inputs)).filter(|cost| cost.total() == 1)
}

/// The decisions whatever their order.
fn name(decisions: &[ClientDecision]) -> String {
    let mut words: Vec<String> = decisions.iter().map(ToString::to_string).collect();
    words.sort_unstable();
    words.join("\n")
}

/// Whether a decision shows in its run. Faults and inputs that do not are among what the run missed.
fn has_come(decision: &ClientDecision, trace: &RunTrace) -> bool {
    match decision {
        ClientDecision::Order(ChangedOrder { arrival, before, .. }) => {
            trace.came(arrival).is_some_and(|came| trace.came(before).is_none_or(|other| came < other))
        }
        ClientDecision::Fault(_) | ClientDecision::Input(_) => true,
    }
}
