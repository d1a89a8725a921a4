//! The virtual clock and the run loop: pop what is due, step the engine, carry out its effects, until nothing is left (M-1).
//!
//! A [`Run`] is a value: copying it at any point gives a run that continues from there. Time jumps from event to event, so six hours
//! of waiting cost what six milliseconds cost. A [`TranscriptWatch`] gets all events: usually a recorder.
//!
//! Its rules are in `docs/rules/simulation.md` (M) and `docs/rules/determinism.md` (D).

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod agenda;
#[doc(hidden)]
pub mod expect;
pub mod in_flight;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod notes;
pub mod outside_tools;
pub mod report;
pub mod rules;
pub mod statements;

mod exploring;
mod finished_run;
mod injected_prompts;

pub use finished_run::FinishedRun;

use core::hash::Hash;

use agenda::Agenda;
use in_flight::InFlightRequests;
use injected_prompts::InjectedPrompts;
use outside_tools::OutsideTools;
use report::RunReport;
use rules::JudgedBy;

use reenact_engine::contract::{Agent, Effect, Effects, Engine, Input, KeySink};
use reenact_engine::log::BoundaryLog;
use reenact_engine::time::{Micros, Time};
use reenact_oracle::livelock::TimersInARow;
use reenact_scenario::boundary::{BoundarySide, RunBoundary};
use reenact_scenario::plan::{Plan, PlannedInterruptKind};
use reenact_scenario::types::RunLimits;
use reenact_transcript::event::{EventKind, RunEnd, Transcript};
use reenact_transcript::record::TranscriptRecorder;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;
use reenact_world::{Arrival, ArrivalSink, RefusedRequest, World};

/// One run of a scenario. A copy shares what both have in common (the scenario, the transcript so far) and costs about a microsecond.
#[derive(Clone, Debug)]
pub struct Run<E, W = TranscriptRecorder> {
    setup: Arc<RunSetup>,
    engine: E,
    world: World,
    agenda: Agenda,
    /// Inputs that are due now, in order, with the last one first.
    due: Vec<(Agent, Input)>,
    now: Time,
    events: u64,
    requests: u64,
    finished_prompts: u32,
    timers: TimersInARow,
    /// Whether the scenario names times of the clock: then the time itself is a part of keys.
    names_clock_times: bool,
    limits: RunLimits,
    /// The prompts that exist only because of an injection.
    injected: InjectedPrompts,
    judged_by: JudgedBy,
    /// Where requests go when the world does not answer them.
    outside: Option<InFlightRequests>,
    /// The part of the outside in tools, if it has any.
    outside_tools: Option<OutsideTools>,
    watcher: W,
    /// How many of the plan's interrupts were made.
    planned: usize,
    /// How many of the plan's deviations were made.
    planned_deviations: usize,
    /// How many of the plan's late completions were made.
    planned_completions: usize,
    /// How many inputs were injected in all.
    injections: usize,
    /// The log at the boundary, if one is wanted.
    log: Option<BoundaryLog>,
    scratch: StepMemory,
}

/// Memory that each step uses and none keeps.
#[derive(Clone, Debug, Default)]
struct StepMemory {
    effects: Effects,
    schedule: ArrivalSink,
}

impl<E: Engine> Run<E> {
    /// A run that has not begun. `engine` is the engine under test in its first state.
    pub fn new(setup: Arc<RunSetup>, engine: E) -> Self {
        Self::watched(setup, engine, TranscriptRecorder::default())
    }

    /// The same, writing the log at the boundary as it goes.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        self.log = Some(BoundaryLog::new(&self.setup.environment, rules::shown_by(&self.setup.scenario.expect)));
        self
    }

    /// The same, judged by what its scenario expects alone: the rules that hold in every run are not asked.
    #[must_use]
    pub fn without_oracles(mut self) -> Self {
        self.judged_by = JudgedBy::Scenario;
        self
    }

    /// Runs to the end.
    pub fn to_end(mut self) -> RunReport<E> {
        let end = self.run_out();
        self.into_report(end)
    }

    /// Runs to the end for the transcript alone: nothing is judged.
    pub fn to_transcript(self) -> Transcript {
        let setup = self.setup.clone();
        self.finish().watcher.into_transcript(&setup.scenario.title, setup.scenario.shown_seed())
    }
}

