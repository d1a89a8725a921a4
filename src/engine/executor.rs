//! The streaming tool executor: starts tools while the model still streams (T-1 to T-11).
//!
//! ```text
//!   submit ──> queued ──admission──> executing ──on_ended──> completed ──emit──> yielded
//!                 └── unknown tool ────────────────────────────▲
//! ```
//!
//! One entry per tool use, in order of arrival. Who may start is [`admission`], what may come out is [`ordering`]; both are pure.
//! One executor serves one answer; a stale outcome is ignored by the number of its run.

mod admission;
mod ordering;

use admission::{Class, Slot};
use ordering::Stage;

use super::contract::{Effect, Effects, ToolOutcome, ToolRun};
use super::emission::{AssistantMessage, Emission, Note, ToolState, UserMessage};
use super::settings::{Environment, ResultDelivery, Settings, ToolDefinition};
use crate::prelude::*;
use crate::wire::block::{Block, ToolInput, ToolUse};

/// Runs one answer's tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Executor {
    entries: Vec<Entry>,
    yielded: u32,
    in_progress: Vec<Arc<str>>,
}

/// One tool use.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    run: ToolRun,
    tool_use: Arc<ToolUse>,
    /// The assistant message that holds the tool use.
    answers: Arc<str>,
    class: Class,
    /// Progress that is in and not emitted.
    progress: Vec<Arc<str>>,
    state: State,
}

/// T-1.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Queued,
    Executing,
    Completed(Block),
    Yielded { result: Block, nth: u32 },
}

impl Executor {
    /// Takes a tool use as its block completes, and starts what may start.
    pub(crate) fn submit(&mut self, env: &Environment, message: &AssistantMessage, tool_use: &ToolUse, effects: &mut Effects) {
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let run = ToolRun { request: message.id, index };
        let definition = env.tool(&tool_use.name);
        let entry = Entry {
            run,
            tool_use: Arc::new(tool_use.clone()),
            answers: message.uuid.clone(),
            class: class_of(definition, &tool_use.input),
            progress: Vec::new(),
            state: State::Queued,
        };
        note(effects, run, if entry.class == Class::Safe { ToolState::QueuedSafe } else { ToolState::QueuedExclusive });
        self.entries.push(entry);
        if definition.is_none() {
            self.complete(self.entries.len() - 1, &unknown_tool(env, &tool_use.name), effects);
        }
        self.scan(&env.settings, effects);
        self.check_invariants();
    }

