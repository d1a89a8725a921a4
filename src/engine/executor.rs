//! The streaming tool executor: starts tools while the model still streams (T-1 to T-20).
//!
//! ```text
//!   submit ──> queued ──admission──> executing ──on_ended──> completed ──emit──> yielded
//!                 │                      └─abort─> stopping ──ended or grace──▲
//!                 └── unknown tool, or aborted before its start ──────────────┘
//! ```
//!
//! One entry per tool use, in order of arrival. What may run beside others is [`class`], who may start is `admission`, what may come out is
//! `ordering`, who is aborted and why is `abort`; all four are pure. One executor serves one answer; a stale outcome is ignored by the number of
//! its run.

pub(crate) mod abort_reason;
mod admission;
mod class;
mod closing;
pub(crate) mod diagram;
mod discarded_work;
mod entry;
mod input;
mod ordering;
mod pipeline;
pub(crate) mod result;
mod scopes;
mod tree;

use abort_reason::AbortScopes;
use admission::ConcurrencyClass;
use diagram::ToolPhase;
use discarded_work::DiscardedWork;
use entry::{EntryState, ToolEntry};
use pipeline::PipelineEnd;
pub(crate) use pipeline::PipelineScope;

use super::agent_effects::{AgentEffects, TreeLoad};
use super::contract::{Effect, HookSubject, Input, ProgressKind, TimerId, ToolOutcome, ToolRun};
use super::emission::{AssistantMessage, Emission, Note, PermissionDenial, ToolState};
use super::hook::HOOK_TIMER;
use super::permission::PermissionAnswer;
use super::settings::{InterruptBehaviour, ResultDelivery, Settings};
use super::time::Time;
use reenact_wire::block::{Block, ToolUse};
use reenact_wire::prelude::*;

/// The timer that ends the grace of stopping tools. Which ones is a matter of the time; the owner sets it (O-27).
pub(crate) const GRACE_TIMER: TimerId = TimerId { id: 2, generation: 1 };

/// Runs one answer's tools.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct Executor {
    entries: Vec<ToolEntry>,
    aborts: AbortScopes,
    /// Runs of a discarded executor that have not stopped: they count as executing (T-4, T-19).
    ghosts: Vec<DiscardedTool>,
    /// The work of exclusive tools of discarded answers (O-17).
    discarded_work: DiscardedWork,
    yielded: u32,
    in_progress: Vec<Arc<str>>,
    interruptible: bool,
    /// Tool uses that were not permitted, until they are reported (S-1).
    denials: Vec<PermissionDenial>,
}

#[derive(Clone, Debug, PartialEq, Hash)]
struct DiscardedTool {
    run: ToolRun,
    class: ConcurrencyClass,
    until: Time,
}

/// The meaning of an input for the owner.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
#[must_use]
pub(crate) struct ToolEvent {
    /// A tool use aborted itself, or was refused, for this reason, and with it the query (T-14).
    pub(crate) abort: Option<Arc<str>>,
}

impl ToolEvent {
    /// Tool uses without a permission answer were handed in.
    pub(crate) fn by_nobody(self) {
        invariant!(self.abort.is_none(), "nobody who could abort the query was asked yet");
    }

    /// Both together.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { abort: self.abort.or(other.abort) }
    }
}

impl Executor {
    /// Takes a tool use as its block completes, and starts what may start.
    pub(crate) fn submit(&mut self, scope: &mut PipelineScope<'_>, message: &AssistantMessage, tool_use: &ToolUse) {
        self.submit_answered(scope, message, tool_use, None).by_nobody();
    }

    /// The same for a tool use about which a person has answered already (S-3). That answer may abort the query at once.
    pub(crate) fn submit_answered(
        &mut self,
        scope: &mut PipelineScope<'_>,
        message: &AssistantMessage,
        tool_use: &ToolUse,
        answered: Option<Arc<PermissionAnswer>>,
    ) -> ToolEvent {
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let run = ToolRun { request: message.id, index };
        let mut entry = ToolEntry::new(run, tool_use, message.uuid.clone(), scope.env);
        entry.answered = answered;
        entry.note(if entry.class == ConcurrencyClass::Safe { ToolState::QueuedSafe } else { ToolState::QueuedExclusive }, scope.effects);
        let settings = &scope.env.settings;
        match entry.why_aborted(&self.aborts, settings) {
            // T-13: the scope stays aborted for the executor's life.
            Some(reason) if !entry.has_a_turn(settings) => entry.complete_aborted(scope.env, &reason, scope.effects),
            _ if entry.batch.is_some() => entry.complete_unknown(scope.env, scope.effects),
            _ => (),
        }
        self.entries.push(entry);
        let ended = self.scan(scope);
        self.check_invariants(&scope.env.settings);
        ended
    }

