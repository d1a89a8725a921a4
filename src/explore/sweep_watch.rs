//! The watcher of the runs of a sweep: the oracles, and a counter of what is reached where one is wanted.

use super::coverage::CoverageWatch;
use reenact_engine::contract::{Agent, Effect, Input, Time};
use reenact_oracle::Oracles;
use reenact_transcript::event::EventKind;
use reenact_transcript::watch::TranscriptWatch;

/// Oracles and a counter.
#[derive(Clone, Debug)]
pub(super) struct SweepWatch {
    pub(super) oracles: Oracles,
    /// The run from whose boundaries copies are sent off has no counter: what it does is counted in the run as it is.
    pub(super) counter: Option<CoverageWatch>,
    pub(super) last_input: LastInput,
}

/// The input that the engine was given last, where somebody asks for it.
#[derive(Clone, Debug)]
pub(super) enum LastInput {
    NotKept,
    Kept(Option<Input>),
}

impl SweepWatch {
    pub(super) fn new(oracles: Oracles) -> Self {
        Self { oracles, counter: None, last_input: LastInput::NotKept }
    }
}

impl TranscriptWatch for SweepWatch {
    fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        if let LastInput::Kept(last) = &mut self.last_input {
            *last = Some(input.clone());
        }
        self.oracles.input(at, agent, input);
        if let Some(counter) = &mut self.counter {
            counter.input(at, agent, input);
        }
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        self.oracles.effect(at, agent, effect);
        if let Some(counter) = &mut self.counter {
            counter.effect(at, agent, effect);
        }
    }

    fn note(&mut self, at: Time, agent: &Agent, what: &EventKind) {
        self.oracles.note(at, agent, what);
        if let Some(counter) = &mut self.counter {
            counter.note(at, agent, what);
        }
    }
}
