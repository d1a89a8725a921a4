//! Which tools execute now, seen from outside the engine: from their start until they end, or until their grace is over. And which tool uses
//! wait for something else: their own check, a hook, a person, the store; for a message that is submitted they execute, too.

use alloc::collections::BTreeMap;

use reenact_engine::contract::{Agent, Effect, Emission, Environment, HookSubject, Input, Note, ToolRun, original_id};
use reenact_engine::emission::ToolState;
use reenact_engine::schema::Validators;
use reenact_engine::settings::{DiscardPolicy, InterruptBehaviour, ToolDefinition, ToolSafety};
use reenact_engine::time::{Micros, Time};
use reenact_shell::only_reads;
use reenact_wire::block::{ToolInput, ToolUse};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// Whether a tool use may run beside others (T-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ToolClass {
    /// Beside other safe ones.
    Safe,
    /// Alone.
    Exclusive,
}

/// The facts about the tools.
#[derive(Debug)]
pub(super) struct ToolFacts {
    tools: Vec<ToolFact>,
    /// The check of inputs; `None` where the settings ask for none.
    validators: Option<Validators>,
    safe_uses: BTreeMap<Arc<str>, bool>,
    discarded: DiscardPolicy,
    /// How many characters a result may have where a tool says nothing (B-12).
    result_limit: u64,
}

/// The tools that execute, and the tool uses that wait for something else.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct RunningTools {
    tools: Vec<RunningTool>,
    waits: Vec<WaitingUse>,
    /// How each tool that was started takes a submitted message, until its result is out: the effect that stores a result does not name the tool.
    started: Vec<(Agent, ToolRun, InterruptBehaviour)>,
    /// The class of each tool use of the prompts that are not over, with the input that the model wrote: a hook or a person may change it later.
    asked: Vec<(Agent, ToolRun, ToolClass, InterruptBehaviour)>,
}

/// A tool use that waits.
#[derive(Clone, Debug, Hash)]
struct WaitingUse {
    agent: Agent,
    run: ToolRun,
    awaited: WaitCause,
    behaviour: InterruptBehaviour,
}

/// The reason of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WaitCause {
    Check,
    /// The position among those of the environment, from 0.
    Hook(u32),
    Person,
    Store,
}

/// One of them.
#[derive(Clone, Debug, Hash)]
pub(super) struct RunningTool {
    pub(super) agent: Agent,
    pub(super) run: ToolRun,
    pub(super) class: ToolClass,
    behaviour: InterruptBehaviour,
    /// It is stopping: at this time it is over in any case (T-15a).
    until: Option<Time>,
    /// It is carried out by agents of its own, whose tools are seen for themselves.
    pub(super) waits_for_agents: bool,
}

/// The facts about one of them.
#[derive(Debug)]
struct ToolFact {
    name: Arc<str>,
    safety: ToolSafety,
    behaviour: InterruptBehaviour,
    is_shell: bool,
    is_agent: bool,
    reads_only: bool,
    edits: bool,
    result_limit: Option<u64>,
}

impl ToolFacts {
    pub(super) fn from_environment(environment: &Environment) -> Self {
        let fact = |tool: &ToolDefinition| ToolFact {
            name: tool.name.clone(),
            safety: tool.safe,
            behaviour: tool.interrupt.unwrap_or(InterruptBehaviour::Block),
            is_shell: tool.shell,
            is_agent: tool.agent.is_some(),
            reads_only: tool.reads_only,
            edits: tool.edits,
            result_limit: tool.result_limit,
        };
        Self {
            tools: environment.tools.iter().map(fact).collect(),
            validators: environment.settings.pipeline.check_inputs.then(|| environment.validators.clone()),
            safe_uses: environment.safe_uses.clone(),
            discarded: environment.settings.discarded_tools,
            result_limit: environment.settings.pipeline.result_limit,
        }
    }

    /// T-3: whether the tool says of this input, or the scenario of this use, that it may run beside others.
    pub(super) fn class(&self, tool_use: &ToolUse) -> ToolClass {
        match self.tool(&tool_use.name) {
            Some(tool) if self.is_safe(tool.safety, tool_use) => ToolClass::Safe,
            _ => ToolClass::Exclusive,
        }
    }

