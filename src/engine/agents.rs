//! Sub-agents: engines inside the engine, on the same clock (B-8).
//!
//! ```text
//!   tool use of an agent tool ──> Working: one session for each task ──all ended──> one: its result
//!                                    │                                    └──several──> Synthesis: one more session ──> its result
//!                                    └──the tool use is stopped──> each session is cancelled; the result comes when all have ended
//! ```
//!
//! A child is a session like the root's, with an environment of its own: fewer tools, another model, no history. What it wants goes out under
//! its own address, and what answers that comes back under it. Its parent sees a tool that reports progress and has one result.

mod result;
mod task;

use core::hash::{Hash, Hasher};

use alloc::collections::BTreeMap;

use result::AgentResult;
use task::AgentTask;
#[doc(hidden)]
pub use task::problems as input_problems;

use super::agent_effects::{AgentEffects, TreeLoad};
use super::budget::NanoUsd;
use super::call::thinking_below;
use super::contract::{Agent, Input, Terminal, ToolOutcome, ToolRun};
use super::emission::ResultMessage;
use super::permission::PermissionAnswer;
use super::permission::context::PermissionContext;
use super::random::Seed;
use super::session::Session;
use super::settings::{AgentTool, Environment, ThinkingSetting};
use super::texts::TextName;
use super::time::{Micros, Time};
use reenact_wire::block::{Block, ToolUse};
use reenact_wire::prelude::*;

/// The only prompt of a child.
const PROMPT: u32 = 1;

/// The most output tokens of the answer that puts results together.
const SYNTHESIS_TOKENS_MAX: u64 = 2_000;

/// The tool that keeps a list for the user: there is one list, and it is the root's.
const TODO_TOOL: &str = "TodoWrite";

/// All tool uses that agents work on.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct Agents {
    groups: Vec<AgentGroup>,
    /// The address of each agent of the session, also of those that are over: what comes under an address must mean one agent.
    addresses: Vec<Arc<str>>,
}

/// The agents of one tool use.
#[derive(Clone, Debug, PartialEq, Hash)]
struct AgentGroup {
    run: ToolRun,
    tool_use_id: Arc<str>,
    tool: AgentTool,
    task: AgentTask,
    children: Vec<ChildAgent>,
    /// The waits that are not drawn: a child knows only its own, and the synthesis comes later.
    backoff: BTreeMap<Arc<str>, Micros>,
    /// The results of the tasks, for the synthesis.
    results: Option<Vec<AgentResult>>,
    /// Why they are to stop, if they are.
    stop: Option<StopCause>,
}

/// Why the agents of a tool use stop before they are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StopCause {
    /// The user cancelled the prompt that they work for, or what counts as that did (T-14).
    Cancelled,
    /// The tool use was told to stop for another reason: its answer was discarded, a sibling failed, the user said something else, the money is
    /// spent.
    Unneeded,
    /// One of them was aborted from within: by a tool that aborted itself, or by a person's refusal with abort (T-14).
    AgentAborted,
}

/// One agent.
#[derive(Clone, Debug, PartialEq)]
struct ChildAgent {
    agent: Agent,
    env: Arc<Environment>,
    session: Session,
    /// How many tools it has asked for.
    tool_uses: u64,
    /// The text of its result message.
    said: Option<AgentResult>,
    is_over: bool,
}

/// The environment follows from the tool use that made the agent, so only the rest can differ. How long a call took is only told of the root (E-3). Here a
/// call that gives up says it to the model that asked for the agent (R-6).
impl Hash for ChildAgent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { agent, env, session, tool_uses, said, is_over } = self;
        (agent, session, session.call_since(), tool_uses, said, is_over).hash(state);
        serde_json::to_string(env).unwrap_or_default().hash(state);
    }
}

/// The agent's end, as an input for the parent.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct ParentNotice(pub(crate) Input);

impl StopCause {
    /// Why agents stop when this is told to the root.
    pub(crate) fn from_input(input: &Input) -> Self {
        let is_cancel = match input {
            Input::Cancel => true,
            Input::ToolEnded { outcome, .. } => outcome.abort.is_some(),
            Input::PermissionAnswered { answer, .. } => matches!(**answer, PermissionAnswer::RefuseAndAbort { .. }),
            _ => false,
        };
        if is_cancel { Self::Cancelled } else { Self::Unneeded }
    }
}