    /// The stream is over: without streaming execution, the batches are cut and the first one starts (T-20).
    pub(crate) fn on_stream_over(&mut self, scope: &mut PipelineScope<'_>) -> ToolEvent {
        if scope.env.settings.streaming_execution {
            return ToolEvent::default();
        }
        let class = |entry: &ToolEntry| scope.env.tool(&entry.tool_use.name).map(|_| entry.class);
        let classes: Vec<Option<ConcurrencyClass>> = self.entries.iter().map(class).collect();
        for (entry, batch) in self.entries.iter_mut().zip(admission::batches(&classes)) {
            entry.batch = Some(batch);
            if matches!(entry.state, EntryState::Queued { .. }) {
                entry.complete_unknown(scope.env, scope.effects);
            }
        }
        self.scan(scope)
    }

    /// Takes progress of a run; it is emitted with the next pass, or at once if the settings say so (T-6, Q-9).
    pub(crate) fn on_progress(&mut self, scope: &mut PipelineScope<'_>, run: ToolRun, text: &Arc<str>, kind: Option<ProgressKind>) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.run == run && entry.is_called()) else { return };
        entry.report_progress(scope.env, scope.now, text, kind);
        if scope.env.settings.result_delivery == ResultDelivery::AtOnce {
            self.emit_completed(&scope.env.settings, scope.effects);
        }
    }

    /// Whether this input belongs to [`Self::on_input`]: all answers for a tool use's pipeline, and the timers of both.
    pub(crate) fn is_for(input: &Input) -> bool {
        match input {
            Input::HookEnded { hook, .. } => matches!(hook.subject, HookSubject::Tool(_)),
            Input::Timer(timer) => [HOOK_TIMER, GRACE_TIMER].contains(timer),
            input => run_of(input).is_some(),
        }
    }

    /// Takes what came back from a tool, a hook, a person or a store, or a timer, and starts what it made room for. What comes late or twice
    /// finds no step that waits for it.
    pub(crate) fn on_input(&mut self, scope: &mut PipelineScope<'_>, input: &Input) -> ToolEvent {
        let run = run_of(input);
        if let Input::ToolEnded { run, outcome } = input {
            self.ghosts.retain(|ghost| ghost.run != *run);
            self.discarded_work.on_ended(*run, outcome);
        }
        if *input == Input::Timer(GRACE_TIMER) {
            self.on_grace_over(scope);
        }
        let mut ended = ToolEvent::default();
        for index in 0..self.entries.len() {
            if run.is_none_or(|run| self.entries[index].run == run)
                && let Some(end) = self.entries[index].step(scope, input)
            {
                ended.abort = ended.abort.or(self.on_end(scope, index, end));
            }
        }
        if ended.abort.is_some() {
            return ended; // the owner aborts everything: nothing may start in between
        }
        ended = self.scan(scope);
        if scope.env.settings.result_delivery == ResultDelivery::AtOnce {
            self.emit_completed(&scope.env.settings, scope.effects);
        }
        self.check_invariants(&scope.env.settings);
        ended
    }

    /// Emits what is in and not held back (T-7, T-8).
    pub(crate) fn emit_completed(&mut self, settings: &Settings, effects: &mut AgentEffects) {
        for (position, emits_result) in ordering::pass(&self.phases(), settings.emission_order) {
            let entry = &mut self.entries[position];
            entry.emit_progress(effects);
            if emits_result {
                entry.yield_result(self.yielded, effects);
                self.yielded += 1;
            }
        }
        self.report(effects);
        self.check_invariants(settings);
    }

    /// Whether every result was emitted (T-9).
    pub(crate) fn is_settled(&self) -> bool {
        self.entries.iter().all(|entry| matches!(entry.state, EntryState::Yielded { .. }))
    }

