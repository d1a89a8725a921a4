//! The steps of one tool use from its start to its result (T-21 to T-30).
//!
//! ```text
//!   start ─ validate ─> Checking ─> PreHooks ─ permission ─> Asking ─> Calling ─> PostHooks ─ map ─> Storing ─> Done
//!              │            │           │           │           │         └─ the tool aborts itself ────────────▲
//!              └────────────┴───────────┴───────────┴───────────┴── an error result with its cause ─────────────┘
//! ```
//!
//! A step in which there is nothing to do is passed through in the same instant and leaves no trace: a tool without checks, hooks and
//! permissions is called at once. An abort can come at every state ([`Pipeline::halt`]).

pub(super) mod elicitation;
mod words;

use super::diagram::ToolPhase;
use super::input::{InputAuthor, InputProblem};
use super::result;
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, FailureCause, HookRun, HookSubject, Input, ToolOutcome, ToolRun};
use crate::emission::{Emission, Note, PermissionDenial, PipelineStep};
use crate::hook::{HookEvent, HookInput, HookVerdict, RunningHooks};
use crate::key::Deadline;
use crate::permission::PermissionWord;
use crate::permission::context::PermissionContext;
use crate::permission::decide::{PermissionDecision, PermissionQuestion, decide};
use crate::permission::{PermissionAnswer, ToolCheck};
use crate::settings::{Environment, ToolDefinition};
use crate::texts::TextName;
use crate::time::Time;
use elicitation::ElicitationQueue;
use reenact_wire::block::{ToolInput, ToolUse};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The state around a pipeline, which every step may read and change.
pub(crate) struct PipelineScope<'a> {
    pub(crate) env: &'a Environment,
    pub(crate) now: Time,
    /// The permissions that the session has learnt.
    pub(crate) permissions: &'a mut PermissionContext,
    pub(crate) effects: &'a mut AgentEffects,
}

/// A tool use under way. Its state is left by setting the next one; where it has its result, the owner leaves it.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct Pipeline {
    run: ToolRun,
    /// With the input that counts, which hooks and people may have changed.
    tool_use: Arc<ToolUse>,
    /// When the present step becomes a slow one (T-29).
    slow_at: Deadline,
    /// The answer of a person in an earlier session, as long as it was not asked for (S-3).
    answered: Option<Arc<PermissionAnswer>>,
    step: PipelineState,
}

#[derive(Clone, Debug, PartialEq, Hash)]
enum PipelineState {
    /// Nothing was to be done so far; never at the end of a step.
    Starting,
    /// The tool looks at its input (T-22).
    Checking,
    /// Hooks are asked (T-23).
    PreHooks { hooks: RunningHooks, check: ToolCheck },
    /// A person is asked (T-24).
    Asking,
    /// It runs (T-25), and its server may wait for answers (S-11).
    Calling { questions: ElicitationQueue },
    /// Hooks hear of the result (T-26).
    PostHooks { hooks: RunningHooks, outcome: Arc<ToolOutcome> },
    /// The result is being stored (T-27).
    Storing { outcome: Arc<ToolOutcome>, characters: u64 },
}

/// Decisions of hooks about a tool use that concern the whole turn.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct TurnHookOutcome {
    /// The texts of hooks for the model.
    pub(super) contexts: Vec<Arc<str>>,
    /// Why the turn should end.
    pub(super) stop: Option<Arc<str>>,
}

/// How far a step has brought the tool use.
#[derive(Clone, Debug, PartialEq, Hash)]
#[must_use]
pub(super) enum PipelineVerdict {
    /// It waits for something.
    Running,
    /// It has its result.
    Done(PipelineEnd),
}

/// The end of a pipeline.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct PipelineEnd {
    /// The text for the model.
    pub(super) outcome: Arc<ToolOutcome>,
    /// If it was not permitted.
    pub(super) denial: Option<PermissionDenial>,
}