impl Agents {
    /// Whether no agent works.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Begins what a tool use asks for; what is wrong with it is its result.
    pub(crate) fn start(
        &mut self,
        env: &Environment,
        now: Time,
        (run, tool_use): (ToolRun, &ToolUse),
        (tool, permissions): (&AgentTool, &PermissionContext),
        effects: &mut AgentEffects,
    ) -> Option<ParentNotice> {
        if self.groups.iter().any(|group| group.tool_use_id == tool_use.id) {
            return Some(ended(run, &ToolOutcome::error(env.settings.texts.template(TextName::AgentBusy))));
        }
        let task = match AgentTask::read(tool_use, tool, &env.settings.texts) {
            Ok(task) => task,
            Err(problem) => return Some(ended(run, &ToolOutcome::error(&problem))),
        };
        let addresses = addresses(&tool_use.id, task.count);
        // A model may use an id again. The second agent would have the names of the first one's requests, and begin where that one has ended.
        if addresses.iter().any(|address| self.addresses.contains(address)) {
            return Some(ended(run, &ToolOutcome::error(env.settings.texts.template(TextName::AgentRepeated))));
        }
        let first = addresses.iter().take(task.count as usize);
        let children = first.map(|address| ChildAgent::new(env, address, &task.model, task.allowance()));
        let mut group = AgentGroup {
            run,
            tool_use_id: tool_use.id.clone(),
            tool: tool.clone(),
            children: children.collect(),
            backoff: env.backoff.clone(),
            task,
            results: None,
            stop: None,
        };
        for (number, child) in (1..).zip(&mut group.children) {
            child.session.learn(permissions);
            child.ask(now, &group.task.prompt_of(number, &env.settings.texts), effects);
        }
        self.groups.push(group);
        self.addresses.extend(addresses);
        None
    }

    /// Tells the agents of a tool use to stop.
    pub(crate) fn stop(&mut self, now: Time, (run, cause): (ToolRun, StopCause), effects: &mut AgentEffects) {
        if let Some(group) = self.groups.iter_mut().find(|group| group.run == run) {
            group.stop(now, cause, effects);
        }
    }

    /// Passes an input on to the agent that it is for.
    pub(crate) fn step(&mut self, now: Time, agent: &Agent, input: &Input, effects: &mut AgentEffects) {
        if let Some(child) = self.children_mut().find(|child| child.agent == *agent) {
            child.step(now, input, effects);
        }
    }

    /// The model of an agent asks for a tool.
    pub(crate) fn on_tool_use(&mut self, agent: &Agent, tool: &str) -> Option<ParentNotice> {
        let group = self.group_mut(agent)?;
        group.child_mut(agent)?.tool_uses += 1;
        group.progress(agent, tool)
    }

    /// An agent has its result.
    pub(crate) fn on_result(&mut self, agent: &Agent, result: &ResultMessage) {
        let Some(child) = self.children_mut().find(|child| child.agent == *agent) else { return };
        let text = if result.is_error { result.errors.join("; ").into() } else { result.text.clone() };
        let tokens = result.usage.all_tokens();
        child.said = Some(AgentResult { text, is_error: result.is_error, tool_uses: child.tool_uses, tokens });
    }

    /// An agent's prompt is over; its parent hears of it, and of the result if it was the last.
    pub(crate) fn on_finish(&mut self, now: Time, (agent, terminal): (&Agent, &Terminal), effects: &mut AgentEffects) -> Vec<ParentNotice> {
        let Some(group) = self.group_mut(agent) else { return Vec::new() };
        let Some(mut told) = group.on_finish(now, (agent, terminal), effects) else { return Vec::new() };
        if !group.children.iter().all(|child| child.is_over) {
            return told;
        }
        if let Some(outcome) = group.outcome() {
            told.push(ended(group.run, &outcome));
            let run = group.run;
            self.groups.retain(|group| group.run != run);
            return told;
        }
        group.synthesise(now, effects);
        let so_far = group.results.as_deref().map(result::counts).unwrap_or_default();
        told.extend(group.progress_notice(&format!("synthesis: begins, {so_far} so far")));
        told
    }

    /// The money is spent (S-10): all agents stop, and there is no synthesis.
    /// `spent` is what all agents have.
    pub(crate) fn abort_over_budget(&mut self, now: Time, spent: NanoUsd, effects: &mut AgentEffects) {
        self.groups.iter_mut().for_each(|group| group.stop = Some(StopCause::Unneeded));
        for ChildAgent { agent, env, session, .. } in self.children_mut() {
            let others = NanoUsd(spent.0.saturating_sub(session.executing(env).spent.0));
            let elsewhere = TreeLoad { spent: others, ..TreeLoad::default() };
            effects.beside(elsewhere, |effects| {
                effects.for_agent(agent.clone(), |effects| session.look_at_budget(env, now, effects));
            });
        }
    }

    /// The permissions that this agent has learnt.
    pub(crate) fn permissions(&self, agent: &Agent) -> Option<&PermissionContext> {
        let mut children = self.groups.iter().flat_map(|group| &group.children);
        children.find(|child| child.agent == *agent).map(|child| child.session.permissions())
    }

