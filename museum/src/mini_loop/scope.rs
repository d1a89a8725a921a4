//! Everything that one step may read and write, in one value: so that no function of the loop has eight parameters.

use reenact::engine::contract::{Effect, Effects, Emission, Environment, Time, TimerId};

/// One step of one agent.
#[derive(Debug)]
pub struct StepScope<'a> {
    /// Settings, tools, hooks: the same in the whole run.
    pub env: &'a Environment,
    /// The virtual time.
    pub now: Time,
    /// Where effects go.
    pub effects: &'a mut Effects,
    /// How many timers the agent has set: each setting has a number of its own, so that an old ring is told from a new one.
    pub timers_set: &'a mut u32,
}

impl StepScope<'_> {
    /// Wants something done.
    pub fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Tells consumers something.
    pub fn emit(&mut self, emission: Emission) {
        self.effects.push(Effect::Emit(emission));
    }

    /// Sets a timer; its name.
    pub fn set_timer(&mut self, at: Time) -> TimerId {
        *self.timers_set += 1;
        let timer = TimerId { id: 1, generation: *self.timers_set };
        self.effects.push(Effect::SetTimer { timer, at });
        timer
    }

    /// Takes a timer back that has not rung.
    pub fn cancel_timer(&mut self, timer: Option<TimerId>) {
        if let Some(timer) = timer {
            self.effects.push(Effect::CancelTimer { timer });
        }
    }
}