    /// Whether a tool runs that a submitted message has to wait for (Q-22).
    pub(crate) fn blocks_interrupt(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.state, EntryState::Executing(_)) && entry.interrupt == InterruptBehaviour::Block)
    }

    /// When the time of a hook is up next.
    pub(crate) fn hooks_until(&self) -> Option<Time> {
        let pipelines = self.entries.iter().filter_map(|entry| match &entry.state {
            EntryState::Executing(pipeline) => pipeline.hooks_until(),
            _ => None,
        });
        pipelines.min()
    }

    /// The texts of hooks for the model, sent behind the results, in the order of the tool uses (T-23, T-26).
    pub(crate) fn attachments(&self) -> Vec<Block> {
        self.entries.iter().flat_map(|entry| &entry.heard.contexts).map(|text| Block::text(text)).collect()
    }

    /// Why a hook wants the turn to end, if one does (T-23, T-26).
    pub(crate) fn stopped_by_hook(&self) -> Option<&Arc<str>> {
        self.entries.iter().find_map(|entry| entry.heard.stop.as_ref())
    }

    /// The tool uses that were not permitted since this was last asked (S-1).
    pub(crate) fn take_denials(&mut self) -> Vec<PermissionDenial> {
        core::mem::take(&mut self.denials)
    }

    /// The results for the next request, in the order that the settings say (T-8). Of tool uses that share an id the first one counts.
    pub(crate) fn results(&self, settings: &Settings) -> Vec<Block> {
        let emitted = |entry: &ToolEntry| if let EntryState::Yielded { nth, .. } = entry.state { nth } else { u32::MAX };
        let order = ordering::for_next_request(&self.entries.iter().map(emitted).collect::<Vec<_>>(), settings.result_order);
        let is_first = |position: &usize| {
            let id = &self.entries[*position].tool_use.id;
            !self.entries[..*position].iter().any(|earlier| earlier.tool_use.id == *id)
        };
        order.into_iter().filter(is_first).filter_map(|position| self.entries[position].result().cloned()).collect()
    }

    /// A tool use has its result. What fails may take its siblings with it (T-13) or the whole query (T-14): why that is aborted, if it is.
    fn on_end(&mut self, scope: &mut PipelineScope<'_>, index: usize, end: PipelineEnd) -> Option<Arc<str>> {
        let PipelineEnd { outcome, denial } = end;
        self.denials.extend(denial);
        let entry = &self.entries[index];
        let (run, class, batch) = (entry.run, entry.class, entry.batch);
        let settings = &scope.env.settings;
        let fails_siblings = outcome.is_error && entry.shell && abort_reason::fails_siblings(&outcome, settings);
        if fails_siblings && self.aborts.leave_siblings(settings) {
            let failed = abort_reason::description(&self.entries[index].tool_use);
            self.abort_siblings(scope, batch, failed);
        }
        if let Some(change) = context_change(run, class, &outcome, scope.effects) {
            scope.permissions.apply(&change);
        }
        outcome.abort.clone().filter(|_| !self.aborts.discarded && self.aborts.query.is_none())
    }

    /// Starts what may start, in order, until nothing more may (T-5): one that fails at its start makes room at once.
    fn scan(&mut self, scope: &mut PipelineScope<'_>) -> ToolEvent {
        loop {
            let starts = self.admitted(&scope.env.settings, scope.effects.elsewhere());
            if starts.is_empty() {
                break;
            }
            for position in starts {
                if self.entries[position].phase() != ToolPhase::Queued {
                    continue; // one that started before it has failed, and it with it
                }
                let abort = self.start(scope, position);
                if abort.is_some() {
                    return ToolEvent { abort }; // the same
                }
            }
        }
        self.report(scope.effects);
        ToolEvent::default()
    }

    /// T-4 and T-5; without streaming execution only the first batch that is not over takes part, and none before the batches are cut (T-20).
    fn admitted(&self, settings: &Settings, elsewhere: TreeLoad) -> Vec<usize> {
        let Some(batch) = self.entries.iter().find(|entry| !entry.phase().is_over()).and_then(|entry| entry.batch) else {
            return Vec::new();
        };
        let ghosts = self.ghosts.iter().map(|ghost| (ghost.class, ToolPhase::Stopping));
        let own = self.entries.iter().filter(|entry| entry.batch.is_some_and(|of| of <= batch)).map(|entry| (entry.class, entry.phase()));
        let others = tree::slots(elsewhere);
        let before = others.len() + self.ghosts.len();
        let slots: Vec<_> = others.into_iter().chain(ghosts).chain(own).collect();
        let batch_cap = (!settings.streaming_execution).then_some(settings.max_batch_tools);
        let cap = [settings.max_concurrent_tools, batch_cap].into_iter().flatten().min();
        admission::admit(&slots, cap).into_iter().map(|position| position - before).collect()
    }

    /// Starts one entry; why the query is aborted, if it is: a person may have answered before (S-3).
    fn start(&mut self, scope: &mut PipelineScope<'_>, position: usize) -> Option<Arc<str>> {
        let entry = &mut self.entries[position];
        if let Some(reason) = entry.why_aborted(&self.aborts, &scope.env.settings) {
            entry.complete_aborted(scope.env, &reason, scope.effects); // its turn to be answered (T-15a)
            return None;
        }
        self.discarded_work.note_repetition(entry, scope.effects);
        let end = entry.start(scope)?;
        self.on_end(scope, position, end)
    }

    /// Emits what changed: which tool uses are in progress (T-10), and whether the user may interrupt (T-18).
    fn report(&mut self, effects: &mut AgentEffects) {
        let started = |entry: &&ToolEntry| match entry.state {
            EntryState::Executing(_) | EntryState::Stopping { .. } => true,
            EntryState::Completed(_) => self.in_progress.contains(&entry.tool_use.id),
            EntryState::Queued { .. } | EntryState::Yielded { .. } => false,
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

    fn phases(&self) -> Vec<(ConcurrencyClass, ToolPhase)> {
        self.entries.iter().map(|entry| (entry.class, entry.phase())).collect()
    }

    fn check_invariants(&self, settings: &Settings) {
        let running = || self.entries.iter().filter(|entry| entry.is_running()).map(|entry| entry.class);
        let all = || running().chain(self.ghosts.iter().map(|ghost| ghost.class));
        invariant!(all().count() <= 1 || all().all(|class| class == ConcurrencyClass::Safe), "an exclusive tool executes alone");
        let unseen = self.entries.iter().any(|entry| matches!(entry.state, EntryState::Yielded { .. }) && !entry.progress.is_empty());
        invariant!(!unseen, "no progress is left behind an emitted result");
        let yielded = self.entries.iter().filter(|entry| matches!(entry.state, EntryState::Yielded { .. })).count();
        invariant!(u32::try_from(yielded) == Ok(self.yielded), "each result was counted once when it was emitted");
        let is_left = |entry: &ToolEntry| {
            entry.phase() == ToolPhase::Queued
                && !entry.has_a_turn(settings)
                && entry.why_aborted(&AbortScopes { sibling: None, ..self.aborts.clone() }, settings).is_some()
        };
        invariant!(!self.entries.iter().any(is_left), "nothing waits in an aborted scope that has no turn to wait for");
    }
}

/// T-11: a context change is applied for exclusive tools only.
fn context_change(run: ToolRun, class: ConcurrencyClass, outcome: &ToolOutcome, effects: &mut AgentEffects) -> Option<Arc<str>> {
    let change = outcome.context_change.clone()?;
    if class == ConcurrencyClass::Safe {
        let text = format!("safe tool {run} returned a context change; it is not applied: {change}");
        effects.push(Effect::Note(Note::Defect { id: run.request, name: "safe-tool-changes-context".into(), text: text.into() }));
        return None;
    }
    effects.push(Effect::Note(Note::ContextChanged { run, change: change.clone() }));
    Some(change)
}

/// The tool run that an input is about.
fn run_of(input: &Input) -> Option<ToolRun> {
    match input {
        Input::ToolEnded { run, .. }
        | Input::ToolChecked { run, .. }
        | Input::PermissionAnswered { run, .. }
        | Input::ResultStored { run, .. }
        | Input::ElicitationAsked { run, .. }
        | Input::ElicitationAnswered { run, .. } => Some(*run),
        Input::HookEnded { hook, .. } => match hook.subject {
            HookSubject::Tool(run) => Some(run),
            HookSubject::Stop(_) | HookSubject::Compaction(_) => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
