//! One tool use inside the executor (T-1).

use super::abort_reason::{self, AbortReason, AbortScopes};
use super::admission::ConcurrencyClass;
use super::class::class_of;
use super::diagram::{DIAGRAM, ToolCause, ToolPhase};
use super::input::{InputAuthor, InputProblem};
use super::pipeline::{Pipeline, PipelineEnd, PipelineScope, PipelineVerdict, TurnHookOutcome, elicitation};
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, Input, ProgressKind, ToolOutcome, ToolRun};
use crate::emission::{Emission, Note, PipelineStep, ProgressDetails, ToolState, UserMessage};
use crate::key::KeylessValue;
use crate::permission::PermissionAnswer;
use crate::settings::{AbortResultOrder, DiscardPolicy, Environment, InterruptBehaviour, QueuedBlockPolicy, Settings};
use crate::texts::TextName;
use crate::time::{Micros, Time};
use reenact_wire::block::{Block, ToolUse};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// A tool use and how far it is.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct ToolEntry {
    pub(super) run: ToolRun,
    pub(super) tool_use: Arc<ToolUse>,
    /// The assistant message that holds the tool use.
    pub(super) answers: Arc<str>,
    pub(super) class: ConcurrencyClass,
    /// Whether an error of it aborts its siblings (T-13).
    pub(super) shell: bool,
    pub(super) interrupt: InterruptBehaviour,
    /// Which batch it runs in; 0 where tools run beside the stream, `None` where they wait for its end (T-20).
    pub(super) batch: Option<u32>,
    /// Progress that is in and not emitted.
    pub(super) progress: Vec<ReportedProgress>,
    /// How much progress it has reported.
    progress_count: u32,
    /// When the tool was called, once it was.
    called: KeylessValue<Option<Time>>,
    /// The details of the result for consumers (T-32).
    details: ResultDetails,
    /// Whether it was called and ended by itself.
    pub(super) has_run: bool,
    /// The decisions of hooks about it.
    pub(super) heard: TurnHookOutcome,
    /// The answer of a person in an earlier session (S-3).
    pub(super) answered: Option<Arc<PermissionAnswer>>,
    pub(super) state: EntryState,
}

/// Progress of a tool on its way to consumers.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct ReportedProgress {
    text: Arc<str>,
    kind: Option<ProgressKind>,
    details: Option<ProgressDetails>,
}

/// The details of a result that consumers get and the model does not see (T-32).
#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct ResultDetails {
    structured: Option<Json>,
    took: KeylessValue<Option<Micros>>,
}

/// T-1. The steps in between are states of the [`Pipeline`]: it knows of no other tool use, and no step can be asked of one that waits, stops or is
/// over. [`ToolPhase`] tells all of them apart, and each change of either is an edge of one diagram.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) enum EntryState {
    /// An input that cannot be used is answered when its turn comes (T-3).
    Queued {
        problem: Option<InputProblem>,
    },
    /// Somewhere on its way through the pipeline.
    Executing(Box<Pipeline>),
    /// Stopping; still counts as executing (T-15a).
    Stopping {
        reason: AbortReason,
        until: Time,
    },
    Completed(Block),
    Yielded {
        result: Block,
        nth: u32,
    },
}