/// The state of a pipeline after an abort.
#[derive(Clone, Debug, PartialEq, Hash)]
#[must_use]
pub(super) enum PipelineHalt {
    /// Nothing runs any more.
    AtOnce,
    /// The tool runs, and is stopping.
    Stopping,
    /// The tool had ended: what it did is done, and its result stands.
    Ended(PipelineEnd),
}

impl Pipeline {
    /// Begins with a valid input.
    pub(super) fn start(
        scope: &mut PipelineScope<'_>,
        run: ToolRun,
        tool_use: Arc<ToolUse>,
        answered: Option<Arc<PermissionAnswer>>,
    ) -> (Self, PipelineVerdict) {
        let mut pipeline = Self { run, tool_use, slow_at: Deadline::default(), answered, step: PipelineState::Starting };
        let verdict = if pipeline.definition(scope.env).is_some_and(|tool| tool.checks) {
            pipeline.enter(scope, PipelineStep::Check, PipelineState::Checking);
            scope.effects.push(Effect::CheckTool { run, tool_use: pipeline.tool_use.clone() });
            PipelineVerdict::Running
        } else {
            pipeline.reach_pre_hooks(scope, ToolCheck::default())
        };
        (pipeline, verdict)
    }

    /// Takes an input that is about this run, or a timer. What no step waits for is late, and counts for nothing.
    pub(super) fn step(&mut self, scope: &mut PipelineScope<'_>, input: &Input, heard: &mut TurnHookOutcome) -> PipelineVerdict {
        match (&mut self.step, input) {
            (PipelineState::Checking, Input::ToolChecked { check, .. }) => self.on_checked(scope, check),
            (PipelineState::PreHooks { hooks, .. } | PipelineState::PostHooks { hooks, .. }, Input::HookEnded { hook, outcome }) => {
                let verdict = hooks.on_ended(scope.now, *hook, outcome, scope.effects);
                self.on_hooks(scope, verdict, heard)
            }
            (PipelineState::PreHooks { hooks, .. } | PipelineState::PostHooks { hooks, .. }, Input::Timer(_)) => {
                let verdict = hooks.on_timer(scope.now, scope.effects);
                self.on_hooks(scope, verdict, heard)
            }
            (PipelineState::Asking, Input::PermissionAnswered { answer, .. }) => {
                self.leave(scope, PipelineStep::Ask);
                self.on_permission_answer(scope, answer)
            }
            (PipelineState::Calling { questions }, Input::ElicitationAsked { message, .. }) => {
                questions.ask(scope, self.run, message);
                PipelineVerdict::Running
            }
            (PipelineState::Calling { questions }, Input::ElicitationAnswered { answer, .. }) => {
                questions.answer(self.run, answer, scope.effects);
                PipelineVerdict::Running
            }
            (PipelineState::Calling { questions }, Input::ToolEnded { outcome, .. }) => {
                questions.withdraw(self.run, scope.effects);
                self.on_ended(scope, outcome)
            }
            (PipelineState::Storing { outcome, characters }, Input::ResultStored { path, .. }) => {
                let (outcome, characters) = (outcome.clone(), *characters);
                self.leave(scope, PipelineStep::Store);
                PipelineVerdict::Done(self.shortened(scope.env, &outcome, characters, path.as_deref()))
            }
            _ => PipelineVerdict::Running,
        }
    }

    /// Ends what is under way: hooks are stopped, a question is withdrawn, a running tool is stopped (T-30).
    pub(super) fn halt(&self, env: &Environment, effects: &mut AgentEffects) -> PipelineHalt {
        match &self.step {
            PipelineState::Starting | PipelineState::Checking => PipelineHalt::AtOnce,
            PipelineState::PreHooks { hooks, .. } => {
                hooks.abort(effects);
                PipelineHalt::AtOnce
            }
            PipelineState::Asking => {
                effects.push(Effect::WithdrawPermission { run: self.run });
                PipelineHalt::AtOnce
            }
            PipelineState::Calling { questions } => {
                questions.withdraw(self.run, effects);
                effects.push(Effect::StopTool { run: self.run });
                PipelineHalt::Stopping
            }
            PipelineState::PostHooks { hooks, outcome } => {
                hooks.abort(effects);
                PipelineHalt::Ended(self.unstored(env, outcome))
            }
            PipelineState::Storing { outcome, .. } => PipelineHalt::Ended(self.unstored(env, outcome)),
        }
    }

