//! Emissions of a `verbose` session (S-11): each hook as it starts and ends, and the effect of each level of
//! compaction did or why it did nothing. All of it follows from what goes in and out of the session, so nothing in there knows of it.

use crate::engine::agent_effects::AgentEffects;
use crate::engine::contract::{Effect, HookRun, Input};
use crate::engine::emission::{Emission, Note};
use crate::engine::settings::Environment;
use crate::prelude::*;

/// The hooks that consumers believe to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct VerboseHooks {
    running: Vec<HookRun>,
}

impl VerboseHooks {
    /// Before a step: a hook that runs may have answered.
    pub(super) fn hear(&mut self, env: &Environment, input: &Input, effects: &mut AgentEffects) {
        if let Input::HookEnded { hook, .. } = input {
            let ended = self.ended(env, *hook, true);
            ended.into_iter().for_each(|emission| effects.push(Effect::Emit(emission)));
        }
    }

    /// After a step: what follows from each effect since `before` stands right behind it.
    pub(super) fn emit_reports(&mut self, env: &Environment, before: usize, effects: &mut AgentEffects) {
        if !env.settings.session.verbose {
            return;
        }
        for (agent, effect) in effects.split_off(before) {
            let more = match &effect {
                Effect::RunHook { hook, .. } => {
                    self.running.push(*hook);
                    Some(Emission::HookStarted { hook: *hook, name: name(env, *hook) })
                }
                Effect::StopHook { hook } => self.ended(env, *hook, false),
                Effect::Note(Note::Compaction { level, ran, why, before, after }) => {
                    Some(Emission::CompactionReport { level: *level, ran: *ran, why: why.clone(), before: *before, after: *after })
                }
                _ => None,
            };
            effects.for_agent(agent, |effects| {
                effects.push(effect);
                more.into_iter().for_each(|emission| effects.push(Effect::Emit(emission)));
            });
        }
    }

    /// A hook runs no more; `None` for one that did not, or that is told of already.
    fn ended(&mut self, env: &Environment, hook: HookRun, answered: bool) -> Option<Emission> {
        let at = self.running.iter().position(|running| *running == hook)?;
        self.running.remove(at);
        Some(Emission::HookEnded { hook, name: name(env, hook), answered })
    }
}

fn name(env: &Environment, hook: HookRun) -> Arc<str> {
    env.hooks.get(hook.hook as usize).map_or_else(|| "".into(), |hook| hook.name.clone())
}