    /// Read here once more, and not by the engine. Of a reissued answer the scenario knows the ids that it was written with (M-3).
    fn is_safe(&self, safety: ToolSafety, tool_use: &ToolUse) -> bool {
        let ToolInput::Valid(input) = &tool_use.input else { return false };
        let of_scenario = |id: &str| self.safe_uses.get(id).copied();
        let said = of_scenario(&tool_use.id).or_else(|| of_scenario(original_id(&tool_use.id)?));
        said.unwrap_or_else(|| match safety {
            ToolSafety::Always => true,
            ToolSafety::Never | ToolSafety::Unknown => false,
            ToolSafety::ByCommand => command_in(input).is_some_and(|command| only_reads(&command)),
        })
    }

    /// Whether tools of a discarded attempt that an engine leaves running are nobody's any more (T-19).
    pub(super) fn are_left_running(&self) -> bool {
        self.discarded == DiscardPolicy::Ignore
    }

    /// How a tool takes a submitted message (T-17).
    pub(super) fn behaviour(&self, tool: &str) -> InterruptBehaviour {
        self.tool(tool).map_or(InterruptBehaviour::Block, |tool| tool.behaviour)
    }

    /// Whether it runs shell commands (T-13).
    pub(super) fn is_shell(&self, tool: &str) -> bool {
        self.tool(tool).is_some_and(|tool| tool.is_shell)
    }

    /// Whether agents do its work (B-8).
    pub(super) fn is_agent(&self, tool: &str) -> bool {
        self.tool(tool).is_some_and(|tool| tool.is_agent)
    }

    /// Whether it only reads (P-1). Of a tool that nobody knows another rule speaks.
    pub(super) fn reads_only(&self, tool: &str) -> bool {
        self.tool(tool).is_none_or(|tool| tool.reads_only)
    }

    /// Whether it edits files (P-1).
    pub(super) fn edits(&self, tool: &str) -> bool {
        self.tool(tool).is_some_and(|tool| tool.edits)
    }

    /// How many characters its result may have (T-27).
    pub(super) fn result_limit(&self, tool: &str) -> u64 {
        self.tool(tool).and_then(|tool| tool.result_limit).unwrap_or(self.result_limit)
    }

    /// Whether there is such a tool, and it takes this input (T-2, T-21).
    pub(super) fn takes(&self, tool_use: &ToolUse) -> bool {
        let fits = match (&self.validators, &tool_use.input) {
            (None, _) => true,
            (Some(_), ToolInput::Invalid { .. }) => false,
            (Some(validators), ToolInput::Valid(input)) => validators.problems(&tool_use.name, input).is_empty(),
        };
        fits && self.tool(&tool_use.name).is_some()
    }

    /// The names of all tools.
    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.tools.iter().map(|tool| &tool.name)
    }

    /// Whether there is such a tool.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }

    fn tool(&self, name: &str) -> Option<&ToolFact> {
        self.tools.iter().find(|tool| *tool.name == *name)
    }
}

impl RunningTools {
    /// Time continues, a tool may end, and what was waited for may come.
    pub(super) fn on_input(&mut self, at: Time, agent: &Agent, input: &Input) {
        self.tools.retain(|tool| tool.until.is_none_or(|until| at < until));
        if let Input::ToolEnded { run, .. } = input
            && let Some(index) = self.tools.iter().position(|tool| tool.run == *run && tool.agent == *agent)
        {
            self.tools.remove(index);
        }
        let come = match input {
            Input::ToolChecked { run, .. } => Some((*run, WaitCause::Check)),
            Input::PermissionAnswered { run, .. } => Some((*run, WaitCause::Person)),
            Input::ResultStored { run, .. } => Some((*run, WaitCause::Store)),
            Input::HookEnded { hook, .. } => tool_of_hook(hook.subject).map(|run| (run, WaitCause::Hook(hook.hook))),
            _ => None,
        };
        if let Some((run, awaited)) = come {
            self.no_longer(agent, run, awaited);
        }
    }