    /// The reason of a hook that has answered and stops the turn, while others are awaited.
    pub(super) fn stop_until_now(&self) -> Option<&Arc<str>> {
        match &self.step {
            PipelineState::PreHooks { hooks, .. } | PipelineState::PostHooks { hooks, .. } => hooks.stop_until_now(),
            _ => None,
        }
    }

    /// Leaves a tool that runs to itself: nobody will pass on an answer to what it asks, so that is declined (T-19).
    pub(super) fn abandon(&self, effects: &mut AgentEffects) {
        if let PipelineState::Calling { questions } = &self.step {
            questions.decline(self.run, effects);
        }
    }

    /// When the time of a hook is up next.
    pub(super) fn hooks_until(&self) -> Option<Time> {
        match &self.step {
            PipelineState::PreHooks { hooks, .. } | PipelineState::PostHooks { hooks, .. } => hooks.until(),
            _ => None,
        }
    }

    /// The step that it is at; one that has not begun waits for its turn.
    pub(super) fn phase(&self) -> ToolPhase {
        match self.step {
            PipelineState::Starting => ToolPhase::Queued,
            PipelineState::Checking => ToolPhase::Checking,
            PipelineState::PreHooks { .. } => ToolPhase::PreHooks,
            PipelineState::Asking => ToolPhase::Asking,
            PipelineState::Calling { .. } => ToolPhase::Calling,
            PipelineState::PostHooks { .. } => ToolPhase::PostHooks,
            PipelineState::Storing { .. } => ToolPhase::Storing,
        }
    }

    /// T-22: what the tool finds is the answer.
    fn on_checked(&mut self, scope: &mut PipelineScope<'_>, check: &ToolCheck) -> PipelineVerdict {
        self.leave(scope, PipelineStep::Check);
        match &check.problem {
            Some(problem) => failed(ToolOutcome { cause: Some(FailureCause::Check), ..ToolOutcome::error(problem) }),
            None => self.reach_pre_hooks(scope, check.clone()),
        }
    }

    fn reach_pre_hooks(&mut self, scope: &mut PipelineScope<'_>, check: ToolCheck) -> PipelineVerdict {
        match self.start_hooks(scope, PipelineStep::PreHooks, HookEvent::PreToolUse, |pipeline| pipeline.input()) {
            Some(hooks) => {
                self.step = PipelineState::PreHooks { hooks, check };
                PipelineVerdict::Running
            }
            None => self.reach_permission(scope, None, &check),
        }
    }

    /// All hooks of a point have answered, or their time is up (T-23, T-26).
    fn on_hooks(&mut self, scope: &mut PipelineScope<'_>, verdict: Option<HookVerdict>, heard: &mut TurnHookOutcome) -> PipelineVerdict {
        let Some(verdict) = verdict else { return PipelineVerdict::Running };
        let step = if matches!(self.step, PipelineState::PreHooks { .. }) { PipelineStep::PreHooks } else { PipelineStep::PostHooks };
        if verdict.took >= scope.env.settings.pipeline.hooks_shown_from {
            scope.effects.push(Effect::Note(Note::Slow { run: self.run, step, took: verdict.took }));
        }
        hear(scope, &verdict, heard);
        match &self.step {
            PipelineState::PreHooks { check, .. } => {
                let check = check.clone();
                if let Some(input) = &verdict.updated_input
                    && let Err(problem) = self.change_input(scope.env, input)
                {
                    return failed(problem.answer(&self.tool_use.name, InputAuthor::Hook, &scope.env.settings.texts));
                }
                let reasons = words::reasons(verdict.decision, &verdict.reasons);
                self.reach_permission(scope, verdict.decision.map(|decision| (decision, &*reasons)), &check)
            }
            PipelineState::PostHooks { outcome, .. } => {
                let outcome = outcome.clone();
                // It is too late to prevent anything: the model is told of the objection.
                if verdict.decision == Some(PermissionWord::Deny) {
                    let texts = &scope.env.settings.texts;
                    let objection = |reason: &Arc<str>| texts.say(TextName::HookObjection, &[("reason", reason)]).into();
                    heard.contexts.extend(verdict.reasons.iter().map(objection));
                }
                self.reach_map(scope, &outcome)
            }
            _ => PipelineVerdict::Running,
        }
    }

