//! The virtual clock and the run loop: pop what is due, step the engine, carry out its effects, until nothing is left (M-1).
//!
//! A [`Run`] is a value: copying it at any point gives a run that goes on from there. Time jumps from event to event, so six hours
//! of waiting cost what six milliseconds cost.

pub mod agenda;
pub mod report;

use agenda::Agenda;
use report::Report;

use crate::engine::contract::{Agent, Effect, Effects, Engine, Input};
use crate::engine::log::Log;
use crate::engine::time::Time;
use crate::prelude::*;
use crate::transcript::event::{RunEnd, What};
use crate::transcript::record::Recorder;
use crate::world::setup::Setup;
use crate::world::{Schedule, World, WorldNote};

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct Run<E> {
    setup: Arc<Setup>,
    engine: E,
    world: World,
    agenda: Agenda,
    /// Inputs that are due now, in order, with the last one first.
    due: Vec<Input>,
    now: Time,
    events: u64,
    requests: u64,
    recorder: Recorder,
    /// The log at the boundary, if one is wanted.
    log: Option<Log>,
    scratch: Scratch,
}

/// Memory that each step uses and none keeps.
#[derive(Clone, Debug, Default)]
struct Scratch {
    effects: Effects,
    schedule: Schedule,
}

impl<E: Engine> Run<E> {
    /// A run that has not begun. `engine` is the engine under test in its first state.
    pub fn new(setup: Arc<Setup>, engine: E) -> Self {
        let mut run = Self {
            recorder: Recorder::default(),
            log: None,
            engine,
            world: World::default(),
            agenda: Agenda::default(),
            due: Vec::new(),
            now: Time::ZERO,
            events: 0,
            requests: 0,
            scratch: Scratch::default(),
            setup,
        };
        let mut schedule = core::mem::take(&mut run.scratch.schedule);
        run.world.start(&run.setup, &mut schedule);
        run.put_on_agenda(schedule);
        run
    }

    /// The same, writing the log at the boundary as it goes.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        self.log = Some(Log::new(&self.setup.environment));
        self
    }

    /// Runs to the end.
    pub fn to_end(mut self) -> Report<E> {
        let end = loop {
            if let Some(end) = self.advance() {
                break end;
            }
        };
        self.finish(end)
    }

    /// Gives the engine the next input; `Some` when the run is over.
    pub fn advance(&mut self) -> Option<RunEnd> {
        let limits = self.setup.scenario.limits;
        while self.due.is_empty() {
            let Some((at, arrival)) = self.agenda.pop() else {
                return Some(if self.world.is_done(&self.setup) { RunEnd::Idle } else { RunEnd::Stalled });
            };
            if at > Time::ZERO + limits.time {
                return Some(RunEnd::LimitReached { limit: "virtual time".into() });
            }
            self.now = self.now.max(at);
            let mut schedule = core::mem::take(&mut self.scratch.schedule);
            self.world.arrive(&self.setup, self.now, arrival, &mut self.due, &mut schedule);
            self.put_on_agenda(schedule);
            self.due.reverse();
        }
        let mut input = self.due.pop()?;
        let first = self.world.before(&self.setup, &Agent::ROOT, &input);
        if !first.is_empty() {
            self.due.push(input);
            self.due.extend(first.into_iter().rev());
            input = self.due.pop()?;
        }
        self.events += 1;
        if self.events > limits.events {
            return Some(RunEnd::LimitReached { limit: "events".into() });
        }
        self.step(&input)
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.now
    }

    fn step(&mut self, input: &Input) -> Option<RunEnd> {
        let mut effects = core::mem::take(&mut self.scratch.effects);
        effects.reset(Agent::ROOT);
        self.recorder.input(self.now, effects.agent(), input);
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
        self.due.extend(next.into_iter().rev());
        self.scratch.effects = effects;
        end
    }

    fn carry_out(&mut self, agent: &Agent, effect: &Effect) -> Option<RunEnd> {
        self.recorder.effect(self.now, agent, effect);
        if matches!(effect, Effect::Request { .. }) {
            self.requests += 1;
            if self.requests > self.setup.scenario.limits.requests {
                return Some(RunEnd::LimitReached { limit: "requests".into() });
            }
        }
        let mut schedule = core::mem::take(&mut self.scratch.schedule);
        let note = self.world.carry_out(&self.setup, self.now, agent, effect, &mut schedule);
        self.put_on_agenda(schedule);
        match note? {
            WorldNote::Served { id, answer, provenance, differences } => {
                self.recorder.note(self.now, agent, What::Served { id, answer, provenance: provenance.into() });
                for difference in differences {
                    self.recorder.note(self.now, agent, What::Difference { id, difference: (&difference).into() });
                }
                None
            }
            WorldNote::Exhausted { id } => Some(RunEnd::TapeExhausted { id }),
        }
    }

    fn put_on_agenda(&mut self, mut schedule: Schedule) {
        for (at, arrival) in schedule.drain(..) {
            self.agenda.push(at, arrival);
        }
        self.scratch.schedule = schedule;
    }

    fn finish(mut self, end: RunEnd) -> Report<E> {
        for answer in self.world.unused_answers(&self.setup).into_iter().chain(self.world.missed_interrupts(&self.setup)) {
            self.recorder.note(self.now, &Agent::ROOT, What::Unused { answer });
        }
        self.recorder.note(self.now, &Agent::ROOT, What::Ended { end: end.clone() });
        let transcript = self.recorder.into_transcript(&self.setup.scenario.title, self.setup.scenario.seed);
        Report::new(&self.setup, self.engine, transcript, end, &self.world).with_log(self.log)
    }
}

#[cfg(test)]
mod tests;