    /// A tool may start or be stopped, and a tool use may begin or cease to wait for something.
    pub(super) fn on_effect(&mut self, tools: &ToolFacts, grace: Micros, at: Time, agent: &Agent, effect: &Effect) {
        match effect {
            Effect::Emit(Emission::Assistant(message)) => {
                if let Some(tool_use) = message.block.as_tool_use() {
                    let index = self.asked.iter().filter(|(by, run, ..)| by == agent && run.request == message.id).count();
                    let run = ToolRun { request: message.id, index: u32::try_from(index).unwrap_or(u32::MAX) };
                    self.asked.push((agent.clone(), run, tools.class(tool_use), tools.behaviour(&tool_use.name)));
                }
            }
            Effect::StartTool { run, tool_use } => {
                let (class, behaviour) = (self.class(tools, agent, *run, tool_use), tools.behaviour(&tool_use.name));
                self.tools.push(RunningTool { agent: agent.clone(), run: *run, class, behaviour, until: None, waits_for_agents: false });
                self.started.push((agent.clone(), *run, behaviour));
            }
            Effect::StartAgent { run, tool_use } => {
                let (class, behaviour) = (self.class(tools, agent, *run, tool_use), tools.behaviour(&tool_use.name));
                self.tools.push(RunningTool { agent: agent.clone(), run: *run, class, behaviour, until: None, waits_for_agents: true });
            }
            Effect::Note(Note::LeftRunning { runs, .. }) if tools.are_left_running() => {
                self.tools.retain(|tool| tool.agent != *agent || !runs.contains(&tool.run));
            }
            // A look at an input cannot be taken back: it comes, and nobody waits for it.
            Effect::Note(Note::Discarded { id, .. }) => self.forget(|by, run| by == agent && run.request == *id),
            // Its end is seen by its result alone.
            Effect::Note(Note::Tool { run, state: ToolState::Completed }) => self.agents_are_done(agent, *run),
            Effect::Emit(Emission::User(message)) => {
                self.agents_are_done(agent, message.run);
                self.forget(|by, run| by == agent && run == message.run);
            }
            Effect::StopTool { run } => {
                if let Some(tool) = self.tools.iter_mut().find(|tool| tool.run == *run && tool.agent == *agent) {
                    tool.until.get_or_insert(at + grace);
                }
            }
            Effect::CheckTool { run, tool_use } => self.wait(agent, *run, WaitCause::Check, tools.behaviour(&tool_use.name)),
            Effect::AskPermission { run, tool_use, .. } => self.wait(agent, *run, WaitCause::Person, tools.behaviour(&tool_use.name)),
            Effect::RunHook { hook, input } => {
                if let Some(run) = tool_of_hook(hook.subject) {
                    let behaviour = input.tool.as_ref().map_or(InterruptBehaviour::Block, |tool| tools.behaviour(tool));
                    self.wait(agent, run, WaitCause::Hook(hook.hook), behaviour);
                }
            }
            Effect::StoreResult { run, .. } => {
                // What an earlier session asked for was said by nobody here.
                let started = self.started.iter().find(|(by, started, _)| by == agent && started == run).map(|(.., behaviour)| *behaviour);
                let asked = || self.asked.iter().find(|(by, asked, ..)| by == agent && asked == run).map(|(.., behaviour)| *behaviour);
                let behaviour = started.or_else(asked).unwrap_or(InterruptBehaviour::Block);
                self.wait(agent, *run, WaitCause::Store, behaviour);
            }
            Effect::StopHook { hook } => {
                if let Some(run) = tool_of_hook(hook.subject) {
                    self.no_longer(agent, run, WaitCause::Hook(hook.hook));
                }
            }
            Effect::WithdrawPermission { run } => self.no_longer(agent, *run, WaitCause::Person),
            Effect::Finished { prompt, .. } => {
                let is_over = |by: &Agent, run: ToolRun| by == agent && run.request.prompt == *prompt;
                self.forget(is_over);
                self.asked.retain(|(by, run, ..)| !is_over(by, *run));
            }
            _ => (),
        }
    }

    /// The class of a tool use as it was asked for; of one that nobody saw asked for, as it starts.
    pub(super) fn class(&self, tools: &ToolFacts, agent: &Agent, run: ToolRun, tool_use: &ToolUse) -> ToolClass {
        let asked = self.asked.iter().find(|(by, asked, ..)| by == agent && *asked == run);
        asked.map_or_else(|| tools.class(tool_use), |(_, _, class, _)| *class)
    }