    /// T-24, up to the person.
    fn reach_permission(
        &mut self,
        scope: &mut PipelineScope<'_>,
        hooks: Option<(PermissionWord, &str)>,
        check: &ToolCheck,
    ) -> PipelineVerdict {
        let is_forbidden = hooks.is_some_and(|(decision, _)| decision == PermissionWord::Deny);
        if let Some(answer) = self.answered.take().filter(|_| !is_forbidden) {
            return self.on_permission_answer(scope, &answer); // S-3: nobody is asked again
        }
        let settings = scope.env.settings.permissions.as_ref();
        let has_a_word = settings.is_some() || hooks.is_some() || check.permission.is_some() || !scope.permissions.is_empty();
        let Some(tool) = self.definition(scope.env).filter(|_| has_a_word) else { return self.reach_call(scope) };
        self.note(scope, PipelineStep::Permission);
        let input = self.input();
        let (cwd, texts) = (&scope.env.settings.session.cwd, &scope.env.settings.texts);
        match decide(PermissionQuestion { tool, input: &input, hooks, check, cwd, texts }, settings, scope.permissions) {
            PermissionDecision::Allow => {
                self.note(scope, PipelineStep::Call);
                self.call(scope)
            }
            PermissionDecision::Deny { reason } => {
                let name = &self.tool_use.name;
                match is_forbidden {
                    true => self.denied(FailureCause::Hook, &words::denied_by_hook(texts, name, &reason), None),
                    false => self.denied(FailureCause::Refused, &words::not_permitted(texts, name, &reason), None),
                }
            }
            PermissionDecision::Ask { reason, suggestions } => {
                self.enter(scope, PipelineStep::Ask, PipelineState::Asking);
                let tool_use = self.tool_use.clone();
                scope.effects.push(Effect::AskPermission { run: self.run, tool_use, reason, suggestions });
                PipelineVerdict::Running
            }
        }
    }

    fn on_permission_answer(&mut self, scope: &mut PipelineScope<'_>, answer: &PermissionAnswer) -> PipelineVerdict {
        let (name, texts) = (&self.tool_use.name.clone(), &scope.env.settings.texts);
        match answer {
            PermissionAnswer::Allow { updated_input, rules } => {
                rules.iter().for_each(|rule| scope.permissions.allow(rule));
                match updated_input.as_ref().map(|input| self.change_input(scope.env, input)) {
                    Some(Err(problem)) => failed(problem.answer(name, InputAuthor::User, texts)),
                    _ => self.reach_call(scope),
                }
            }
            PermissionAnswer::Refuse { reason } => self.denied(FailureCause::Refused, &words::refused(texts, name, reason), None),
            PermissionAnswer::RefuseAndAbort { reason } => {
                let why = if reason.is_empty() { Arc::from("the user refused") } else { reason.clone() };
                self.denied(FailureCause::Refused, &words::refused(texts, name, reason), Some(why))
            }
        }
    }

    fn reach_call(&mut self, scope: &mut PipelineScope<'_>) -> PipelineVerdict {
        // A call before which there was nothing to do is told by the tool's state.
        if self.step != PipelineState::Starting {
            self.note(scope, PipelineStep::Call);
        }
        self.call(scope)
    }

