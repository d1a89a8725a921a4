//! Watchers of a run: a recorder, oracles, or several at once.
//!
//! A watcher sees references to what the run has in hand, in the order of the transcript, so that one which keeps nothing costs
//! nothing. It is copied with its run.

use super::event::EventKind;
use reenact_engine::contract::{Agent, Effect, Input};
use reenact_engine::time::Time;

/// Sees all that a transcript would hold, as it happens.
pub trait TranscriptWatch: Clone {
    /// Something happens to the engine.
    fn input(&mut self, at: Time, agent: &Agent, input: &Input);

    /// The engine wants something; a request is an effect like any other.
    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect);

    /// The simulation has something to say: never an input or an effect.
    fn note(&mut self, at: Time, agent: &Agent, what: &EventKind);
}

/// Both see everything, the first one first.
impl<A: TranscriptWatch, B: TranscriptWatch> TranscriptWatch for (A, B) {
    fn input(&mut self, at: Time, agent: &Agent, input: &Input) {
        self.0.input(at, agent, input);
        self.1.input(at, agent, input);
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        self.0.effect(at, agent, effect);
        self.1.effect(at, agent, effect);
    }

    fn note(&mut self, at: Time, agent: &Agent, what: &EventKind) {
        self.0.note(at, agent, what);
        self.1.note(at, agent, what);
    }
}