impl<E: Engine, W: TranscriptWatch> Run<E, W> {
    /// A run that has not begun, with a watcher of its events.
    pub fn watched(setup: Arc<RunSetup>, engine: E, watcher: W) -> Self {
        let mut run = Self {
            watcher,
            planned: 0,
            planned_deviations: 0,
            planned_completions: 0,
            injections: 0,
            log: None,
            engine,
            world: World::default(),
            agenda: Agenda::default(),
            due: Vec::new(),
            now: Time::ZERO,
            events: 0,
            requests: 0,
            finished_prompts: 0,
            timers: TimersInARow::default(),
            names_clock_times: setup.names_clock_times(),
            limits: setup.scenario.limits,
            injected: InjectedPrompts::default(),
            outside: None,
            outside_tools: None,
            judged_by: JudgedBy::ScenarioAndOracles,
            scratch: StepMemory::default(),
            setup,
        };
        if run.setup.scenario.plan != Plan::EMPTY {
            // What of the plan was not chosen is told at the end.
            run.world.note_choices();
        }
        let mut schedule = core::mem::take(&mut run.scratch.schedule);
        run.world.start(&run.setup, &mut schedule);
        run.put_on_agenda(schedule);
        run
    }

    /// The same, noting each choice that is made (F-11). Choices from before are not known.
    #[must_use]
    pub fn noting_choices(mut self) -> Self {
        self.world.note_choices();
        self
    }

    /// The plan of the run so far, if choices are noted: with it, the run is the same under every seed.
    pub fn plan(&self) -> Option<Plan> {
        let scenario = &self.setup.scenario;
        let mut plan = self.choices()?;
        // What was planned for later is still planned.
        plan.complete_with(&scenario.plan);
        Some(scenario.plan.with_choices_of(plan, scenario.shown_seed()))
    }

    /// Runs to the end without making a transcript of it.
    pub fn finish(mut self) -> FinishedRun<E, W> {
        let end = self.run_out();
        self.finished(end)
    }

    /// The same for a run that has come to this end already.
    #[doc(hidden)]
    pub fn finished(mut self, end: RunEnd) -> FinishedRun<E, W> {
        self.tell_end(&end);
        let (faults, has_endless_fault) = (self.world.faults_with_withheld(), self.world.has_endless_fault());
        FinishedRun { end, at: self.now, engine: self.engine, watcher: self.watcher, faults, has_endless_fault }
    }

    /// Gives the engine the next input; `Some` when the run is over.
    pub fn advance(&mut self) -> Option<RunEnd> {
        if let Some(end) = self.reach() {
            return Some(end);
        }
        self.interrupt_as_planned(RunBoundary { event: self.events + 1, side: BoundarySide::Before });
        let (mut agent, mut input) = self.due.pop()?;
        let first = self.world.before(&self.setup, self.now, &agent, &input);
        self.note_files();
        if !first.is_empty() {
            self.due.push((agent, input));
            self.due.extend(first.into_iter().rev().map(|input| (Agent::ROOT, input)));
            (agent, input) = self.due.pop()?;
        }
        self.events += 1;
        if self.events > self.limits.events {
            return Some(RunEnd::LimitReached { limit: limits::EVENTS.into() });
        }
        let end = self.step(agent, &input);
        let is_stuck = self.timers.are_too_many(self.now, &input);
        end.or_else(|| is_stuck.then(|| RunEnd::LimitReached { limit: limits::LIVELOCK.into() }))
    }

    /// Lets time pass until an input is due, without giving it to the engine; `Some` when the run is over.
    pub fn reach(&mut self) -> Option<RunEnd> {
        // Before time passes: a sweep lets time pass to look at the next input, and its run is to be the same.
        self.interrupt_as_planned(RunBoundary { event: self.events, side: BoundarySide::After });
        if !self.setup.scenario.plan.late_completions.is_empty() {
            self.complete_as_planned();
        }
        while self.due.is_empty() {
            if !self.setup.scenario.plan.deviations.is_empty() {
                self.deviate_as_planned();
            }
            let Some((at, arrival)) = self.agenda.pop() else {
                let is_done = self.world.is_done(&self.setup) && self.injected.is_done();
                return Some(if is_done { RunEnd::Idle } else { RunEnd::Stalled });
            };
            if let Some(end) = self.let_happen(at, arrival) {
                return Some(end);
            }
        }
        None
    }

    /// Lets an arrival happen; what it brings is due then, and may be nothing.
    fn let_happen(&mut self, at: Time, arrival: Arrival) -> Option<RunEnd> {
        if !self.world.awaits(at, &arrival) {
            return None;
        }
        if at > Time::ZERO + self.limits.time {
            return Some(RunEnd::LimitReached { limit: limits::TIME.into() });
        }
        self.now = self.now.max(at);
        let mut schedule = core::mem::take(&mut self.scratch.schedule);
        self.world.arrive(&self.setup, self.now, arrival, &mut self.due, &mut schedule);
        self.put_on_agenda(schedule);
        self.note_files();
        self.due.reverse();
        None
    }