    /// One agent has learnt something about permissions, and with it all others (B-8).
    pub(crate) fn learn(&mut self, permissions: &PermissionContext) {
        self.children_mut().for_each(|child| child.session.learn(permissions));
    }

    /// The running tools and the spending of all agents but this one. A finished agent's spending counts in its parent.
    pub(crate) fn executing_beside(&self, agent: &Agent) -> TreeLoad {
        let children = self.groups.iter().flat_map(|group| &group.children);
        let others = children.filter(|child| child.agent != *agent && child.said.is_none());
        others.map(|child| child.session.executing(&child.env)).fold(TreeLoad::default(), TreeLoad::plus)
    }

    /// The addresses of all that are at work.
    pub(crate) fn addresses(&self) -> Vec<Agent> {
        self.groups.iter().flat_map(|group| &group.children).map(|child| child.agent.clone()).collect()
    }

    /// Whether the grace of a tool is over by now in one of them, and its timer still to ring.
    pub(crate) fn is_any_grace_over(&self, now: Time) -> bool {
        self.groups.iter().flat_map(|group| &group.children).any(|child| child.session.is_grace_over(now))
    }

    /// A tool ended elsewhere: what waited for it in this agent may start.
    pub(crate) fn on_room(&mut self, now: Time, agent: &Agent, effects: &mut AgentEffects) {
        if let Some(child) = self.children_mut().find(|child| child.agent == *agent) {
            let ChildAgent { agent, env, session, .. } = child;
            effects.for_agent(agent.clone(), |effects| session.on_room(env, now, effects));
        }
    }

    fn children_mut(&mut self) -> impl Iterator<Item = &mut ChildAgent> {
        self.groups.iter_mut().flat_map(|group| &mut group.children)
    }

    /// The agents of the tool use that this agent works for.
    fn group_mut(&mut self, agent: &Agent) -> Option<&mut AgentGroup> {
        self.groups.iter_mut().find(|group| group.children.iter().any(|child| child.agent == *agent))
    }
}

impl AgentGroup {
    fn child_mut(&mut self, agent: &Agent) -> Option<&mut ChildAgent> {
        self.children.iter_mut().find(|child| child.agent == *agent)
    }

    /// One of the agents is over.
    fn on_finish(&mut self, now: Time, (agent, terminal): (&Agent, &Terminal), effects: &mut AgentEffects) -> Option<Vec<ParentNotice>> {
        let child = self.child_mut(agent)?;
        child.is_over = true;
        let done = format!("done, {}", result::counts(&[child.result()]));
        let told = self.progress(agent, &done).into_iter().collect();
        // Nobody told the agent to stop, so the abort came from within, and it concerns the whole tree (T-14, O-11).
        if self.stop.is_none() && matches!(terminal, Terminal::AbortedStreaming | Terminal::AbortedTools) {
            self.stop(now, StopCause::AgentAborted, effects);
        }
        Some(told)
    }

    /// Tells all agents to stop that have not ended.
    fn stop(&mut self, now: Time, cause: StopCause, effects: &mut AgentEffects) {
        self.stop = Some(cause);
        for child in self.children.iter_mut().filter(|child| !child.is_over) {
            match cause {
                StopCause::Cancelled | StopCause::AgentAborted => child.step(now, &Input::Cancel, effects),
                StopCause::Unneeded => child.stop(now, effects),
            }
        }
    }

    /// The result of the tool use, unless a synthesis must come first.
    fn outcome(&self) -> Option<ToolOutcome> {
        let texts = &self.children.first()?.env.settings.texts;
        let results: Vec<AgentResult> = self.children.iter().map(ChildAgent::result).collect();
        let of = |(text, is_error): (String, bool)| ToolOutcome { is_error, ..ToolOutcome::text(&text) };
        match self.stop {
            // The parent has stopped this tool use, so its own text of the abort is the result, and this text shows nowhere.
            Some(StopCause::Cancelled | StopCause::Unneeded) => return Some(ToolOutcome::error("stopped")),
            Some(StopCause::AgentAborted) => {
                let abort = Some(texts.template(TextName::AgentAborted).into());
                return Some(ToolOutcome { abort, ..ToolOutcome::error(&result::list_of_several(&results, texts)) });
            }
            None => (),
        }
        match (&self.results, &*results) {
            // The synthesis failed: all single results are better than no result.
            (Some(found), [synthesis]) if synthesis.is_error || synthesis.text.is_empty() => {
                Some(ToolOutcome::text(&result::list(found, texts)))
            }
            (_, [alone]) => Some(of(alone.alone(texts))),
            (_, all) if all.iter().all(|said| said.is_error) => Some(ToolOutcome::error(&result::list(all, texts))),
            _ => None,
        }
    }

