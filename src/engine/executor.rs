//! The streaming tool executor: starts tools while the model still streams (T-1 to T-20).
//!
//! ```text
//!   submit ──> queued ──admission──> executing ──on_ended──> completed ──emit──> yielded
//!                 │                      └─abort─> stopping ──ended or grace──▲
//!                 └── unknown tool, or aborted before its start ──────────────┘
//! ```
//!
//! One entry per tool use, in order of arrival. Who may start is [`admission`], what may come out is [`ordering`], who is aborted
//! and why is [`abort`]; all three are pure. One executor serves one answer; a stale outcome is ignored by the number of its run.

pub(crate) mod abort;
mod admission;
mod closing;
pub(crate) mod entry;
mod ordering;

use abort::{AbortKind, Aborts};
use admission::{Class, Slot};
use entry::{Entry, State};
use ordering::Stage;

use super::contract::{Effect, Effects, TimerId, ToolOutcome, ToolRun};
use super::emission::{AssistantMessage, Emission, Note, ToolState};
use super::settings::{Environment, InterruptBehaviour, ResultDelivery, Settings};
use super::time::Time;
use crate::prelude::*;
use crate::wire::block::{Block, ToolInput, ToolUse};

/// The timer that ends the grace of tools that were told to stop. Which ones is a matter of the time, so any setting of it may ring.
pub(crate) const GRACE_TIMER: u32 = 2;

/// Runs one answer's tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Executor {
    entries: Vec<Entry>,
    aborts: Aborts,
    /// Runs of a discarded executor that have not stopped: they count as executing (T-4, T-19).
    ghosts: Vec<Ghost>,
    /// Exclusive tools that had finished in a discarded attempt: what they did is done (O-17).
    finished_before: Vec<(ToolRun, Arc<ToolUse>)>,
    yielded: u32,
    in_progress: Vec<Arc<str>>,
    interruptible: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Ghost {
    run: ToolRun,
    class: Class,
    until: Time,
}

/// What the end of a run means to the owner.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub(crate) struct Ended {
    /// A context change to apply (T-11).
    pub(crate) context_change: Option<Arc<str>>,
    /// The tool aborted itself for this reason, and with it the query (T-14).
    pub(crate) abort: Option<Arc<str>>,
}

impl Executor {
    /// Takes a tool use as its block completes, and starts what may start.
    pub(crate) fn submit(&mut self, env: &Environment, message: &AssistantMessage, tool_use: &ToolUse, effects: &mut Effects) {
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let run = ToolRun { request: message.id, index };
        let definition = env.tool(&tool_use.name);
        let mut entry = Entry::new(run, tool_use, message.uuid.clone(), definition);
        entry.note(if entry.class == Class::Safe { ToolState::QueuedSafe } else { ToolState::QueuedExclusive }, effects);
        if let Some(reason) = abort::why(&self.aborts, false, entry.interrupt) {
            entry.complete_aborted(&reason, effects); // T-13: the scope stays aborted for the executor's life
        } else if definition.is_none() {
            entry.complete(&unknown_tool(env, &tool_use.name), effects);
        }
        self.entries.push(entry);
        if env.settings.streaming_execution {
            self.scan(&env.settings, effects);
        }
        self.check_invariants();
    }

    /// The stream is over: without streaming execution, the batches are cut and the first one starts (T-20).
    pub(crate) fn on_stream_over(&mut self, settings: &Settings, effects: &mut Effects) {
        if !settings.streaming_execution {
            let classes: Vec<Class> = self.entries.iter().map(|entry| entry.class).collect();
            for (entry, batch) in self.entries.iter_mut().zip(admission::batches(&classes)) {
                entry.batch = batch;
            }
            self.scan(settings, effects);
        }
    }