    /// Puts an input before all that is due: the engine gets it next, at the present instant (E-1).
    ///
    /// A message that interrupts may become a prompt of its own; [`Self::next_prompt`] is a number that no other prompt has. The
    /// scenario has no answer for such a prompt, so each of its requests is answered at once with the same short text.
    pub fn inject(&mut self, input: Input) {
        self.injections += 1;
        self.injected.add(&self.setup, &input);
        self.world.on_injected();
        self.due.push((Agent::ROOT, input));
    }

    /// From here on, no fault of the scenario comes, and no answer fails: a request gets the next answer that is whole, or the default answer (O-18).
    /// Answers on their way stay as they are. The limits are counted from here.
    pub fn heal(&mut self) {
        self.injections += 1;
        self.world.heal();
        let RunLimits { time, events, requests } = self.setup.scenario.limits;
        let time = Micros(self.now.since(Time::ZERO).0.saturating_add(time.0));
        self.limits = RunLimits { time, events: self.events.saturating_add(events), requests: self.requests.saturating_add(requests) };
        self.watcher.note(self.now, &Agent::ROOT, &EventKind::Healed);
    }

    /// How many faults have come so far.
    pub fn faults(&self) -> u32 {
        self.world.faults()
    }

    /// Gets ready for injections, so that copies of this run share the work.
    pub fn expect_injections(&mut self) {
        self.injected.prepare(&self.setup);
    }

    /// The number for a prompt that is injected: after all of the scenario's.
    pub fn next_prompt(&self) -> u32 {
        self.injected.next_prompt(&self.setup)
    }