    /// All tasks have ended: one more agent puts their results together.
    fn synthesise(&mut self, now: Time, effects: &mut AgentEffects) {
        let results: Vec<AgentResult> = self.children.iter().map(ChildAgent::result).collect();
        let Some(first) = self.children.first() else { return };
        let question = result::synthesis(&self.task.prompt, &results, &first.env.settings.texts);
        let mut env = Environment::clone(&first.env);
        env.tools.clear();
        env.backoff.clone_from(&self.backoff);
        let mut child = ChildAgent::new(&env, &synthesis_address(&self.tool_use_id), &self.tool.fast_model, SYNTHESIS_TOKENS_MAX);
        child.ask(now, &question, effects);
        self.results = Some(results);
        self.children = vec![child];
    }

    /// Progress of one agent, as progress of the tool.
    fn progress(&self, agent: &Agent, text: &str) -> Option<ParentNotice> {
        let number = 1 + self.children.iter().position(|child| child.agent == *agent)?;
        match (self.children.len(), &self.results) {
            (_, Some(_)) => self.progress_notice(&format!("synthesis: {text}")),
            (1, None) => self.progress_notice(text),
            (count, None) => self.progress_notice(&format!("task {number} of {count}: {text}")),
        }
    }

    /// A tool use that was told to stop says nothing more.
    fn progress_notice(&self, text: &str) -> Option<ParentNotice> {
        self.stop.is_none().then(|| ParentNotice(Input::ToolProgress { run: self.run, text: text.into(), kind: None }))
    }
}

impl ChildAgent {
    fn new(env: &Environment, address: &str, model: &Arc<str>, max_tokens: u64) -> Self {
        let mut env = env.clone();
        env.tools.retain(|tool| tool.agent.is_none() && &*tool.name != TODO_TOOL);
        env.history.clear();
        // What is drawn for a child is its own: its requests have the same names as the root's.
        env.seed = Seed(env.seed.draws("agent", address).bits());
        let agent = Agent::child(address);
        env.keep_backoff_of(&agent);
        env.settings.model = model.clone();
        env.settings.max_tokens = max_tokens;
        // An allowance may be less than what the root may think.
        if let Some(ThinkingSetting::Budget(budget)) = env.settings.session.thinking
            && u64::from(budget) >= max_tokens
        {
            env.settings.session.thinking = ThinkingSetting::greatest_budget(max_tokens).map(ThinkingSetting::Budget);
        }
        if let Some(extra) = thinking_below(&env.settings.request_extra, max_tokens) {
            env.settings.request_extra = extra;
        }
        // These are told of the root's turn and task; the limits hold for each agent by itself.
        env.settings.session.token_budget = None;
        env.settings.session.task_budget = None;
        env.settings.session.changes.clear(); // they are about the root's requests
        env.settings.session.host_messages.clear();
        env.settings.session.tool_use_summaries = None; // consumers see the root's turns
        Self { agent, env: Arc::new(env), session: Session::default(), tool_uses: 0, said: None, is_over: false }
    }

    fn ask(&mut self, now: Time, prompt: &str, effects: &mut AgentEffects) {
        self.step(now, &Input::Prompt { prompt: PROMPT, content: [Block::text(prompt)].into() }, effects);
    }

    fn step(&mut self, now: Time, input: &Input, effects: &mut AgentEffects) {
        let Self { agent, env, session, .. } = self;
        effects.for_agent(agent.clone(), |effects| session.step(env, now, input, effects));
    }

    /// Its result is wanted no more.
    fn stop(&mut self, now: Time, effects: &mut AgentEffects) {
        let Self { agent, env, session, .. } = self;
        effects.for_agent(agent.clone(), |effects| session.stop(env, now, effects));
    }

    fn result(&self) -> AgentResult {
        self.said.clone().unwrap_or(AgentResult { text: "".into(), is_error: true, tool_uses: self.tool_uses, tokens: 0 })
    }
}

/// The addresses of the agents of a tool use, the one that puts their results together among them.
fn addresses(tool_use_id: &Arc<str>, count: u32) -> Vec<Arc<str>> {
    match count {
        1 => vec![tool_use_id.clone()],
        _ => (1..=count).map(|number| format!("{tool_use_id}.{number}").into()).chain([synthesis_address(tool_use_id)]).collect(),
    }
}

fn synthesis_address(tool_use_id: &str) -> Arc<str> {
    format!("{tool_use_id}.synthesis").into()
}

fn ended(run: ToolRun, outcome: &ToolOutcome) -> ParentNotice {
    ParentNotice(Input::ToolEnded { run, outcome: Arc::new(outcome.clone()) })
}
