//! Questions of a tool's server to the user while the tool runs (S-11: elicitation handler).
//!
//! The tool waits for the answer, and so does its use: it counts as executing, and no time of the engine's runs against the person. Questions of
//! one run are put one at a time, in order, because an answer says no more than which run it is for.

use alloc::collections::VecDeque;

use super::PipelineScope;
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, Input, ToolRun};
use reenact_wire::prelude::*;

/// The questions of one run that are not answered; the first one is put to the user.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct ElicitationQueue(VecDeque<Arc<str>>);

impl ElicitationQueue {
    /// Asks a question, or lets it wait for those before it. Without a handler it is declined at once.
    pub(super) fn ask(&mut self, scope: &mut PipelineScope<'_>, run: ToolRun, message: &Arc<str>) {
        if !scope.env.settings.session.elicitation_handler {
            return decline(run, scope.effects);
        }
        self.0.push_back(message.clone());
        if self.0.len() == 1 {
            self.put(run, scope.effects);
        }
    }

    /// Passes an answer on, and puts the next question. An answer without an open question is late.
    pub(super) fn answer(&mut self, run: ToolRun, answer: &Option<Arc<str>>, effects: &mut AgentEffects) {
        if self.0.pop_front().is_some() {
            effects.push(Effect::AnswerElicitation { run, answer: answer.clone() });
            self.put(run, effects);
        }
    }

    /// No answer is expected any more.
    pub(super) fn withdraw(&self, run: ToolRun, effects: &mut AgentEffects) {
        if !self.0.is_empty() {
            effects.push(Effect::WithdrawElicitation { run });
        }
    }

    /// Declines what was asked, and takes the question back from the user.
    pub(super) fn decline(&self, run: ToolRun, effects: &mut AgentEffects) {
        self.withdraw(run, effects);
        self.0.iter().for_each(|_| decline(run, effects));
    }

    fn put(&self, run: ToolRun, effects: &mut AgentEffects) {
        if let Some(message) = self.0.front() {
            effects.push(Effect::Elicit { run, message: message.clone() });
        }
    }
}

/// Declines the question of a stopping tool.
pub(in crate::executor) fn decline_late(input: &Input, effects: &mut AgentEffects) {
    if let Input::ElicitationAsked { run, .. } = input {
        decline(*run, effects);
    }
}

fn decline(run: ToolRun, effects: &mut AgentEffects) {
    effects.push(Effect::AnswerElicitation { run, answer: None });
}
