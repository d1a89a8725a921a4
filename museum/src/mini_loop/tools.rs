//! The tool uses of an answer at work: checks, hooks, a person's word, the run, the result.
//!
//! ```text
//!   queued ── check ── hooks ── a person ── running ── done      each step only where there is something to ask
//! ```
//!
//! A tool that may run beside others starts while the model still speaks. One that must run alone waits for the whole answer: so an attempt that fails has
//! never written anything.

use core::marker::PhantomData;
use core::mem;
use std::sync::Arc;

use reenact::engine::contract::{
    Agent, Effect, Effects, Emission, Environment, HookEvent, HookInput, HookRun, HookSubject, Input, Json, PermissionAnswer,
    PermissionWord, RequestId, Time, TimerId, ToolCheck, ToolInput, ToolRun, ToolSafety, ToolUse,
};
use reenact::engine::settings::InterruptBehaviour;

use super::agents::SubAgent;
use super::habits::Habits;
use super::scope::StepScope;
use super::tool_table::{HookAnswer, ToolStage, ToolTable};

/// The tools of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Tools<H: Habits> {
    /// The tool uses of the present answer.
    pub table: ToolTable,
    /// Whether that answer is whole.
    pub answer_is_whole: bool,
    /// Tools that were told to stop and still run.
    stopping: Vec<ToolRun>,
    /// Agents that work for tool uses, those that are stopping included.
    agents: Vec<SubAgent<H>>,
    /// Rings when nobody waits any longer for what is stopping.
    grace: Option<TimerId>,
    habits: PhantomData<H>,
}

/// The meaning of an input for the prompt.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Hash, Eq)]
pub enum ToolVerdict {
    /// Nothing.
    Pending,
    /// It ends as if the user had cancelled it: a tool ended it, or a person who was asked.
    Abort,
}

impl<H: Habits> Tools<H> {
    /// Adds a tool use as the model asked for it.
    pub fn push(&mut self, env: &Environment, request: RequestId, tool_use: ToolUse, answers: &Arc<str>) {
        let is_safe = env.tool(&tool_use.name).is_some_and(|tool| tool.safe == ToolSafety::Always);
        self.table.push(request, tool_use, answers, is_safe);
    }

    /// Begins what may begin, in the order of the model.
    pub fn admit(&mut self, scope: &mut StepScope<'_>) {
        for at in 0..self.table.entries.len() {
            if self.table.entries[at].stage != ToolStage::Queued {
                continue;
            }
            let mut open_before = self.table.entries[..at].iter().filter(|entry| entry.stage != ToolStage::Done);
            let may_begin = match self.table.entries[at].is_safe {
                true => open_before.all(|entry| entry.is_safe),
                false => self.answer_is_whole && open_before.next().is_none() && self.stopping.is_empty() && self.agents.is_empty(),
            };
            if !may_begin {
                return;
            }
            self.begin(scope, at);
        }
    }

    /// Takes what concerns tools.
    pub fn on_input(&mut self, scope: &mut StepScope<'_>, input: &Input) -> ToolVerdict {
        match input {
            Input::ToolProgress { run, text, kind } => {
                if let Some(at) = self.table.place(*run) {
                    let tool_use_id = self.table.entries[at].tool_use.id.clone();
                    scope.emit(Emission::Progress { run: *run, tool_use_id, text: text.clone(), kind: *kind, details: None });
                }
            }
            Input::ToolEnded { run, outcome } => {
                self.stopping.retain(|stopping| stopping != run);
                if let Some(at) = self.table.place(*run) {
                    self.table.finish(scope, at, &outcome.content, outcome.is_error);
                    return if outcome.abort.is_some() { ToolVerdict::Abort } else { ToolVerdict::Pending };
                }
            }
            Input::ToolChecked { run, check } => {
                if let Some(at) = self.table.place(*run).filter(|at| self.table.entries[*at].stage == ToolStage::Checking) {
                    self.on_checked(scope, at, check);
                }
            }
            Input::HookEnded { hook: HookRun { hook, subject: HookSubject::Tool(run) }, outcome } => {
                if let Some(at) = self.table.place(*run)
                    && let ToolStage::Hooks { open, answers, timer } = &mut self.table.entries[at].stage
                {
                    open.retain(|open| open != hook);
                    answers.push(HookAnswer { hook: *hook, outcome: outcome.clone() });
                    if open.is_empty() {
                        let (answers, timer) = (mem::take(answers), *timer);
                        scope.cancel_timer(Some(timer));
                        self.on_hooks_ended(scope, at, &answers);
                    }
                }
            }
            Input::Timer(timer) => self.on_timer(scope, *timer),
            Input::PermissionAnswered { run, answer } => {
                let asked = H::answered_question(&self.table.entries, *run);
                if let Some(at) = asked.filter(|at| self.table.entries[*at].stage == ToolStage::Asking) {
                    return self.on_answered(scope, at, answer);
                }
            }
            // A question of a tool's server: nobody here can answer it.
            Input::ElicitationAsked { run, .. } => scope.push(Effect::AnswerElicitation { run: *run, answer: None }),
            _ => (),
        }
        ToolVerdict::Pending
    }