    fn call(&mut self, scope: &mut PipelineScope<'_>) -> PipelineVerdict {
        self.step = PipelineState::Calling { questions: ElicitationQueue::default() };
        let (run, tool_use) = (self.run, self.tool_use.clone());
        let is_agent = scope.env.agent_tool(&tool_use.name).is_some();
        scope.effects.push(if is_agent { Effect::StartAgent { run, tool_use } } else { Effect::StartTool { run, tool_use } });
        PipelineVerdict::Running
    }

    /// T-25, and the hooks that hear of it (T-26). A tool that aborts itself ends everything: no hook is asked any more.
    fn on_ended(&mut self, scope: &mut PipelineScope<'_>, outcome: &Arc<ToolOutcome>) -> PipelineVerdict {
        let texts = &scope.env.settings.texts;
        let outcome = match outcome.content.as_str() {
            "null" => Arc::new(words::nothing(texts, &self.tool_use.name, outcome)),
            _ => outcome.clone(),
        };
        if let Some(reason) = &outcome.abort {
            let PipelineEnd { outcome, denial } = self.unstored(scope.env, &outcome);
            return PipelineVerdict::Done(PipelineEnd { outcome: Arc::new(words::with_reason(texts, &outcome, reason)), denial });
        }
        let event = if outcome.is_error { HookEvent::PostToolFailure } else { HookEvent::PostToolUse };
        match self.start_hooks(scope, PipelineStep::PostHooks, event, |pipeline| words::post_hook_input(&pipeline.input(), &outcome)) {
            Some(hooks) => {
                self.step = PipelineState::PostHooks { hooks, outcome };
                PipelineVerdict::Running
            }
            None => self.reach_map(scope, &outcome),
        }
    }

    /// T-27.
    fn reach_map(&mut self, scope: &mut PipelineScope<'_>, outcome: &Arc<ToolOutcome>) -> PipelineVerdict {
        let Some(characters) = result::excess(&outcome.content, self.limit(scope.env)) else {
            return PipelineVerdict::Done(called(outcome.clone()));
        };
        self.note(scope, PipelineStep::Map);
        self.enter(scope, PipelineStep::Store, PipelineState::Storing { outcome: outcome.clone(), characters });
        scope.effects.push(Effect::StoreResult { run: self.run, content: outcome.content.clone() });
        PipelineVerdict::Running
    }

    /// Starts the hooks of a point; `None` without hooks. Their input is made only if a hook listens.
    fn start_hooks(
        &mut self,
        scope: &mut PipelineScope<'_>,
        step: PipelineStep,
        event: HookEvent,
        data: impl FnOnce(&Self) -> Json,
    ) -> Option<RunningHooks> {
        if scope.env.hooks.iter().all(|hook| hook.event != event) {
            return None;
        }
        let input = HookInput { event, tool: Some(self.tool_use.name.clone()), data: data(self), stop_hook_active: false };
        let hooks = RunningHooks::choose(scope.env, scope.now, HookSubject::Tool(self.run), &input)?;
        self.note(scope, step);
        hooks.run(input, scope.effects);
        Some(hooks)
    }

    /// Puts another input in the place of the model's, unless that cannot be used.
    fn change_input(&mut self, env: &Environment, input: &Json) -> Result<(), InputProblem> {
        let input = ToolInput::read(input.as_str());
        match InputProblem::find(env, &self.tool_use.name, &input) {
            Some(problem) => Err(problem),
            None => {
                self.tool_use = Arc::new(ToolUse { input, ..ToolUse::clone(&self.tool_use) });
                Ok(())
            }
        }
    }

