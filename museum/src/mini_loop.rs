//! A small and honest agent loop: what an engine has to do, and nothing else.
//!
//! ```text
//!   prompt ──> ask ──> answer ──tool uses──> tools run ──results──> ask …
//!                         └──none──> end          a cancel, a message or a failure ends it early
//! ```
//!
//! One prompt is worked on at a time; the others wait. Whatever happens goes through `take`, and `settle` does what follows from it. The parts are in files
//! of their own:
//!
//! - `turns` asks the model and takes its answer; `endings` are failures, cancels and the end.
//! - [`call`] is one answer, over all its attempts; [`retry`] says what follows a failed one.
//! - [`tools`] are the tool uses of an answer, from their checks to their results; [`agents`] carry some of them out.
//! - [`history`] is the conversation, and makes requests of it.
//! - [`habits`] are the decisions in which engines differ. The exhibits of the museum have other ones.
//!
//! It leaves out: answers that are not streamed, the output limit, budgets, hooks other than those before a tool, rules of permission, user contexts, what an earlier
//! session left open, and the settings of concurrency and of the order of emission.

pub mod agents;
pub mod call;
mod endings;
pub mod habits;
pub mod history;
pub mod retry;
pub mod scope;
pub mod tool_table;
pub mod tools;
mod turns;

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use call::{Call, CallPurpose, CallVerdict};
use endings::EarlyEnd;
use habits::{Habits, Honest};
use history::{ContextFacts, History};
use reenact::engine::contract::{
    Agent, Block, Effects, Emission, Engine, Environment, Input, KeySink, RequestId, Role, Terminal, Time, ToolUse,
};
use scope::StepScope;
use tools::{ToolVerdict, Tools};

/// The loop. `H` is how it does what it does.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct MiniLoop<H: Habits = Honest> {
    history: History,
    /// Prompts that came while one was worked on.
    waiting: VecDeque<(u32, Arc<[Block]>)>,
    prompt: Option<OpenPrompt<H>>,
    /// How the last prompt ended, and the last words of its last answer.
    outcome: Option<(Terminal, String)>,
    timers_set: u32,
}

/// The prompt that is worked on.
#[derive(Clone, Debug, PartialEq, Hash)]
struct OpenPrompt<H: Habits> {
    number: u32,
    /// The number of its last request.
    request: u32,
    /// How many of its answers had tools that ran.
    turns: u32,
    facts: ContextFacts,
    call: Option<Call>,
    tools: Tools<H>,
    /// How it ends, as soon as nothing of it is at work.
    ending: Option<Terminal>,
    /// The words of the last answer.
    words: String,
    /// How often the API refused the conversation as too long.
    refusals: u32,
    /// Whether a summary was asked for since the last answer: another one would not help.
    has_shrunk: bool,
    /// Whether thinking was removed because the API refused its signature.
    has_stripped: bool,
}

impl<H: Habits> Engine for MiniLoop<H> {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        let agent = effects.agent().clone();
        if agent.is_root() {
            return self.step_alone(env, now, input, effects);
        }
        if let Some(prompt) = &mut self.prompt {
            prompt.tools.step_agent(now, &agent, input, effects);
        }
        effects.for_agent(Agent::ROOT, |effects| self.in_scope(env, now, effects, Self::settle));
    }

    /// All of its state counts: two of its states that are equal do the same.
    fn key(&self, _: Time, out: &mut KeySink) -> bool {
        self.hash(out);
        true
    }
}

impl<H: Habits> MiniLoop<H> {
    /// A step of this agent itself.
    fn step_alone(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        self.in_scope(env, now, effects, |agent, scope| {
            agent.take(scope, input);
            agent.settle(scope);
        });
    }

    /// Nobody needs its work any more. Unlike a cancel this does not come from the user.
    fn discard(&mut self, env: &Environment, now: Time, effects: &mut Effects) {
        self.in_scope(env, now, effects, |agent, scope| {
            agent.end_early(scope, EarlyEnd::Superseded);
            agent.settle(scope);
        });
    }