    /// Passes an input on to the agent that it is for.
    pub fn step_agent(&mut self, now: Time, agent: &Agent, input: &Input, effects: &mut Effects) {
        if let Some(child) = self.agents.iter_mut().find(|child| child.address == *agent) {
            child.step(now, input, effects);
        }
    }

    /// Takes note of the agents that have ended. `is_streaming` says whether the model speaks meanwhile.
    pub fn collect_agents(&mut self, scope: &mut StepScope<'_>, is_streaming: bool) {
        for child in self.agents.extract_if(.., |child| child.is_idle()) {
            if let Some(at) = self.table.place(child.run).filter(|_| H::takes_agent_end(is_streaming)) {
                let (text, is_error) = child.result();
                self.table.finish(scope, at, &Json::from_value(text), is_error);
            }
        }
    }

    /// Nothing of the prompt is wanted any more: what runs is told to stop, what was asked is taken back. The results are not given here.
    pub fn stop(&mut self, scope: &mut StepScope<'_>) {
        self.stop_entries(scope);
        for child in self.agents.iter_mut().filter(|child| H::cancel_reaches(child.is_streaming())) {
            child.cancel(scope);
        }
    }

    /// The attempt that asked for all this has failed: the tool uses are forgotten. The tools that were told to stop.
    pub fn discard(&mut self, scope: &mut StepScope<'_>) -> Vec<ToolRun> {
        let known = self.stopping.len();
        self.stop_entries(scope);
        self.agents.iter_mut().for_each(|child| child.discard(scope));
        self.table.take_back(scope);
        self.stopping[known..].to_vec()
    }

    /// Whether nothing of them is at work any more.
    pub fn is_quiet(&self) -> bool {
        self.table.is_done() && self.stopping.is_empty() && self.agents.is_empty()
    }

    /// Nothing is left to wait for.
    pub fn cancel_grace(&mut self, scope: &mut StepScope<'_>) {
        if self.stopping.is_empty() {
            scope.cancel_timer(self.grace.take());
        }
    }

    /// Whether a submitted message has to wait for one of the tools.
    pub fn blocks_messages(&self, env: &Environment) -> bool {
        let is_idle = |stage: &ToolStage| matches!(stage, ToolStage::Queued | ToolStage::Done);
        let stops = |name: &str| env.tool(name).is_some_and(|tool| tool.interrupt == Some(InterruptBehaviour::Cancel));
        self.table.entries.iter().any(|entry| !is_idle(&entry.stage) && !stops(&entry.tool_use.name))
    }

    fn begin(&mut self, scope: &mut StepScope<'_>, at: usize) {
        let entry = &mut self.table.entries[at];
        let (run, tool_use) = (entry.run, entry.tool_use.clone());
        match (scope.env.tool(&tool_use.name), &tool_use.input) {
            (None, _) => self.table.refuse(scope, at, &format!("There is no tool named {}.", tool_use.name)),
            (_, ToolInput::Invalid { error, .. }) => self.table.refuse(scope, at, &format!("The input is not valid JSON: {error}.")),
            (Some(tool), _) if tool.checks => {
                entry.stage = ToolStage::Checking;
                scope.push(Effect::CheckTool { run, tool_use });
            }
            _ => self.on_checked(scope, at, &ToolCheck::default()),
        }
    }

    fn on_checked(&mut self, scope: &mut StepScope<'_>, at: usize, check: &ToolCheck) {
        let reason = check.reason.as_deref().unwrap_or("the tool does not allow this input");
        match (&check.problem, check.permission) {
            (Some(problem), _) => self.table.refuse(scope, at, problem),
            (None, Some(PermissionWord::Deny)) => self.table.refuse(scope, at, &format!("Not permitted: {reason}.")),
            (None, word) => {
                self.table.entries[at].word = word.unwrap_or(PermissionWord::Allow);
                self.ask_hooks(scope, at);
            }
        }
    }

    /// All hooks that are for the tool run at once.
    fn ask_hooks(&mut self, scope: &mut StepScope<'_>, at: usize) {
        let entry = &mut self.table.entries[at];
        let names = |matcher: &str| matcher.split('|').any(|name| name == "*" || *name == *entry.tool_use.name);
        let hooks = (0..).zip(&scope.env.hooks).filter(|(_, hook)| hook.event == HookEvent::PreToolUse);
        let open: Vec<u32> = hooks.filter(|(_, hook)| hook.matcher.as_deref().is_none_or(names)).map(|(at, _)| at).collect();
        if open.is_empty() {
            return self.on_hooks_ended(scope, at, &[]);
        }
        let (tool, data) = (Some(entry.tool_use.name.clone()), entry.tool_use.input.to_json());
        let input = Arc::new(HookInput { event: HookEvent::PreToolUse, tool, data, stop_hook_active: false });
        for hook in &open {
            let hook = HookRun { hook: *hook, subject: HookSubject::Tool(entry.run) };
            scope.push(Effect::RunHook { hook, input: input.clone() });
        }
        let timeout = open.iter().filter_map(|hook| Some(scope.env.hooks.get(*hook as usize)?.timeout)).max().unwrap_or_default();
        let timer = scope.set_timer(scope.now + timeout);
        entry.stage = ToolStage::Hooks { open, answers: Vec::new(), timer };
    }

