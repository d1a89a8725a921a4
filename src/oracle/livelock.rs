//! O-19: a run gets on. An engine that sets a timer for an instant that has come gets it at once; one that does so without end stands still, and no other rule
//! can see it, because the virtual time stands still as well.

use super::OracleFindings;
use reenact_engine::contract::Input;
use reenact_engine::key::Deadline;
use reenact_engine::time::Time;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-19";

/// So many timers may ring in a row at one instant of virtual time.
#[doc(hidden)]
pub const TIMERS_MAX: u32 = 1_000;

/// The timers that rang in a row at one instant.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Hash, Default)]
pub struct TimersInARow {
    at: Deadline,
    count: u32,
}

impl TimersInARow {
    /// Counts an input; whether there are too many by now.
    pub fn are_too_many(&mut self, at: Time, input: &Input) -> bool {
        match input {
            Input::Timer(_) if at == *self.at => self.count += 1,
            Input::Timer(_) => *self = Self { at: Deadline(at), count: 1 },
            _ => self.count = 0,
        }
        self.count > TIMERS_MAX
    }

    pub(super) fn on_input(&mut self, at: Time, input: &Input, found: &mut OracleFindings<'_>) {
        if matches!(input, Input::Timer(_)) {
            found.ask(ORACLE);
        }
        // Once is enough.
        if self.are_too_many(at, input) && self.count == TIMERS_MAX + 1 {
            found.add(ORACLE, format!("more than {TIMERS_MAX} timers rang in a row at one instant: nothing gets on"));
        }
    }
}