    /// The run of the tool use that this effect, the latest one, says that the model asks for.
    pub(super) fn latest_asked(&self, effect: &Effect) -> Option<ToolRun> {
        let Effect::Emit(Emission::Assistant(message)) = effect else { return None };
        self.asked.last().filter(|(_, run, ..)| run.request == message.id && message.block.as_tool_use().is_some()).map(|(_, run, ..)| *run)
    }

    fn agents_are_done(&mut self, agent: &Agent, run: ToolRun) {
        self.tools.retain(|tool| !(tool.waits_for_agents && tool.run == run && tool.agent == *agent));
    }

    /// All tools that execute, in the order in which they started.
    pub(super) fn tools(&self) -> &[RunningTool] {
        &self.tools
    }

    /// Whether a tool runs that was not told to stop.
    pub(super) fn runs(&self, agent: &Agent, run: ToolRun) -> bool {
        self.tools.iter().any(|tool| tool.agent == *agent && tool.run == run && tool.until.is_none())
    }

    /// Whether a person is asked about a tool use.
    pub(super) fn is_asked_about(&self, agent: &Agent, run: ToolRun) -> bool {
        self.waits.iter().any(|wait| wait.agent == *agent && wait.run == run && wait.awaited == WaitCause::Person)
    }

    /// A tool use that a person is asked about and that does not stop for a message.
    pub(super) fn asked_and_blocking(&self, agent: &Agent) -> Option<ToolRun> {
        let is_asked = |wait: &&WaitingUse| wait.agent == *agent && wait.awaited == WaitCause::Person;
        self.waits.iter().filter(is_asked).find(|wait| wait.behaviour == InterruptBehaviour::Block).map(|wait| wait.run)
    }

    /// Whether a submitted message has to wait for one of the tool uses: it is the root's that say so.
    pub(super) fn blocks_interrupt(&self) -> bool {
        let running = self.tools.iter().filter(|tool| tool.agent.is_root() && tool.until.is_none()).map(|tool| tool.behaviour);
        running
            .chain(self.waits.iter().filter(|wait| wait.agent.is_root()).map(|wait| wait.behaviour))
            .any(|behaviour| behaviour == InterruptBehaviour::Block)
    }

    fn wait(&mut self, agent: &Agent, run: ToolRun, awaited: WaitCause, behaviour: InterruptBehaviour) {
        self.waits.push(WaitingUse { agent: agent.clone(), run, awaited, behaviour });
    }

    fn no_longer(&mut self, agent: &Agent, run: ToolRun, awaited: WaitCause) {
        self.waits.retain(|wait| wait.agent != *agent || wait.run != run || wait.awaited != awaited);
    }

    /// The tool use has its result, so it waits for no open answer any more.
    fn forget(&mut self, is_over: impl Fn(&Agent, ToolRun) -> bool) {
        self.waits.retain(|wait| !is_over(&wait.agent, wait.run));
        self.started.retain(|(agent, run, _)| !is_over(agent, *run));
    }
}

fn tool_of_hook(subject: HookSubject) -> Option<ToolRun> {
    match subject {
        HookSubject::Tool(run) => Some(run),
        HookSubject::Stop(_) | HookSubject::Compaction(_) => None,
    }
}

/// The tool use of a question that this effect asks, if any.
pub(super) fn asked_about(effect: &Effect) -> Option<ToolRun> {
    match effect {
        Effect::CheckTool { run, .. } | Effect::AskPermission { run, .. } | Effect::StoreResult { run, .. } => Some(*run),
        Effect::RunHook { hook, .. } => tool_of_hook(hook.subject),
        _ => None,
    }
}

/// The tool that such an effect, or one that starts a tool, names.
pub(super) fn asked_tool(effect: &Effect) -> Option<&str> {
    match effect {
        Effect::StartTool { tool_use, .. }
        | Effect::StartAgent { tool_use, .. }
        | Effect::CheckTool { tool_use, .. }
        | Effect::AskPermission { tool_use, .. } => Some(&tool_use.name),
        Effect::RunHook { input, .. } => input.tool.as_deref(),
        _ => None,
    }
}

/// The command of an input; `None` where there are two, since nobody knows which one the tool runs.
fn command_in(input: &Json) -> Option<String> {
    let object = RawObject::parse(input.as_str()).ok()?;
    let commands = object.members().filter(|(name, _)| *name == "command").count();
    if commands == 1 { object.string("command").map(Cow::into_owned) } else { None }
}