    /// Takes progress of a run; it is emitted with the next pass, or at once if the settings say so (T-6, Q-9).
    pub(crate) fn on_progress(&mut self, settings: &Settings, run: ToolRun, text: &Arc<str>, effects: &mut Effects) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.run == run && entry.state == State::Executing) else { return };
        entry.progress.push(text.clone());
        if settings.result_delivery == ResultDelivery::AtOnce {
            self.emit_completed(settings, effects);
        }
        self.check_invariants();
    }

    /// Takes the outcome of a run, starts what it made room for, and returns a context change to apply (T-11).
    #[must_use]
    pub(crate) fn on_ended(&mut self, settings: &Settings, run: ToolRun, outcome: &ToolOutcome, effects: &mut Effects) -> Option<Arc<str>> {
        let index = self.entries.iter().position(|entry| entry.run == run && entry.state == State::Executing)?;
        let class = self.entries[index].class;
        self.complete(index, outcome, effects);
        self.scan(settings, effects);
        if settings.result_delivery == ResultDelivery::AtOnce {
            self.emit_completed(settings, effects);
        }
        self.check_invariants();
        let change = outcome.context_change.clone()?;
        if class == Class::Safe {
            let text = format!("safe tool {run} returned a context change, which is not applied: {change}");
            effects.push(Effect::Note(Note::Defect { id: run.request, name: "safe-tool-changes-context".into(), text: text.into() }));
            return None;
        }
        effects.push(Effect::Note(Note::ContextChanged { run, change: change.clone() }));
        Some(change)
    }

    /// Emits what is in and not held back (T-7, T-8).
    pub(crate) fn emit_completed(&mut self, settings: &Settings, effects: &mut Effects) {
        for (position, emits_result) in ordering::pass(&self.stages(), settings.emission_order) {
            let entry = &mut self.entries[position];
            for text in core::mem::take(&mut entry.progress) {
                effects.push(Effect::Emit(Emission::Progress { run: entry.run, tool_use_id: entry.tool_use.id.clone(), text }));
            }
            if emits_result {
                entry.yield_result(self.yielded, effects);
                self.yielded += 1;
            }
        }
        self.report_in_progress(effects);
        self.check_invariants();
    }

    /// Whether every result was emitted (T-9).
    pub(crate) fn is_settled(&self) -> bool {
        self.entries.iter().all(|entry| matches!(entry.state, State::Yielded { .. }))
    }

    /// The results for the next request, in the order that the settings say (T-8).
    pub(crate) fn results(&self, settings: &Settings) -> Vec<Block> {
        let order = ordering::for_next_request(&self.stages(), settings.result_order);
        order.into_iter().filter_map(|position| self.entries[position].result().cloned()).collect()
    }

    /// Answers every open tool use with an error result and emits all that is left: the answer that asked for them was lost, and
    /// each emitted tool use still gets exactly one result (T-16).
    pub(crate) fn close_open(&mut self, effects: &mut Effects) {
        for index in 0..self.entries.len() {
            if matches!(self.entries[index].state, State::Queued | State::Executing) {
                let outcome = ToolOutcome::error("Tool execution discarded: the answer that asked for it was lost before it was complete.");
                self.complete(index, &outcome, effects);
            }
        }
        self.emit_completed(&Settings::default(), effects);
    }

    /// Starts what may start, in order, until nothing more may (T-5): one that fails at its start makes room at once.
    fn scan(&mut self, settings: &Settings, effects: &mut Effects) {
        loop {
            let slots: Vec<_> = self.entries.iter().map(|entry| (entry.class, entry.slot())).collect();
            let starts = admission::admit(&slots, settings.max_concurrent_tools);
            if starts.is_empty() {
                break;
            }
            for position in starts {
                self.start(position, effects);
            }
        }
        self.report_in_progress(effects);
    }

    fn start(&mut self, position: usize, effects: &mut Effects) {
        let entry = &mut self.entries[position];
        entry.state = State::Executing;
        note(effects, entry.run, ToolState::Executing);
        match &entry.tool_use.input {
            ToolInput::Valid(_) => effects.push(Effect::StartTool { run: entry.run, tool_use: entry.tool_use.clone() }),
            ToolInput::Invalid { error, .. } => {
                let outcome = invalid_input(&entry.tool_use.name, error);
                self.complete(position, &outcome, effects);
            }
        }
    }

    fn complete(&mut self, index: usize, outcome: &ToolOutcome, effects: &mut Effects) {
        let entry = &mut self.entries[index];
        let result = Block::tool_result(&entry.tool_use.id, &outcome.content, outcome.is_error);
        entry.state = State::Completed(result);
        note(effects, entry.run, ToolState::Completed);
    }

    /// T-10: a tool use is in progress from its start to the emission of its result.
    fn report_in_progress(&mut self, effects: &mut Effects) {
        let started = |entry: &&Entry| match entry.state {
            State::Executing => true,
            State::Completed(_) => self.in_progress.contains(&entry.tool_use.id),
            State::Queued | State::Yielded { .. } => false,
        };
        let now: Vec<_> = self.entries.iter().filter(started).map(|entry| entry.tool_use.id.clone()).collect();
        if now != self.in_progress {
            self.in_progress.clone_from(&now);
            effects.push(Effect::Emit(Emission::InProgress { tool_use_ids: now }));
        }
    }

    fn stages(&self) -> Vec<(Class, Stage)> {
        self.entries.iter().map(|entry| (entry.class, entry.stage())).collect()
    }

    fn check_invariants(&self) {
        let executing = || self.entries.iter().filter(|entry| entry.state == State::Executing);
        let alone = executing().count() <= 1 || executing().all(|entry| entry.class == Class::Safe);
        assert!(alone, "an exclusive tool executes alone");
        let unseen = self.entries.iter().any(|entry| matches!(entry.state, State::Yielded { .. }) && !entry.progress.is_empty());
        assert!(!unseen, "no progress is left behind an emitted result");
        let yielded = self.entries.iter().filter(|entry| matches!(entry.state, State::Yielded { .. })).count();
        assert!(u32::try_from(yielded) == Ok(self.yielded), "each result was counted once when it was emitted");
    }
}

impl Entry {
    fn slot(&self) -> Slot {
        match self.state {
            State::Queued => Slot::Queued,
            State::Executing => Slot::Executing,
            State::Completed(_) | State::Yielded { .. } => Slot::Over,
        }
    }

    fn stage(&self) -> Stage {
        match self.state {
            State::Queued => Stage::Queued,
            State::Executing => Stage::Executing,
            State::Completed(_) => Stage::Completed,
            State::Yielded { nth, .. } => Stage::Yielded(nth),
        }
    }

    fn result(&self) -> Option<&Block> {
        match &self.state {
            State::Yielded { result, .. } => Some(result),
            _ => None,
        }
    }

    fn yield_result(&mut self, nth: u32, effects: &mut Effects) {
        let State::Completed(result) = &self.state else { return };
        let message = UserMessage {
            uuid: format!("{}.t{}.result", self.answers, self.run.index).into(),
            run: self.run,
            answers: self.answers.clone(),
            block: result.clone(),
        };
        self.state = State::Yielded { result: result.clone(), nth };
        effects.push(Effect::Emit(Emission::User(Arc::new(message))));
        note(effects, self.run, ToolState::Yielded);
    }
}

/// T-3: only a tool that says of itself that this input is safe runs beside others; no answer, or no valid input, is exclusive.
fn class_of(definition: Option<&ToolDefinition>, input: &ToolInput) -> Class {
    match (definition.and_then(|definition| definition.safe), input) {
        (Some(true), ToolInput::Valid(_)) => Class::Safe,
        _ => Class::Exclusive,
    }
}

/// T-2.
fn unknown_tool(env: &Environment, name: &str) -> ToolOutcome {
    let known: Vec<&str> = env.tools.iter().map(|tool| &*tool.name).collect();
    ToolOutcome::error(&format!(
        "No tool named {name} is available. Available tools: {}.",
        if known.is_empty() { String::from("none") } else { known.join(", ") }
    ))
}

/// N-3: the model is told what it wrote wrong.
fn invalid_input(name: &str, problem: &str) -> ToolOutcome {
    ToolOutcome::error(&format!("The input of {name} is not valid JSON: {problem}. Call the tool again with a complete JSON object."))
}

fn note(effects: &mut Effects, run: ToolRun, state: ToolState) {
    effects.push(Effect::Note(Note::Tool { run, state }));
}

#[cfg(test)]
mod tests;