    fn in_scope(&mut self, env: &Environment, now: Time, effects: &mut Effects, body: impl FnOnce(&mut Self, &mut StepScope<'_>)) {
        let mut timers_set = self.timers_set;
        body(self, &mut StepScope { env, now, effects, timers_set: &mut timers_set });
        self.timers_set = timers_set;
    }

    fn is_idle(&self) -> bool {
        self.prompt.is_none()
    }

    fn is_streaming(&self) -> bool {
        self.prompt.as_ref().is_some_and(|prompt| prompt.call.is_some())
    }

    fn outcome(&self) -> Option<(Terminal, &str)> {
        self.outcome.as_ref().map(|(terminal, words)| (terminal.clone(), words.as_str()))
    }

    /// Takes an input to those whom it concerns. What no longer concerns anybody is dropped by its name.
    fn take(&mut self, scope: &mut StepScope<'_>, input: &Input) {
        if let Input::Prompt { prompt, content } | Input::Interrupt { prompt, content } = input {
            self.waiting.push_back((*prompt, content.clone()));
        }
        let Some(prompt) = &mut self.prompt else { return };
        let verdict = match (&mut prompt.call, named_request(input), input) {
            (_, _, Input::Cancel) => return self.end_early(scope, EarlyEnd::Cancel),
            (_, _, Input::Interrupt { .. }) if !prompt.tools.blocks_messages(scope.env) => {
                return self.end_early(scope, EarlyEnd::Superseded);
            }
            (Some(call), Some(id), _) if H::is_answer(call, id) => call.on_input(scope, input),
            (Some(call), None, Input::Timer(_)) => call.on_input(scope, input),
            _ => CallVerdict::Pending,
        };
        if prompt.tools.on_input(scope, input) == ToolVerdict::Abort {
            self.end_early(scope, EarlyEnd::Cancel);
        }
        self.on_verdict(scope, verdict);
    }

    fn on_verdict(&mut self, scope: &mut StepScope<'_>, verdict: CallVerdict) {
        let Some(prompt) = &mut self.prompt else { return };
        let Some(call) = &mut prompt.call else { return };
        match verdict {
            CallVerdict::Pending => (),
            CallVerdict::Blocks(messages) if call.purpose == CallPurpose::Answer => {
                for message in messages {
                    let Some(asked) = message.block.as_tool_use() else { continue };
                    let tool_use = ToolUse { input: H::tool_input(call, asked), ..asked.clone() };
                    prompt.tools.push(scope.env, message.id, tool_use, &message.uuid);
                }
            }
            CallVerdict::Blocks(_) => (),
            CallVerdict::Due => {
                H::before_retry(&mut self.history);
                let request = match call.purpose {
                    CallPurpose::Answer => self.history.request(scope.env, &prompt.facts.model),
                    CallPurpose::Summary => self.history.summary_request(scope.env, &prompt.facts.model),
                };
                call.retry(scope, request);
            }
            CallVerdict::Answered => self.on_answered(scope),
            CallVerdict::Failed(error) => self.on_failure(scope, &error),
        }
    }

    /// Does all that follows, until something has to come from outside.
    fn settle(&mut self, scope: &mut StepScope<'_>) {
        loop {
            let Some(prompt) = &mut self.prompt else {
                let Some((number, content)) = self.waiting.pop_front() else { return };
                self.begin(scope, number, content.to_vec());
                continue;
            };
            prompt.tools.collect_agents(scope, prompt.call.is_some());
            prompt.tools.admit(scope);
            if prompt.call.is_some() || !prompt.tools.is_quiet() {
                return;
            }
            prompt.tools.cancel_grace(scope);
            if let Some(terminal) = prompt.ending.take() {
                self.finish(scope, &terminal);
                continue;
            }
            let results = prompt.tools.table.take_results(scope.env.settings.result_order);
            prompt.turns += u32::from(!results.is_empty());
            self.history.push(Role::User, results);
            self.ask(scope);
        }
    }

    fn begin(&mut self, scope: &mut StepScope<'_>, number: u32, content: Vec<Block>) {
        let (model, tools) = (scope.env.settings.model.clone(), scope.env.tools.iter().map(|tool| tool.name.clone()).collect());
        scope.emit(Emission::Init { prompt: number, model: model.clone(), tools, surroundings: Box::default() });
        if self.history.messages.is_empty() {
            self.history.messages.clone_from(&scope.env.history);
        }
        self.history.push(Role::User, content);
        self.history.prompt_end = self.history.messages.len();
        self.prompt = Some(OpenPrompt::new(number, model));
    }
}

impl<H: Habits> OpenPrompt<H> {
    fn new(number: u32, model: Arc<str>) -> Self {
        let facts = ContextFacts { first_model: model.clone(), model, refused: None };
        Self {
            number,
            request: 0,
            turns: 0,
            facts,
            call: None,
            tools: Tools::default(),
            ending: None,
            words: String::new(),
            refusals: 0,
            has_shrunk: false,
            has_stripped: false,
        }
    }
}

/// The request whose answer an input belongs to.
fn named_request(input: &Input) -> Option<RequestId> {
    match input {
        Input::Head { id, .. } | Input::Stream { id, .. } | Input::Body { id, .. } | Input::End { id, .. } => Some(*id),
        _ => None,
    }
}