    /// The input that the engine gets next, where it is due.
    pub fn next_input(&self) -> Option<&Input> {
        self.due.last().map(|(_, input)| input)
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many inputs the engine was given.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many prompts of the user are over.
    #[doc(hidden)]
    pub fn finished_prompts(&self) -> u32 {
        self.finished_prompts
    }

    /// The watcher.
    pub fn watcher(&self) -> &W {
        &self.watcher
    }

    /// Takes in all that can change what this run does from here on, other than by a figure (E-3). `false` where that is not known: the engine has no
    /// key, or requests are answered outside.
    pub fn key(&self, out: &mut KeySink) -> bool {
        // Where the scenario names times of the clock, the time itself counts.
        self.names_clock_times.then_some(self.now.0).hash(out);
        // Where its plan names events by their numbers, so does the number.
        self.setup.scenario.plan.has_injections().then_some(self.events).hash(out);
        (&self.world, &self.due, &self.injected, self.planned, self.planned_deviations, self.planned_completions, self.timers).hash(out);
        // What was cancelled comes to nothing.
        for (_, at, _, arrival) in self.pending() {
            at.hash(out);
            self.world.hash_arrival(arrival, out);
        }
        self.outside.is_none() && self.outside_tools.is_none() && self.engine.key(self.now, out)
    }

    /// The watcher, to change what it looks at from here on.
    #[doc(hidden)]
    pub fn watcher_mut(&mut self) -> &mut W {
        &mut self.watcher
    }

    /// The choices that were made so far, if they are noted.
    fn choices(&self) -> Option<Plan> {
        let mut plan = self.world.noted_choices()?.clone();
        self.injected.note_choices(&mut plan);
        Some(plan)
    }

    /// Makes the plan's interrupts at this boundary (F-11), just as a sweep does.
    fn interrupt_as_planned(&mut self, boundary: RunBoundary) {
        while let Some(planned) = self.setup.scenario.plan.interrupts.get(self.planned)
            && planned.boundary == boundary
        {
            let prompt = self.next_prompt();
            self.planned += 1;
            match &planned.kind {
                PlannedInterruptKind::Cancel => self.inject(Input::Cancel),
                PlannedInterruptKind::Interrupt(said) => {
                    let content = said.clone().into();
                    self.inject(Input::Interrupt { prompt, content });
                }
                PlannedInterruptKind::Heal => self.heal(),
            }
        }
    }

    /// Whether all injections of the plan have come.
    pub fn has_come_as_planned(&self) -> bool {
        self.missed_injections().is_empty()
    }

    /// The choices of the plan that did not come about.
    fn not_as_planned(&self) -> Vec<Arc<str>> {
        let choices = self.choices().map(|made| self.setup.scenario.plan.not_chosen_in(&made)).unwrap_or_default();
        self.missed_injections().into_iter().chain(choices).map(Arc::from).collect()
    }

    fn missed_injections(&self) -> Vec<String> {
        let plan = &self.setup.scenario.plan;
        let interrupts =
            plan.interrupts.iter().skip(self.planned).map(|left| format!("the plan's interrupt at event {}", left.boundary.event));
        let deviations = plan.deviations.iter().skip(self.planned_deviations);
        let deviations = deviations.map(|left| format!("the plan's deviation at event {}, {}", left.event, left.arrival));
        let late = plan.late_completions.iter().skip(self.planned_completions);
        let late = late.map(|left| format!("the plan's late completion at event {}, of tool {}", left.event, left.tool));
        let faults = self.world.missed_faults().into_iter().map(|fault| format!("the plan's fault, {fault}"));
        interrupts.chain(plan.missed_by_simulation()).chain(deviations).chain(late).chain(faults).collect()
    }

    /// E-8: a plan that names what does not come fails. This is asked of runs that went to their own end without any other interrupt, and whose
    /// requests the world answered.
    fn plan_failures(&self, end: &RunEnd) -> Vec<String> {
        if *end != RunEnd::Idle || self.outside.is_some() || self.injections != self.planned {
            return Vec::new();
        }
        self.not_as_planned().iter().map(|name| statements::plan_failure(name)).collect()
    }

    fn run_out(&mut self) -> RunEnd {
        loop {
            if let Some(end) = self.advance() {
                return end;
            }
        }
    }

    /// The names of the unused answers. Who answers outside knows which are left.
    fn unused_answers(&self) -> Vec<Arc<str>> {
        if self.outside.is_some() { Vec::new() } else { self.world.unused_answers(&self.setup) }
    }

    fn tell_end(&mut self, end: &RunEnd) {
        let unused = self.unused_answers().into_iter().chain(self.world.missed_interrupts(&self.setup));
        for answer in unused.chain(self.not_as_planned()).collect::<Vec<_>>() {
            self.watcher.note(self.now, &Agent::ROOT, &EventKind::Unused { answer });
        }
        self.watcher.note(self.now, &Agent::ROOT, &EventKind::Ended { end: end.clone() });
    }

    fn step(&mut self, agent: Agent, input: &Input) -> Option<RunEnd> {
        let mut effects = core::mem::take(&mut self.scratch.effects);
        effects.reset(agent);
        self.watcher.input(self.now, effects.agent(), input);
        self.engine.step(&self.setup.environment, self.now, input, &mut effects);
        if let Some(log) = &mut self.log {
            log.step(self.now, effects.agent(), input, &effects);
        }
        let mut end = None;
        for (agent, effect) in effects.drain() {
            end = end.or(self.carry_out(&agent, &effect));
            if end.is_some() {
                break;
            }
        }
        let mut schedule = core::mem::take(&mut self.scratch.schedule);
        let next = self.world.after(&self.setup, self.now, effects.agent(), input, &mut schedule);
        self.put_on_agenda(schedule);
        self.note_files();
        self.due.extend(next.into_iter().rev().map(|input| (Agent::ROOT, input)));
        self.scratch.effects = effects;
        end
    }

    fn carry_out(&mut self, agent: &Agent, effect: &Effect) -> Option<RunEnd> {
        self.watcher.effect(self.now, agent, effect);
        if matches!(effect, Effect::Request { .. }) {
            self.requests += 1;
            if self.requests > self.limits.requests {
                return Some(RunEnd::LimitReached { limit: limits::REQUESTS.into() });
            }
        }
        self.finished_prompts += u32::from(agent.is_root() && matches!(effect, Effect::Finished { .. }));
        if agent.is_root() && self.injected.carry_out(effect, &mut self.due) {
            return None;
        }
        if self.outside.as_mut().is_some_and(|outside| outside.carry_out(agent, effect)) || self.carry_out_tool(agent, effect) {
            self.world.see(&self.setup, agent, effect);
            return None;
        }
        let mut schedule = core::mem::take(&mut self.scratch.schedule);
        let note = self.world.carry_out(&self.setup, self.now, agent, effect, &mut schedule);
        self.put_on_agenda(schedule);
        if let Some(text) = self.world.take_misuse() {
            self.watcher.note(self.now, agent, &EventKind::Misuse { text });
        }
        if let Some((id, refused)) = self.world.take_refused() {
            let RefusedRequest { rule, text, overruled } = refused;
            self.watcher.note(self.now, agent, &EventKind::Refused { id, rule: rule.into(), text, overruled });
        }
        notes::note_world(agent, note?, |what| self.watcher.note(self.now, agent, &what))
    }

    /// Tells of changed files.
    fn note_files(&mut self) {
        for change in self.world.take_file_changes() {
            let (agent, event) = notes::file_event(&change);
            self.watcher.note(self.now, &agent, &event);
        }
    }

    fn put_on_agenda(&mut self, mut schedule: ArrivalSink) {
        for (at, arrival) in schedule.drain(..) {
            let slack = self.world.slack(&self.setup, self.now, at, &arrival);
            self.agenda.push(self.now, at, arrival, slack);
        }
        self.scratch.schedule = schedule;
    }
}

#[cfg(test)]
mod tests;