impl ToolEntry {
    pub(super) fn new(run: ToolRun, tool_use: &ToolUse, answers: Arc<str>, env: &Environment) -> Self {
        DIAGRAM.pass(None, ToolCause::Request, ToolPhase::Queued);
        let definition = env.tool(&tool_use.name);
        let problem = InputProblem::find(env, &tool_use.name, &tool_use.input);
        Self {
            run,
            tool_use: Arc::new(tool_use.clone()),
            answers,
            class: class_of(env, tool_use, problem.as_ref()),
            shell: definition.is_some_and(|definition| definition.shell),
            // T-17: an answer that fails counts as block.
            interrupt: definition.and_then(|definition| definition.interrupt).unwrap_or(InterruptBehaviour::Block),
            batch: env.settings.streaming_execution.then_some(0),
            progress: Vec::new(),
            progress_count: 0,
            called: KeylessValue(None),
            details: ResultDetails::default(),
            has_run: false,
            heard: TurnHookOutcome::default(),
            answered: None,
            state: EntryState::Queued { problem },
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase().is_running()
    }

    /// Whether the tool itself runs and is not stopping.
    pub(super) fn is_called(&self) -> bool {
        self.phase() == ToolPhase::Calling
    }

    /// Why it is aborted, if it is (T-15). After a message a queued *block* tool may be let run; before the batches are cut nothing is queued yet.
    pub(super) fn why_aborted(&self, aborts: &AbortScopes, settings: &Settings) -> Option<AbortReason> {
        let is_let_run = settings.queued_block == QueuedBlockPolicy::Run && self.batch.is_some();
        abort_reason::why(aborts, self.is_running() || is_let_run, self.interrupt)
    }

    /// Whether it waits for its turn to be answered when it is aborted (T-15a). Before the batches are cut there are no turns.
    pub(super) fn has_a_turn(&self, settings: &Settings) -> bool {
        settings.abort_results == AbortResultOrder::InTurn && self.batch.is_some()
    }

    /// Whether nobody tells it to stop when its answer is discarded (T-19): it runs outside of the engine, and was not told before.
    pub(super) fn is_left_running(&self, env: &Environment) -> bool {
        let is_agent = env.agent_tool(&self.tool_use.name).is_some();
        env.settings.discarded_tools == DiscardPolicy::Ignore && self.is_called() && !is_agent
    }

    pub(super) fn phase(&self) -> ToolPhase {
        match &self.state {
            EntryState::Queued { .. } => ToolPhase::Queued,
            EntryState::Executing(pipeline) => pipeline.phase(),
            EntryState::Stopping { .. } => ToolPhase::Stopping,
            EntryState::Completed(_) => ToolPhase::Completed,
            EntryState::Yielded { .. } => ToolPhase::Yielded,
        }
    }

    /// The result, once it is emitted.
    pub(super) fn result(&self) -> Option<&Block> {
        match &self.state {
            EntryState::Yielded { result, .. } => Some(result),
            _ => None,
        }
    }

    /// Its turn has come: it waits for something from here on, or has its result at once (T-3, T-22 to T-24).
    pub(super) fn start(&mut self, scope: &mut PipelineScope<'_>) -> Option<PipelineEnd> {
        self.note(ToolState::Executing, scope.effects);
        if let EntryState::Queued { problem: Some(problem) } = &self.state {
            let answer = problem.answer(&self.tool_use.name, InputAuthor::Model, &scope.env.settings.texts);
            scope.effects.push(Effect::Note(Note::Pipeline { run: self.run, step: PipelineStep::Validate }));
            self.complete(ToolCause::Admission, &answer, scope.effects);
            return Some(PipelineEnd { outcome: Arc::new(answer), denial: None });
        }
        let (pipeline, verdict) = Pipeline::start(scope, self.run, self.tool_use.clone(), self.answered.clone());
        match verdict {
            PipelineVerdict::Running => {
                self.to(ToolCause::Admission, EntryState::Executing(Box::new(pipeline)));
                self.note_call(scope.now);
                None
            }
            PipelineVerdict::Done(end) => {
                self.complete(ToolCause::Admission, &end.outcome, scope.effects);
                Some(end)
            }
        }
    }

    /// Takes an input that is about it, or a timer.
    pub(super) fn step(&mut self, scope: &mut PipelineScope<'_>, input: &Input) -> Option<PipelineEnd> {
        let before = self.phase();
        let has_ended = matches!(input, Input::ToolEnded { .. });
        if has_ended && self.is_running() {
            self.note_end(scope.env, scope.now);
        }
        match &mut self.state {
            EntryState::Stopping { reason, .. } if has_ended => {
                let reason = reason.clone();
                self.complete_aborted(scope.env, &reason, scope.effects);
            }
            // It is to stop, and should not wait for anybody.
            EntryState::Stopping { .. } => elicitation::decline_late(input, scope.effects),
            EntryState::Executing(pipeline) => {
                self.has_run |= has_ended;
                if let PipelineVerdict::Done(end) = pipeline.step(scope, input, &mut self.heard) {
                    self.complete(ToolCause::from_input(input), &end.outcome, scope.effects);
                    return Some(end);
                }
                if before != self.phase() {
                    DIAGRAM.pass(Some(before), ToolCause::from_input(input), self.phase());
                }
                self.note_call(scope.now);
            }
            _ => (),
        }
        None
    }

    /// T-2: the answer to a use of a tool that there is not; nothing where there is one.
    pub(super) fn complete_unknown(&mut self, env: &Environment, effects: &mut AgentEffects) {
        let name = &self.tool_use.name;
        if env.tool(name).is_some() {
            return;
        }
        let known: Vec<&str> = env.tools.iter().map(|tool| &*tool.name).collect();
        let known = if known.is_empty() { String::from("none") } else { known.join(", ") };
        let text = env.settings.texts.say(TextName::UnknownTool, &[("tool", name), ("tools", &known)]);
        self.complete(ToolCause::UnknownTool, &ToolOutcome::error(&text), effects);
    }

    /// Gives the synthetic result of an aborted tool use (T-16).
    pub(super) fn complete_aborted(&mut self, env: &Environment, reason: &AbortReason, effects: &mut AgentEffects) {
        self.complete(ToolCause::Abort, &ToolOutcome::error(&reason.text(&env.settings.texts)), effects);
    }

    /// It has its result.
    pub(super) fn complete(&mut self, cause: ToolCause, outcome: &ToolOutcome, effects: &mut AgentEffects) {
        if let Some(failure) = outcome.cause {
            effects.push(Effect::Note(Note::ToolFailed { run: self.run, cause: failure }));
        }
        self.details.structured.clone_from(&outcome.structured);
        let result = Block::tool_result(&self.tool_use.id, &outcome.content, outcome.is_error);
        self.to(cause, EntryState::Completed(result));
        self.note(ToolState::Completed, effects);
    }

    /// The next state, and what brings it about.
    pub(super) fn to(&mut self, cause: ToolCause, state: EntryState) {
        let before = self.phase();
        self.state = state;
        DIAGRAM.pass(Some(before), cause, self.phase());
    }

    pub(super) fn emit_progress(&mut self, effects: &mut AgentEffects) {
        for ReportedProgress { text, kind, details } in core::mem::take(&mut self.progress) {
            let (run, tool_use_id) = (self.run, self.tool_use.id.clone());
            effects.push(Effect::Emit(Emission::Progress { run, tool_use_id, text, kind, details }));
        }
    }

    /// Keeps progress until it is emitted.
    pub(super) fn report_progress(&mut self, env: &Environment, now: Time, text: &Arc<str>, kind: Option<ProgressKind>) {
        self.progress_count += 1;
        let details = self.called.filter(|_| env.settings.session.tool_details).map(|called| ProgressDetails {
            id: format!("{}.t{}.progress{}", self.answers, self.run.index, self.progress_count).into(),
            after: now.since(called),
        });
        self.progress.push(ReportedProgress { text: text.clone(), kind, details });
    }

    /// Takes note of when the tool is called.
    fn note_call(&mut self, now: Time) {
        if self.called.is_none() && self.is_called() {
            self.called = KeylessValue(Some(now));
        }
    }

    /// The call is over, or is waited for no more.
    fn note_end(&mut self, env: &Environment, now: Time) {
        self.details.took = KeylessValue(self.called.filter(|_| env.settings.session.tool_details).map(|called| now.since(called)));
    }

    pub(super) fn yield_result(&mut self, nth: u32, effects: &mut AgentEffects) {
        let EntryState::Completed(result) = &self.state else { return };
        let message = result_message(self, result.clone());
        let result = result.clone();
        self.to(ToolCause::Emission, EntryState::Yielded { result, nth });
        effects.push(Effect::Emit(Emission::User(Arc::new(message))));
        self.note(ToolState::Yielded, effects);
    }

    /// The name of the message that holds its result.
    pub(super) fn result_name(&self) -> Arc<str> {
        format!("{}.t{}.result", self.answers, self.run.index).into()
    }

    pub(super) fn note(&self, state: ToolState, effects: &mut AgentEffects) {
        effects.push(Effect::Note(Note::Tool { run: self.run, state }));
    }
}

/// The message that holds the result of a tool use.
pub(super) fn result_message(entry: &ToolEntry, block: Block) -> UserMessage {
    let ResultDetails { structured, took: KeylessValue(took) } = entry.details.clone();
    UserMessage { uuid: entry.result_name(), run: entry.run, answers: entry.answers.clone(), block, structured, took }
}