    /// Takes progress of a run; it is emitted with the next pass, or at once if the settings say so (T-6, Q-9).
    pub(crate) fn on_progress(&mut self, settings: &Settings, run: ToolRun, text: &Arc<str>, effects: &mut Effects) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.run == run && entry.state == State::Executing) else { return };
        entry.progress.push(text.clone());
        if settings.result_delivery == ResultDelivery::AtOnce {
            self.emit_completed(settings, effects);
        }
    }

    /// Takes the outcome of a run and starts what it made room for. An outcome that comes late or twice finds no entry that runs.
    pub(crate) fn on_ended(&mut self, settings: &Settings, now: Time, run: ToolRun, outcome: &ToolOutcome, effects: &mut Effects) -> Ended {
        self.ghosts.retain(|ghost| ghost.run != run);
        let ended = match self.entries.iter().position(|entry| entry.run == run && entry.is_running()) {
            Some(index) => self.end(settings, now, index, outcome, effects),
            None => Ended::default(),
        };
        if ended.abort.is_some() {
            return ended; // the owner aborts everything: nothing may start in between
        }
        self.scan(settings, effects);
        if settings.result_delivery == ResultDelivery::AtOnce {
            self.emit_completed(settings, effects);
        }
        self.check_invariants();
        ended
    }

    /// Completes what was told to stop and whose grace is over (T-15a).
    pub(crate) fn on_grace_over(&mut self, settings: &Settings, now: Time, effects: &mut Effects) {
        for entry in &mut self.entries {
            if let State::Stopping { reason, until } = &entry.state
                && *until <= now
            {
                let reason = reason.clone();
                entry.complete_aborted(&reason, effects);
            }
        }
        self.ghosts.retain(|ghost| ghost.until > now);
        self.scan(settings, effects);
        self.check_invariants();
    }

    /// Aborts the query scope (T-12, Q-10): what waits is answered at once, what runs is told to stop, as its tool says.
    pub(crate) fn abort(&mut self, settings: &Settings, now: Time, kind: AbortKind, effects: &mut Effects) {
        self.aborts.query.get_or_insert(kind);
        self.apply_aborts(settings, now, |_| true, effects);
    }

    /// The answer that asked for these tools is lost and will not be asked for again: each open tool use is answered (T-16).
    pub(crate) fn lose(&mut self, settings: &Settings, now: Time, effects: &mut Effects) {
        self.aborts.discarded = true;
        self.apply_aborts(settings, now, |_| true, effects);
    }

    /// Discards everything (T-19): nothing more comes out of it. Returns the executor that takes its place, in which what still runs
    /// counts as executing until it stops or its grace is over.
    pub(crate) fn discard(mut self, settings: &Settings, now: Time, effects: &mut Effects) -> Self {
        let until = now + settings.tool_grace;
        for entry in self.entries.iter().filter(|entry| entry.is_running()) {
            let until = match entry.state {
                State::Stopping { until, .. } => until,
                _ => {
                    effects.push(Effect::StopTool { run: entry.run });
                    until
                }
            };
            self.ghosts.push(Ghost { run: entry.run, class: entry.class, until });
        }
        if !self.ghosts.is_empty() {
            effects.push(Effect::SetTimer { timer: TimerId { id: GRACE_TIMER, generation: 1 }, at: until });
        }
        let has_run = |entry: &&Entry| entry.class == Class::Exclusive && entry.has_run;
        let finished = self.entries.iter().filter(has_run).map(|entry| (entry.run, entry.tool_use.clone()));
        self.finished_before.extend(finished);
        let finished_before = core::mem::take(&mut self.finished_before);
        let mut fresh = Self { finished_before, ..self.successor() };
        fresh.report(effects);
        fresh
    }

    /// Emits what is in and not held back (T-7, T-8).
    pub(crate) fn emit_completed(&mut self, settings: &Settings, effects: &mut Effects) {
        for (position, emits_result) in ordering::pass(&self.stages(), settings.emission_order) {
            let entry = &mut self.entries[position];
            entry.emit_progress(effects);
            if emits_result {
                entry.yield_result(self.yielded, effects);
                self.yielded += 1;
            }
        }
        self.report(effects);
        self.check_invariants();
    }

    /// Whether every result was emitted (T-9).
    pub(crate) fn is_settled(&self) -> bool {
        self.entries.iter().all(|entry| matches!(entry.state, State::Yielded { .. }))
    }

    /// Whether a tool runs that a submitted message has to wait for (Q-22).
    pub(crate) fn blocks_interrupt(&self) -> bool {
        self.entries.iter().any(|entry| entry.state == State::Executing && entry.interrupt == InterruptBehaviour::Block)
    }

    /// The results for the next request, in the order that the settings say (T-8).
    pub(crate) fn results(&self, settings: &Settings) -> Vec<Block> {
        let order = ordering::for_next_request(&self.stages(), settings.result_order);
        order.into_iter().filter_map(|position| self.entries[position].result().cloned()).collect()
    }

    fn end(&mut self, settings: &Settings, now: Time, index: usize, outcome: &ToolOutcome, effects: &mut Effects) -> Ended {
        let entry = &mut self.entries[index];
        if let State::Stopping { reason, .. } = &entry.state {
            let reason = reason.clone();
            entry.complete_aborted(&reason, effects);
            return Ended::default();
        }
        entry.complete(outcome, effects);
        entry.has_run = true;
        let (run, class, batch) = (entry.run, entry.class, entry.batch);
        if outcome.is_error && entry.shell && settings.sibling_abort && self.aborts == Aborts::default() {
            let failed = abort::description(&self.entries[index].tool_use);
            self.abort_siblings(settings, now, batch, failed, effects);
        }
        let abort = outcome.abort.clone().filter(|_| !self.aborts.discarded && self.aborts.query.is_none());
        Ended { context_change: context_change(run, class, outcome, effects), abort }
    }

    /// T-13. Without streaming execution the scope is one batch (T-20).
    fn abort_siblings(&mut self, settings: &Settings, now: Time, batch: u32, failed: String, effects: &mut Effects) {
        self.aborts.sibling = Some(failed.into());
        self.apply_aborts(settings, now, |entry| entry.batch == batch, effects);
        if !settings.streaming_execution {
            self.aborts.sibling = None;
        }
    }

    fn apply_aborts(&mut self, settings: &Settings, now: Time, concerns: impl Fn(&Entry) -> bool, effects: &mut Effects) {
        let until = now + settings.tool_grace;
        let mut stopping = false;
        for entry in self.entries.iter_mut().filter(|entry| concerns(entry)) {
            let reason = abort::why(&self.aborts, entry.is_running(), entry.interrupt);
            match (&entry.state, reason) {
                (State::Queued, Some(reason)) => entry.complete_aborted(&reason, effects),
                (State::Executing, Some(reason)) => {
                    entry.to("abort", State::Stopping { reason, until });
                    entry.note(ToolState::Stopping, effects);
                    effects.push(Effect::StopTool { run: entry.run });
                    stopping = true;
                }
                _ => (),
            }
        }
        if stopping {
            effects.push(Effect::SetTimer { timer: TimerId { id: GRACE_TIMER, generation: 1 }, at: until });
        }
        self.check_invariants();
    }

    /// Starts what may start, in order, until nothing more may (T-5): one that fails at its start makes room at once.
    fn scan(&mut self, settings: &Settings, effects: &mut Effects) {
        loop {
            let starts = self.admitted(settings);
            if starts.is_empty() {
                break;
            }
            for position in starts {
                self.start(position, effects);
            }
        }
        self.report(effects);
    }

    /// T-4 and T-5; without streaming execution only the first batch that is not over takes part (T-20).
    fn admitted(&self, settings: &Settings) -> Vec<usize> {
        let ghosts = self.ghosts.iter().map(|ghost| (ghost.class, Slot::Executing));
        let batch = self.entries.iter().find(|entry| entry.slot() != Slot::Over).map_or(0, |entry| entry.batch);
        let own = self.entries.iter().filter(|entry| entry.batch <= batch).map(|entry| (entry.class, entry.slot()));
        let slots: Vec<_> = ghosts.chain(own).collect();
        let batch_cap = (!settings.streaming_execution).then_some(settings.max_batch_tools);
        let cap = [settings.max_concurrent_tools, batch_cap].into_iter().flatten().min();
        admission::admit(&slots, cap).into_iter().map(|position| position - self.ghosts.len()).collect()
    }

    fn start(&mut self, position: usize, effects: &mut Effects) {
        let entry = &mut self.entries[position];
        entry.to("admitted", State::Executing);
        entry.note(ToolState::Executing, effects);
        match &entry.tool_use.input {
            ToolInput::Valid(_) => {
                entry.note_repeated(&self.finished_before, effects);
                effects.push(Effect::StartTool { run: entry.run, tool_use: entry.tool_use.clone() });
            }
            ToolInput::Invalid { error, .. } => {
                let outcome = invalid_input(&entry.tool_use.name, error);
                entry.complete(&outcome, effects);
            }
        }
    }

    /// Tells consumers what changed: which tool uses are in progress (T-10), and whether the user may interrupt (T-18).
    fn report(&mut self, effects: &mut Effects) {
        let started = |entry: &&Entry| match entry.state {
            State::Executing | State::Stopping { .. } => true,
            State::Completed(_) => self.in_progress.contains(&entry.tool_use.id),
            State::Queued | State::Yielded { .. } => false,
        };
        let now: Vec<_> = self.entries.iter().filter(started).map(|entry| entry.tool_use.id.clone()).collect();
        if now != self.in_progress {
            self.in_progress.clone_from(&now);
            effects.push(Effect::Emit(Emission::InProgress { tool_use_ids: now }));
        }
        let mut running = self.entries.iter().filter(|entry| entry.is_running()).peekable();
        let interruptible = running.peek().is_some() && running.all(|entry| entry.interrupt == InterruptBehaviour::Cancel);
        if interruptible != self.interruptible {
            self.interruptible = interruptible;
            effects.push(Effect::Emit(Emission::Interruptible(interruptible)));
        }
    }

    fn stages(&self) -> Vec<(Class, Stage)> {
        self.entries.iter().map(|entry| (entry.class, entry.stage())).collect()
    }

    fn check_invariants(&self) {
        let running = || self.entries.iter().filter(|entry| entry.is_running()).map(|entry| entry.class);
        let all = || running().chain(self.ghosts.iter().map(|ghost| ghost.class));
        assert!(all().count() <= 1 || all().all(|class| class == Class::Safe), "an exclusive tool executes alone");
        let unseen = self.entries.iter().any(|entry| matches!(entry.state, State::Yielded { .. }) && !entry.progress.is_empty());
        assert!(!unseen, "no progress is left behind an emitted result");
        let yielded = self.entries.iter().filter(|entry| matches!(entry.state, State::Yielded { .. })).count();
        assert!(u32::try_from(yielded) == Ok(self.yielded), "each result was counted once when it was emitted");
        let aborted = self.aborts.discarded || self.aborts.query.is_some();
        assert!(!aborted || !self.entries.iter().any(|entry| entry.state == State::Queued), "nothing waits in an aborted scope");
    }
}

/// T-11: a context change is applied for exclusive tools only.
fn context_change(run: ToolRun, class: Class, outcome: &ToolOutcome, effects: &mut Effects) -> Option<Arc<str>> {
    let change = outcome.context_change.clone()?;
    if class == Class::Safe {
        let text = format!("safe tool {run} returned a context change, which is not applied: {change}");
        effects.push(Effect::Note(Note::Defect { id: run.request, name: "safe-tool-changes-context".into(), text: text.into() }));
        return None;
    }
    effects.push(Effect::Note(Note::ContextChanged { run, change: change.clone() }));
    Some(change)
}

/// T-2.
fn unknown_tool(env: &Environment, name: &str) -> ToolOutcome {
    let known: Vec<&str> = env.tools.iter().map(|tool| &*tool.name).collect();
    let known = if known.is_empty() { String::from("none") } else { known.join(", ") };
    ToolOutcome::error(&format!("No tool named {name} is available. Available tools: {known}."))
}

/// N-3: the model is told what it wrote wrong.
fn invalid_input(name: &str, problem: &str) -> ToolOutcome {
    ToolOutcome::error(&format!("The input of {name} is not valid JSON: {problem}. Call the tool again with a complete JSON object."))
}

#[cfg(test)]
mod tests;
