//! A session: prompts one after another over one conversation (S-1 to S-8).
//!
//! Each prompt goes through its phases in one step up to the first request; then the query loop has it until the result. What
//! is looked up before (S-4) is a state of its own, in which the user can abort already.

mod command;
mod lookup;
pub(crate) mod memory;
#[doc(hidden)]
pub mod prompt;
mod result;

use alloc::collections::VecDeque;

use command::PromptDemand;
use lookup::{LookupResults, PendingPrompt};
use memory::SessionMemory;
use prompt::RequestFrame;

use super::agent_effects::{AgentEffects, TreeLoad};
use super::contract::{Effect, Input};
use super::conversation::{ItemKind, prompt_name};
use super::emission::{Emission, Note, ResultMessage, SessionPhase};
use super::executor::abort_reason::AbortKind;
use super::key::KeylessValue;
use super::permission::context::PermissionContext;
use super::query::{Query, QueryBeginning, QueryOutcome, QueryScope, QueryVerdict};
use super::settings::Environment;
use super::status;
use super::time::Time;
use reenact_wire::block::Block;
use reenact_wire::prelude::*;

/// The root agent's conversation with its user.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct Session {
    state: SessionState,
    memory: SessionMemory,
    /// Prompts that came while one was worked on.
    waiting: VecDeque<(u32, Arc<[Block]>)>,
    /// The common part of all requests, once there was one: putting it together takes longer than a step.
    frame: Option<Arc<RequestFrame>>,
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
enum SessionState {
    /// Nothing to do.
    #[default]
    Idle,
    /// Skills and plugins are looked up for a prompt (S-4).
    Starting(Box<PendingPrompt>),
    /// A prompt is worked on.
    Running { query: Box<Query>, prompt: u32, since: KeylessValue<Time> },
}

impl SessionMemory {
    /// S-3: what a command does to the session; what it answers, if the model is not asked.
    fn apply(&mut self, asked: &PromptDemand) -> Option<Arc<str>> {
        match asked {
            PromptDemand::Model(_) | PromptDemand::Compact(_) => None,
            PromptDemand::Answer(text) => Some(text.clone()),
            PromptDemand::Clear => {
                self.conversation.clear();
                Some("The conversation is cleared.".into())
            }
            PromptDemand::Switch(model) => {
                self.model = Some(model.clone());
                Some(format!("The model is {model} from now on.").into())
            }
        }
    }

    /// The frame with what the host has set before the last request (S-11).
    fn frame_reached(&self, env: &Environment, frame: Arc<RequestFrame>) -> Arc<RequestFrame> {
        let changes = env.settings.session.changes.iter().filter(|change| change.from <= self.reached);
        changes.fold(frame, |frame, change| Arc::new(frame.with_change(env, change)))
    }
}