    fn denied(&self, cause: FailureCause, text: &str, abort: Option<Arc<str>>) -> PipelineVerdict {
        let outcome = ToolOutcome { cause: Some(cause), abort, ..ToolOutcome::error(text) };
        let ToolUse { id, name, .. } = &*self.tool_use;
        let denial = PermissionDenial { tool: name.clone(), tool_use_id: id.clone(), input: self.input() };
        PipelineVerdict::Done(PipelineEnd { outcome: Arc::new(outcome), denial: Some(denial) })
    }

    /// The result that has come, cut if it is too large: there is no time left to store it.
    fn unstored(&self, env: &Environment, outcome: &Arc<ToolOutcome>) -> PipelineEnd {
        match result::excess(&outcome.content, self.limit(env)) {
            Some(characters) => self.shortened(env, outcome, characters, None),
            None => called(outcome.clone()),
        }
    }

    /// The shortened form of a result that is too large for the model (T-27).
    fn shortened(&self, env: &Environment, outcome: &Arc<ToolOutcome>, characters: u64, path: Option<&str>) -> PipelineEnd {
        let content = match path {
            Some(path) => result::preview(&env.settings.texts, &outcome.content, (characters, env.settings.pipeline.result_preview), path),
            None => result::cut(&env.settings.texts, &outcome.content, (characters, self.limit(env))),
        };
        called(Arc::new(ToolOutcome { content, ..ToolOutcome::clone(outcome) }))
    }

    fn limit(&self, env: &Environment) -> u64 {
        self.definition(env).and_then(|tool| tool.result_limit).unwrap_or(env.settings.pipeline.result_limit)
    }

    fn definition<'e>(&self, env: &'e Environment) -> Option<&'e ToolDefinition> {
        env.tool(&self.tool_use.name)
    }

    fn input(&self) -> Json {
        self.tool_use.input.to_json()
    }

    fn enter(&mut self, scope: &mut PipelineScope<'_>, noted: PipelineStep, step: PipelineState) {
        self.note(scope, noted);
        self.slow_at = Deadline(scope.now + scope.env.settings.pipeline.slow_from);
        self.step = step;
    }

    /// T-29: a step that took long is worth a word.
    fn leave(&mut self, scope: &mut PipelineScope<'_>, step: PipelineStep) {
        let slow_at = core::mem::take(&mut self.slow_at).0;
        if slow_at <= scope.now {
            let took = scope.env.settings.pipeline.slow_from + scope.now.since(slow_at);
            scope.effects.push(Effect::Note(Note::Slow { run: self.run, step, took }));
        }
    }

    fn note(&self, scope: &mut PipelineScope<'_>, step: PipelineStep) {
        scope.effects.push(Effect::Note(Note::Pipeline { run: self.run, step }));
    }
}

/// The end of a tool use in an error of its own.
fn failed(outcome: ToolOutcome) -> PipelineVerdict {
    PipelineVerdict::Done(PipelineEnd { outcome: Arc::new(outcome), denial: None })
}

fn called(outcome: Arc<ToolOutcome>) -> PipelineEnd {
    PipelineEnd { outcome, denial: None }
}

/// Emits the hooks' contexts, and keeps the parts that concern the model and the turn.
fn hear(scope: &mut PipelineScope<'_>, verdict: &HookVerdict, heard: &mut TurnHookOutcome) {
    let name = |hook: HookRun| scope.env.hooks.get(hook.hook as usize).map_or("", |hook| &*hook.name);
    for (hook, text) in &verdict.contexts {
        scope.effects.push(Effect::Emit(Emission::HookContext { hook: *hook, text: text.clone() }));
        let parts = [("hook", name(*hook)), ("text", text)];
        heard.contexts.push(scope.env.settings.texts.say(TextName::HookContext, &parts).into());
    }
    for (hook, failure) in &verdict.failures {
        let text = format!("hook {} failed: {failure}", name(*hook)).into();
        scope.effects.push(Effect::Emit(Emission::Warning { text }));
    }
    if let Some(stop) = &verdict.stop {
        heard.stop.get_or_insert_with(|| stop.clone());
    }
}
