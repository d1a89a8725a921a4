//! The reference implementation of the contract: our own agent loop as one value.

use super::contract::{Agent, Effects, Engine, Input};
use super::session::Session;
use super::settings::Environment;
use super::time::Time;

/// A complete agent: session, query loop, streaming tool executor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentLoop {
    session: Session,
}

impl Engine for AgentLoop {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        // There are no child agents yet, so an input for one is for nobody.
        if *effects.agent() == Agent::ROOT {
            self.session.step(env, now, input, effects);
        }
    }
}