impl Session {
    /// Takes all inputs.
    pub(crate) fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) {
        match (&mut self.state, input) {
            (SessionState::Idle, Input::Prompt { prompt, content } | Input::Interrupt { prompt, content }) => {
                self.start(env, now, *prompt, content, effects);
            }
            (SessionState::Starting(_) | SessionState::Running { .. }, Input::Prompt { prompt, content }) => {
                self.waiting.push_back((*prompt, content.clone()))
            }
            (SessionState::Starting(_), Input::Interrupt { prompt, content }) => {
                self.waiting.push_back((*prompt, content.clone()));
                self.abort_start(env, now, AbortKind::Interrupt, effects);
            }
            (SessionState::Starting(_), Input::Cancel) => self.abort_start(env, now, AbortKind::Cancel, effects),
            (SessionState::Starting(starting), input) => {
                self.memory.take_note(input);
                if starting.found.take(starting.prompt, input) {
                    self.begin(env, now, effects);
                }
            }
            (SessionState::Running { query, .. }, Input::Interrupt { prompt, content }) => {
                let (absorbed, verdict) = query.interrupt(&mut QueryScope::new(env, now, &mut self.memory, effects), (*prompt, content));
                if !absorbed {
                    self.waiting.push_back((*prompt, content.clone()));
                }
                self.on_verdict(env, now, verdict, effects);
            }
            (SessionState::Running { query, .. }, input) => {
                let verdict = query.step(&mut QueryScope::new(env, now, &mut self.memory, effects), input);
                self.on_verdict(env, now, verdict, effects);
            }
            (SessionState::Idle, input) => self.memory.take_note(input),
        }
        let waits_for_nothing = matches!(&self.state, SessionState::Starting(starting) if starting.found.is_all_in());
        invariant!(!waits_for_nothing, "a prompt for which all is looked up has begun");
    }

    /// The result of this agent is no longer needed (B-8). Unlike a cancel it does not come from the user.
    pub(crate) fn stop(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        match &mut self.state {
            SessionState::Idle => (),
            SessionState::Starting(_) => self.abort_start(env, now, AbortKind::Unneeded, effects),
            SessionState::Running { query, .. } => {
                let verdict = query.stop(&mut QueryScope::new(env, now, &mut self.memory, effects));
                self.on_verdict(env, now, verdict, effects);
            }
        }
    }

    /// The running tools and the spending, as the other agents of the tree see them (T-4, S-10).
    pub(crate) fn executing(&self, env: &Environment) -> TreeLoad {
        match &self.state {
            SessionState::Idle | SessionState::Starting(_) => TreeLoad { spent: self.memory.spent, ..TreeLoad::default() },
            SessionState::Running { query, .. } => query.executing(env, &self.memory),
        }
    }

    /// Agents that worked for this session have cost this much (S-10).
    pub(crate) fn charge(&mut self, result: &ResultMessage) {
        match &mut self.state {
            SessionState::Idle | SessionState::Starting(_) => self.memory.spent = self.memory.spent + result.cost,
            SessionState::Running { query, .. } => query.charge(result),
        }
    }

    /// A message of some agent came: running work ends if the money is spent (S-10).
    pub(crate) fn look_at_budget(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        if let SessionState::Running { query, .. } = &mut self.state {
            let verdict = query.look_at_budget(&mut QueryScope::new(env, now, &mut self.memory, effects));
            self.on_verdict(env, now, verdict, effects);
        }
    }

    /// The permissions that were learnt (T-11, T-24).
    pub(crate) fn permissions(&self) -> &PermissionContext {
        &self.memory.permissions
    }

    /// Another agent has learnt something about permissions (B-8).
    pub(crate) fn learn(&mut self, permissions: &PermissionContext) {
        if self.memory.permissions != *permissions {
            self.memory.permissions.clone_from(permissions);
        }
    }

    /// When the first attempt of the present call was made.
    pub(crate) fn call_since(&self) -> Option<Time> {
        if let SessionState::Running { query, .. } = &self.state { query.call_since() } else { None }
    }

    /// Whether the grace of a tool is over by now (T-15a).
    pub(crate) fn is_grace_over(&self, now: Time) -> bool {
        match &self.state {
            SessionState::Idle | SessionState::Starting(_) => false,
            SessionState::Running { query, .. } => query.grace_until().is_some_and(|until| until <= now),
        }
    }

    /// A tool ended in another agent of the tree: what waited for it may start.
    pub(crate) fn on_room(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        if let SessionState::Running { query, .. } = &mut self.state {
            let verdict = query.on_room(&mut QueryScope::new(env, now, &mut self.memory, effects));
            self.on_verdict(env, now, verdict, effects);
        }
    }

    /// S-1 to S-7: the phases of a prompt up to its first request.
    fn start(&mut self, env: &Environment, now: Time, prompt: u32, content: &Arc<[Block]>, effects: &mut AgentEffects) {
        let phase = |phase, effects: &mut AgentEffects| effects.push(Effect::Note(Note::Phase(phase)));
        phase(SessionPhase::Init, effects);
        phase(SessionPhase::SystemPrompt, effects);
        phase(SessionPhase::UserInput, effects);
        let session = &env.settings.session;
        if session.replay_user_messages {
            effects.push(Effect::Emit(Emission::UserPrompt { prompt, content: content.clone() }));
        }
        let memory = &mut self.memory;
        memory.conversation.begin(&env.history, env.settings.neighbours);
        let (asked, allows) = command::read(content, &env.settings);
        allows.iter().for_each(|rule| memory.permissions.allow(rule));
        let local = memory.apply(&asked);
        if let PromptDemand::Model(content) = &asked {
            memory.conversation.push_user(prompt_name(prompt), ItemKind::Prompt, content.to_vec());
        }
        let found = LookupResults::look_up(session, prompt, effects);
        let is_all_in = found.is_all_in();
        self.state = SessionState::Starting(Box::new(PendingPrompt { prompt, since: KeylessValue(now), asked, local, found }));
        if is_all_in {
            self.begin(env, now, effects);
        }
    }

    /// S-4 to S-7: all that was looked up is in.
    fn begin(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        let SessionState::Starting(starting) = &self.state else { unreachable!("a prompt begins once, before it runs") };
        let PendingPrompt { prompt, since, asked, local, found } = &**starting;
        let (prompt, since) = (*prompt, *since);
        let phase = |phase, effects: &mut AgentEffects| effects.push(Effect::Note(Note::Phase(phase)));
        let frame = self.frame.get_or_insert_with(|| Arc::new(RequestFrame::from_environment(env))).clone();
        let frame = self.memory.frame_reached(env, frame);
        let frame = self.memory.model.as_ref().map_or_else(|| frame.clone(), |model| Arc::new(frame.with_model(model)));
        phase(SessionPhase::InitMessage, effects);
        let tools = env.tools.iter().map(|tool| tool.name.clone()).collect();
        effects.push(Effect::Emit(Emission::Init {
            prompt,
            model: frame.model().clone(),
            tools,
            surroundings: found.surroundings(env, &self.memory),
        }));
        if let Some(text) = local {
            phase(SessionPhase::EarlyExit, effects);
            effects.push(Effect::Emit(Emission::LocalOutput { prompt, text: text.clone() }));
            return self.finish(env, now, (prompt, since), QueryOutcome::local(text.clone()), effects);
        }
        if env.settings.session.file_history {
            phase(SessionPhase::FileHistory, effects);
            effects.push(Effect::Emit(Emission::FileSnapshot { uuid: format!("p{prompt}").into() }));
        }
        phase(SessionPhase::MainLoop, effects);
        let begins = match asked {
            PromptDemand::Compact(instructions) => QueryBeginning::Compacting(instructions.clone()),
            _ => QueryBeginning::Asking,
        };
        let scope = &mut QueryScope::new(env, now, &mut self.memory, effects);
        let (query, verdict) = Query::start(scope, prompt, frame, begins);
        self.state = SessionState::Running { query: Box::new(query), prompt, since };
        self.on_verdict(env, now, verdict, effects);
    }

    /// The prompt ends before the model was asked.
    fn abort_start(&mut self, env: &Environment, now: Time, kind: AbortKind, effects: &mut AgentEffects) {
        let SessionState::Starting(starting) = &self.state else { unreachable!("a start is aborted before its prompt runs") };
        let PendingPrompt { prompt, since, .. } = **starting;
        let outcome = QueryOutcome::aborted(&mut QueryScope::new(env, now, &mut self.memory, effects), prompt, kind);
        self.finish(env, now, (prompt, since), outcome, effects);
    }

    /// S-8: the result, the terminal, and the prompt that waited.
    fn on_verdict(&mut self, env: &Environment, now: Time, verdict: QueryVerdict, effects: &mut AgentEffects) {
        let (QueryVerdict::Finished(outcome), SessionState::Running { prompt, since, .. }) = (verdict, &self.state) else { return };
        let (prompt, since) = (*prompt, *since);
        self.finish(env, now, (prompt, since), *outcome, effects);
    }

    fn finish(
        &mut self,
        env: &Environment,
        now: Time,
        (prompt, since): (u32, KeylessValue<Time>),
        outcome: QueryOutcome,
        effects: &mut AgentEffects,
    ) {
        effects.push(Effect::Note(Note::Phase(SessionPhase::Result)));
        let result = result::message(env, prompt, now.since(*since), &outcome);
        for text in &result.warnings {
            effects.push(Effect::Emit(Emission::Warning { text: text.clone() }));
        }
        if outcome.queued.is_empty() && self.waiting.is_empty() {
            status::report(env, status::IDLE, effects);
        }
        effects.push(Effect::Emit(Emission::Result(Box::new(result))));
        effects.push(Effect::Finished { prompt, terminal: outcome.terminal });
        self.state = SessionState::Idle;
        for message in outcome.queued.into_iter().rev() {
            self.waiting.push_front(message);
        }
        if let Some((prompt, content)) = self.waiting.pop_front() {
            self.step(env, now, &Input::Prompt { prompt, content }, effects);
        }
    }
}