    /// The time of a tool to stop is over, or that of a hook to answer: then it counts as silent.
    fn on_timer(&mut self, scope: &mut StepScope<'_>, rung: TimerId) {
        if self.grace == Some(rung) {
            self.grace = None;
            self.stopping.clear();
        }
        for at in 0..self.table.entries.len() {
            let entry = &mut self.table.entries[at];
            if let ToolStage::Hooks { open, answers, timer } = &mut entry.stage
                && *timer == rung
            {
                for hook in open.drain(..) {
                    scope.push(Effect::StopHook { hook: HookRun { hook, subject: HookSubject::Tool(entry.run) } });
                }
                let answers = mem::take(answers);
                self.on_hooks_ended(scope, at, &answers);
            }
        }
    }

    /// A denial counts before a question, a question before leave.
    fn on_hooks_ended(&mut self, scope: &mut StepScope<'_>, at: usize, answers: &[HookAnswer]) {
        let denial = answers.iter().find(|answer| answer.outcome.decision == Some(PermissionWord::Deny));
        if let Some(denial) = denial {
            let reason = denial.outcome.reason.as_deref().unwrap_or("it gives no reason");
            return self.table.refuse(scope, at, &format!("A hook did not allow this: {reason}."));
        }
        let entry = &mut self.table.entries[at];
        let words = answers.iter().filter_map(|answer| answer.outcome.decision);
        entry.word = words.chain([entry.word]).max().unwrap_or(PermissionWord::Allow);
        if let Some(input) = H::changed_input(answers) {
            Arc::make_mut(&mut entry.tool_use).input = ToolInput::read(input.as_str());
        }
        if entry.word == PermissionWord::Ask {
            entry.stage = ToolStage::Asking;
            let reason = "the tool or a hook wants a person to decide".into();
            let (run, tool_use) = (entry.run, entry.tool_use.clone());
            return scope.push(Effect::AskPermission { run, tool_use, reason, suggestions: Vec::new() });
        }
        self.start(scope, at);
    }

    fn on_answered(&mut self, scope: &mut StepScope<'_>, at: usize, answer: &PermissionAnswer) -> ToolVerdict {
        match answer {
            PermissionAnswer::Allow { updated_input, .. } => {
                if let Some(input) = updated_input {
                    Arc::make_mut(&mut self.table.entries[at].tool_use).input = ToolInput::read(input.as_str());
                }
                self.start(scope, at);
            }
            PermissionAnswer::Refuse { reason } => self.table.refuse(scope, at, &format!("The user refused: {reason}")),
            PermissionAnswer::RefuseAndAbort { reason } => {
                self.table.refuse(scope, at, &format!("The user refused: {reason}"));
                return ToolVerdict::Abort;
            }
        }
        ToolVerdict::Pending
    }

    fn start(&mut self, scope: &mut StepScope<'_>, at: usize) {
        let entry = &mut self.table.entries[at];
        entry.stage = ToolStage::Running;
        let (run, tool_use) = (entry.run, entry.tool_use.clone());
        match scope.env.tool(&tool_use.name).and_then(|tool| tool.agent.as_ref()) {
            Some(agent) => {
                scope.push(Effect::StartAgent { run, tool_use: tool_use.clone() });
                self.agents.push(SubAgent::start(scope, run, &tool_use, agent));
            }
            None => scope.push(Effect::StartTool { run, tool_use }),
        }
    }

    /// Tools are told to stop, and get the time of the settings for it; questions are taken back.
    fn stop_entries(&mut self, scope: &mut StepScope<'_>) {
        for entry in &self.table.entries {
            let run = entry.run;
            match &entry.stage {
                ToolStage::Hooks { open, timer, .. } => {
                    scope.cancel_timer(Some(*timer));
                    let stop = |hook: &u32| Effect::StopHook { hook: HookRun { hook: *hook, subject: HookSubject::Tool(run) } };
                    open.iter().for_each(|hook| scope.push(stop(hook)));
                }
                ToolStage::Asking => scope.push(Effect::WithdrawPermission { run }),
                ToolStage::Running if !self.agents.iter().any(|child| child.run == run) => {
                    scope.push(Effect::StopTool { run });
                    self.stopping.push(run);
                }
                _ => (),
            }
        }
        if !self.stopping.is_empty() && self.grace.is_none() {
            self.grace = Some(scope.set_timer(scope.now + scope.env.settings.tool_grace));
        }
    }
}
