//! The reference implementation of the contract: our own agent loop as one value.
//!
//! The root is a session. Tools that agents carry out are carried out here (B-8): the sink says which effects concern the tree, and what the agents
//! give goes back to the root as if a driver had brought it.

use core::hash::Hash;

use super::agent_effects::{AgentEffects, TreeEvent, TreeLoad};
use super::agents::{Agents, ParentNotice, StopCause};
use super::contract::{Agent, Effect, Effects, Engine, Input, KeySink, ToolRun};
use super::executor::GRACE_TIMER;
use super::session::Session;
use super::settings::Environment;
use super::time::Time;
use reenact_wire::block::ToolUse;
use reenact_wire::prelude::*;

/// A complete agent: session, query loop, streaming tool executor, and the agents that it makes.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct AgentLoop {
    session: Session,
    agents: Agents,
}

impl Engine for AgentLoop {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        let agent = effects.agent().clone();
        AgentEffects::with(effects, |effects| self.step_agent(env, now, &agent, input, effects));
    }

    fn key(&self, _: Time, out: &mut KeySink) -> bool {
        self.hash(out);
        true
    }
}

impl AgentLoop {
    /// A step of the root or of one of its agents.
    fn step_agent(&mut self, env: &Environment, now: Time, agent: &Agent, input: &Input, effects: &mut AgentEffects) {
        if agent.is_root() {
            // The grace of a tool and that of the agents who carry it out end at the same instant: theirs first, for it waits for them.
            if *input == Input::Timer(GRACE_TIMER) && self.agents.is_any_grace_over(now) {
                effects.push(Effect::SetTimer { timer: GRACE_TIMER, at: now });
                return;
            }
            self.step_root(env, now, input, effects);
        } else {
            self.step_child(env, now, agent, input, effects);
        }
        let cause = if agent.is_root() { StopCause::from_input(input) } else { StopCause::Unneeded };
        self.settle(env, now, cause, effects);
    }

    fn step_root(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) {
        self.in_root(effects, |session, effects| session.step(env, now, input, effects));
        self.agents.learn(self.session.permissions());
    }

    fn step_child(&mut self, env: &Environment, now: Time, agent: &Agent, input: &Input, effects: &mut AgentEffects) {
        let elsewhere = self.load_beside(env, agent);
        effects.beside(elsewhere, |effects| self.agents.step(now, agent, input, effects));
        if let Some(permissions) = self.agents.permissions(agent).filter(|learnt| *learnt != self.session.permissions()) {
            self.session.learn(permissions);
            self.agents.learn(self.session.permissions());
        }
    }

    /// Carries out what concerns agents, until nothing more follows from it. `cause` is why tools are told to stop in this step, if any are.
    fn settle(&mut self, env: &Environment, now: Time, mut cause: StopCause, effects: &mut AgentEffects) {
        loop {
            while let Some(event) = effects.next_tree_event() {
                for ParentNotice(input) in self.on_tree_event(env, now, (event, cause), effects) {
                    if StopCause::from_input(&input) == StopCause::Cancelled {
                        cause = StopCause::Cancelled;
                    }
                    self.step_root(env, now, &input, effects);
                }
            }
            if self.agents.is_empty() || !self.use_room(env, now, effects) {
                break;
            }
        }
    }

    /// Carries out one of them; the inputs that follow from it for the root.
    fn on_tree_event(
        &mut self,
        env: &Environment,
        now: Time,
        (event, cause): (TreeEvent, StopCause),
        effects: &mut AgentEffects,
    ) -> Vec<ParentNotice> {
        match event {
            TreeEvent::Message => {
                self.check_budget(env, now, effects);
                Vec::new()
            }
            TreeEvent::AgentStart { run, tool_use } => self.start_agents(env, now, (run, &tool_use), effects).into_iter().collect(),
            TreeEvent::ToolStop { run } => {
                self.check_budget(env, now, effects); // a tool that is stopped because the money is spent gets a result for that
                self.agents.stop(now, (run, cause), effects);
                Vec::new()
            }
            TreeEvent::ChildToolUse { agent, tool } => self.agents.on_tool_use(&agent, &tool).into_iter().collect(),
            TreeEvent::ChildResult { agent, result } => {
                self.agents.on_result(&agent, &result);
                self.session.charge(&result);
                Vec::new()
            }
            TreeEvent::ChildFinish { agent, terminal } => {
                let everywhere = self.everywhere(env);
                effects.beside(everywhere, |effects| self.agents.on_finish(now, (&agent, &terminal), effects))
            }
        }
    }

    /// Starts the agents that carry out a tool use of the root.
    fn start_agents(
        &mut self,
        env: &Environment,
        now: Time,
        (run, tool_use): (ToolRun, &ToolUse),
        effects: &mut AgentEffects,
    ) -> Option<ParentNotice> {
        let tool = (env.agent_tool(&tool_use.name)?, self.session.permissions());
        let everywhere = self.everywhere(env);
        effects.beside(everywhere, |effects| self.agents.start(env, now, (run, tool_use), tool, effects))
    }

    /// Lets the root's session act, beside the running tools of its agents.
    fn in_root(&mut self, effects: &mut AgentEffects, body: impl FnOnce(&mut Session, &mut AgentEffects)) {
        let (elsewhere, session) = (self.agents.executing_beside(&Agent::ROOT), &mut self.session);
        effects.beside(elsewhere, |effects| effects.for_agent(Agent::ROOT, |effects| body(session, effects)));
    }

    /// The state that a new agent inherits: the running tools of all agents, and their costs.
    fn everywhere(&self, env: &Environment) -> TreeLoad {
        self.load_beside(env, &Agent::ROOT)
    }

    /// The running tools and the costs of the root, and of all its agents but this one.
    fn load_beside(&self, env: &Environment, agent: &Agent) -> TreeLoad {
        self.session.executing(env).plus(self.agents.executing_beside(agent))
    }

    /// S-10: after each message of any agent. When the money is spent, the agents are aborted, and then the root's prompt.
    fn check_budget(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        let Some(max) = env.settings.session.max_budget else { return };
        let spent = self.everywhere(env).spent;
        if spent < max {
            return;
        }
        self.agents.abort_over_budget(now, spent, effects);
        self.in_root(effects, |session, effects| session.look_at_budget(env, now, effects));
    }

    /// Lets every agent start what others kept waiting (T-4), the root first; whether anything came of it.
    fn use_room(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) -> bool {
        let count = effects.len();
        self.in_root(effects, |session, effects| session.on_room(env, now, effects));
        for agent in self.agents.addresses() {
            let elsewhere = self.load_beside(env, &agent);
            effects.beside(elsewhere, |effects| self.agents.on_room(now, &agent, effects));
        }
        effects.len() > count
    }
}
