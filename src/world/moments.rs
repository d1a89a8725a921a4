//! Deeds at moments of the run: the user interrupts, another process changes a file (M-8).

use crate::setup::RunSetup;
use crate::{Arrival, ArrivalKind, ArrivalSink, World};
use reenact_engine::contract::{Agent, Input};
use reenact_engine::time::{Micros, Time};
use reenact_scenario::interrupt::InterruptMoment;
use reenact_scenario::statement::Statement;
use reenact_wire::prelude::*;

/// The arrival of what comes at the moment of this number, in the order of `Scenario::moments`.
pub(crate) fn arrival(setup: &RunSetup, index: usize) -> Arrival {
    match index.checked_sub(setup.scenario.interrupts.len()) {
        None => Arrival(ArrivalKind::Interrupt(index)),
        Some(change) => Arrival(ArrivalKind::FileChange(change)),
    }
}

impl World {
    /// The user's inputs before the engine gets this one, in order. If there are any, this input comes after them, and is shown
    /// here once more.
    pub fn before(&mut self, setup: &RunSetup, now: Time, agent: &Agent, input: &Input) -> Vec<Input> {
        let happening = self.watch.before(setup, agent, input);
        let inputs: Vec<Input> = happening.into_iter().filter_map(|index| self.happen(setup, now, index)).collect();
        if !inputs.is_empty() {
            self.watch.expect_again();
        }
        inputs
    }

    /// The user's inputs that an input and the effects carried out since cause at once, in order.
    pub fn after(&mut self, setup: &RunSetup, now: Time, agent: &Agent, input: &Input, schedule: &mut ArrivalSink) -> Vec<Input> {
        let mut happening = self.watch.after(setup, agent, input);
        happening.append(&mut self.happening);
        if happening.is_empty() {
            return Vec::new();
        }
        happening.sort_unstable();
        let mut inputs = Vec::new();
        for index in happening {
            match setup.scenario.moments().nth(index) {
                Some(InterruptMoment::When { offset, .. }) if *offset > Micros::ZERO => {
                    schedule.push((now + *offset, arrival(setup, index)))
                }
                _ => inputs.extend(self.happen(setup, now, index)),
            }
        }
        inputs
    }

    /// Lets another process change a file.
    pub(crate) fn change_file(&mut self, setup: &RunSetup, now: Time, index: usize) {
        self.passed.note(Statement::FileChange(index));
        if let (Some(files), Some(script)) = (&mut self.files, &setup.scenario.workspace) {
            files.change(now, script, index);
        }
    }

    /// Lets what is due happen: the input that it is, if it is one.
    fn happen(&mut self, setup: &RunSetup, now: Time, index: usize) -> Option<Input> {
        match arrival(setup, index).0 {
            ArrivalKind::FileChange(change) => {
                self.change_file(setup, now, change);
                None
            }
            _ => Some(self.user.interrupt(setup, index)),
        }
    }
}
