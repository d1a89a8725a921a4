//! O-26, of time: each hook is waited for as long as its own definition says, whatever other hooks have (T-23, Q-16, C-4). Then it is stopped.
//!
//! That a hook is not left open for ever is O-27's.

use super::tool_starts::HOOKS;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, HookRun, Input, Time};
use reenact_engine::key::Deadline;
use reenact_wire::prelude::*;

/// The hooks of one agent that have not answered, each with the end of its time.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct HookTimeOracle {
    open: Vec<(HookRun, Deadline)>,
}

impl HookTimeOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, input: &Input, found: &mut OracleFindings<'_>) {
        if let Input::HookEnded { hook, .. } = input {
            self.end(rules, *hook, found);
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::RunHook { hook, .. } => {
                if let Some(definition) = rules.hooks.get(hook.hook as usize) {
                    self.open.push((*hook, Deadline(found.at + definition.timeout)));
                }
            }
            Effect::StopHook { hook } => self.end(rules, *hook, found),
            _ => (),
        }
    }

    /// It has answered, or is stopped.
    fn end(&mut self, rules: &OracleRules, hook: HookRun, found: &mut OracleFindings<'_>) {
        let Some(at) = self.open.iter().position(|(open, _)| *open == hook) else { return };
        let Time(until) = *self.open.swap_remove(at).1 + rules.lateness;
        found.ask(HOOKS);
        if found.at.0 > until {
            found.add(HOOKS, format!("hook {} was waited for {} us longer than its time", hook.hook, found.at.0 - until));
        }
    }
}
