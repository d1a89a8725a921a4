//! The query loop: ask the model, run its tools, ask again, until the turn ends (Q-1 to Q-23).
//!
//! ```text
//!   start ──> Calling <───── Compacting         the cascade comes before each request (Q-4)
//!              │  ▲  └─answer with tool uses─> AwaitingTools ──all results in──> Calling   (next_turn)
//!              │  └─ recovered, resumed, nudged, objected to ─┐    │
//!              ├──answer without tool use──> StopHooks ───────┴──> Finished
//!              └──abort, or a lost call──> Ending <──abort────┘    Ending ──all results in──> Finished
//! ```
//!
//! Tools run while the model still streams, so the executor lives in all open states. The machine is [`Query`]: here is its door, and `opening`,
//! `iteration`, `answer`, `compaction` and `ending` each have one part of its way. All other files hold what has a state or a decision of its own:
//! it takes what it needs and gives back a verdict, and the machine reacts. After the terminal nothing more comes out (Q-3): a late input finds
//! `Finished` and is dropped.

mod answer;
mod answer_decision;
mod answer_recovery;
mod compaction;
mod diagram;
mod ending;
mod host;
mod iteration;
mod observable;
mod opening;
mod orphan;
mod outcome;
mod output_limit;
mod prompt_too_long;
mod queued_messages;
mod recoveries;
mod scope;
mod state;
mod stop_hooks;
mod structured_output;
mod timers;
mod token_budget;
mod tool_summary;
mod turn;

pub(crate) use diagram::DIAGRAM;
use diagram::QueryOrigin;
pub(crate) use outcome::{AnswerTail, LastMessage, ModelTotals, QueryOutcome, ResultTotals};
use queued_messages::QueuedMessages;
use recoveries::Recoveries;
pub(crate) use scope::QueryScope;
use state::QueryState;
use structured_output::StructureRequests;
use timers::QueryTimers;
use token_budget::NudgeHistory;
use tool_summary::{SummaryVerdict, ToolSummaries};
use turn::QueryTurn;

use super::agent_effects::TreeLoad;
use super::budget::NanoUsd;
use super::compaction::SummaryRefusal;
use super::contract::Input;
use super::emission::ResultMessage;
use super::executor::abort_reason::AbortKind;
use super::executor::{Executor, ToolEvent};
use super::hook::HOOK_TIMER;
use super::session::memory::SessionMemory;
use super::session::prompt::RequestFrame;
use super::settings::Environment;
use super::time::Time;
use reenact_wire::block::Block;
use reenact_wire::prelude::*;

/// One prompt's way through the loop.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct Query {
    prompt: u32,
    frame: Arc<RequestFrame>,
    recoveries: Recoveries,
    /// Summarising requests of this prompt that were too long themselves: the same is not asked again (Q-13).
    summary_refusals: Vec<SummaryRefusal>,
    structure_requests: StructureRequests,
    /// Whether the turn continues because a stop hook objected (Q-16).
    stop_hook_active: bool,
    /// The continuations that use up the turn's token budget (Q-17).
    nudges: NudgeHistory,
    totals: ResultTotals,
    queued: QueuedMessages,
    /// The line about the last turn's tools (S-7).
    tool_summaries: ToolSummaries,
    timers: QueryTimers,
    /// The answer that is under way, until what it asked for is done: it outlives the call that brought it. Empty as long as no answer came.
    turn: QueryTurn,
    /// Its tools. Of an answer that was discarded it holds what has not stopped yet (T-19).
    executor: Executor,
    state: QueryState,
}

/// The beginning of a prompt.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) enum QueryBeginning {
    /// The model is asked.
    Asking,
    /// The model is to summarise, minding this (C-9).
    Compacting(Option<Arc<str>>),
}

/// The events of a query that the session must know.
#[derive(Clone, Debug, PartialEq, Hash)]
#[must_use]
pub(crate) enum QueryVerdict {
    /// It continues.
    Running,
    /// It is over.
    Finished(Box<QueryOutcome>),
}

impl Query {
    /// Begins with the first request, or with what has to be done before it.
    pub(crate) fn start(scope: &mut QueryScope<'_>, prompt: u32, frame: Arc<RequestFrame>, begins: QueryBeginning) -> (Self, QueryVerdict) {
        scope.memory.turn_to(frame.model());
        scope.memory.tracking.reactively_compacted = false; // a prompt begins a chain
        let mut query = Self {
            prompt,
            frame,
            recoveries: Recoveries::default(),
            summary_refusals: Vec::new(),
            structure_requests: StructureRequests::default(),
            stop_hook_active: false,
            nudges: NudgeHistory::default(),
            totals: ResultTotals::default(),
            queued: QueuedMessages::default(),
            tool_summaries: ToolSummaries::default(),
            timers: QueryTimers::default(),
            turn: QueryTurn::default(),
            executor: Executor::default(),
            state: QueryState::Finished,
        };
        let verdict = query.settle_orphans(scope, begins);
        let verdict = query.after_step(scope, &QueryOrigin::at_the_start(), verdict);
        (query, verdict)
    }

    /// Takes everything that can happen while the prompt is worked on.
    pub(crate) fn step(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        if self.state == QueryState::Finished {
            return QueryVerdict::Running; // Q-3: nothing comes out after the terminal
        }
        let before = QueryOrigin::from_state(&self.state);
        self.timers.hear(scope.now, input);
        let verdict = match self.tool_summaries.step(scope, input) {
            SummaryVerdict::Unrelated => self.step_prompt(scope, input),
            SummaryVerdict::Taken => QueryVerdict::Running,
            SummaryVerdict::Paid(cost) => {
                self.totals.count_attempt(scope.env, &cost);
                self.check_budget(scope)
            }
        };
        self.after_step(scope, &before, verdict)
    }

    fn step_prompt(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        match input {
            Input::Cancel => self.abort(scope, AbortKind::Cancel),
            Input::ToolProgress { run, text, kind } => {
                self.executor.on_progress(&mut scope.pipeline(), *run, text, *kind);
                self.settle(scope)
            }
            input if Executor::is_for(input) => self.step_executor(scope, input),
            Input::MarkedDead { .. } | Input::CollapseStaged(_) => {
                scope.memory.take_note(input);
                QueryVerdict::Running
            }
            _ => self.step_state(scope, input),
        }
    }

    /// Passes inputs on to the executor. Hooks that run for something else have the same timer (T-23, Q-16).
    fn step_executor(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        let event = self.executor.on_input(&mut scope.pipeline(), input);
        match (self.on_tools(scope, event), input) {
            (QueryVerdict::Running, Input::Timer(HOOK_TIMER)) => self.step_state(scope, input),
            (verdict, _) => verdict,
        }
    }

    /// Passes inputs on to the machine of the state.
    fn step_state(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        match &self.state {
            QueryState::Calling(_) => self.step_call(scope, input),
            QueryState::Compacting { .. } => self.step_compaction(scope, input),
            QueryState::StopHooks(_) => self.step_stop_hooks(scope, input),
            QueryState::Settling { .. } | QueryState::AwaitingTools | QueryState::Ending(_) | QueryState::Finished => QueryVerdict::Running,
        }
    }

    /// Something happened to tools: one of them may end everything (T-14).
    fn on_tools(&mut self, scope: &mut QueryScope<'_>, event: ToolEvent) -> QueryVerdict {
        match event.abort {
            Some(_) => self.abort(scope, AbortKind::Cancel),
            None => self.settle(scope),
        }
    }

    /// T-9: with the stream over, results are emitted as they come; once all are, the next turn begins (Q-18), or the prompt ends.
    fn settle(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        if !matches!(self.state, QueryState::Settling { .. } | QueryState::AwaitingTools | QueryState::Ending(_)) {
            return QueryVerdict::Running;
        }
        self.executor.emit_completed(&scope.env.settings, scope.effects);
        match &self.state {
            QueryState::Settling { begins } if self.executor.is_settled() => {
                let begins = begins.clone();
                self.on_orphan_settled(scope, begins)
            }
            QueryState::AwaitingTools if self.executor.is_settled() => self.next_turn(scope),
            QueryState::Ending(ending) if self.executor.is_quiet() => {
                let ending = ending.clone();
                self.finish(scope, *ending)
            }
            _ => QueryVerdict::Running,
        }
    }

    /// A message was submitted. Returns whether it waits for a tool that does not stop for one; otherwise the prompt is being
    /// aborted and the message is the next prompt (Q-22).
    pub(crate) fn interrupt(&mut self, scope: &mut QueryScope<'_>, (prompt, message): (u32, &Arc<[Block]>)) -> (bool, QueryVerdict) {
        let is_open = matches!(self.state, QueryState::Settling { .. } | QueryState::Calling(_) | QueryState::AwaitingTools);
        if is_open && self.executor.blocks_interrupt() {
            self.queued.add(prompt, message);
            return (true, QueryVerdict::Running);
        }
        (false, self.abort_step(scope, AbortKind::Interrupt))
    }

    /// The result of this agent is no longer needed (B-8).
    pub(crate) fn stop(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        self.abort_step(scope, AbortKind::Unneeded)
    }

    fn abort_step(&mut self, scope: &mut QueryScope<'_>, kind: AbortKind) -> QueryVerdict {
        let before = QueryOrigin::from_state(&self.state);
        let verdict = self.abort(scope, kind);
        self.after_step(scope, &before, verdict)
    }

    /// A tool ended in another agent of the tree: what waited for it may start.
    pub(crate) fn on_room(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let before = QueryOrigin::from_state(&self.state);
        let event = self.executor.on_room(&mut scope.pipeline());
        let verdict = self.on_tools(scope, event);
        self.after_step(scope, &before, verdict)
    }

    /// A message of some agent came: the session checks the budget (S-10).
    pub(crate) fn look_at_budget(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let before = QueryOrigin::from_state(&self.state);
        let verdict = self.check_budget(scope);
        self.after_step(scope, &before, verdict)
    }

    /// Agents that worked for this prompt have cost this much.
    pub(crate) fn charge(&mut self, result: &ResultMessage) {
        for ((model, usage), (_, cost)) in result.usage_by_model.iter().zip(&result.cost_by_model) {
            self.totals.charge(model, usage, *cost);
        }
    }

    /// The running tools and the spending, as the other agents of the tree see them (T-4, S-10).
    pub(crate) fn executing(&self, env: &Environment, memory: &SessionMemory) -> TreeLoad {
        TreeLoad { spent: self.spent(env, memory), ..self.executor.executing(env) }
    }

    /// When the first attempt of the present call was made.
    pub(crate) fn call_since(&self) -> Option<Time> {
        self.state.call_since()
    }

    /// When the grace of a tool is over next (T-15a).
    pub(crate) fn grace_until(&self) -> Option<Time> {
        self.timers.grace
    }

    /// The spending of this session so far, a running answer included.
    fn spent(&self, env: &Environment, memory: &SessionMemory) -> NanoUsd {
        memory.spent + self.totals.cost() + self.state.cost(env)
    }

    /// Whether what all agents together have spent is all that may be (S-10).
    fn is_over_budget(&self, scope: &QueryScope<'_>) -> bool {
        let spent = || self.spent(scope.env, scope.memory) + scope.effects.elsewhere().spent;
        scope.env.settings.session.max_budget.is_some_and(|max| spent() >= max)
    }

    /// Brings about the facts that hold at the end of each step, and checks them. After the terminal they do not hold (Q-3).
    fn after_step(&mut self, scope: &mut QueryScope<'_>, before: &QueryOrigin, mut verdict: QueryVerdict) -> QueryVerdict {
        if before.is_over() {
            return verdict;
        }
        if verdict == QueryVerdict::Running && self.state.is_due() {
            match self.is_over_budget(scope) {
                true => verdict = self.abort(scope, AbortKind::Budget),
                false => self.state.make(scope),
            }
        }
        let hooks = self.executor.hooks_until().into_iter().chain(self.state.hooks_until()).min();
        self.timers.turn_to(QueryTimers { grace: self.executor.grace_until(), hooks }, scope.effects);
        before.pass(self.state.phase(), &verdict, scope.transition);
        self.check_invariants(&verdict);
        verdict
    }

    /// A query that continues waits for something.
    fn check_invariants(&self, verdict: &QueryVerdict) {
        match &self.state {
            QueryState::Calling(call) => {
                invariant!(call.id().prompt == self.prompt, "a query asks for its own prompt");
                invariant!(self.turn.blocks.iter().all(|message| message.id == call.id()), "a turn holds the blocks of one attempt");
                invariant!(!call.is_due() && !call.is_over(), "a call that is due is made, and one that is over has gone on");
            }
            QueryState::Compacting { compaction, .. } => {
                invariant!(
                    !compaction.is_due() && !compaction.is_over(),
                    "what a compaction asks is asked, and one that is over has gone on"
                );
            }
            QueryState::StopHooks(hooks) => invariant!(hooks.until().is_some(), "hooks that have all answered have gone on"),
            QueryState::Settling { .. } => invariant!(!self.executor.is_settled(), "a tool use that has its result is settled"),
            QueryState::AwaitingTools => invariant!(!self.executor.is_settled(), "a turn whose results are all emitted has gone on"),
            QueryState::Ending(_) => invariant!(!self.executor.is_quiet(), "a prompt that waits for nothing has ended"),
            QueryState::Finished => (),
        }
        let is_answer_open = matches!(self.state, QueryState::Calling(_) | QueryState::AwaitingTools | QueryState::Ending(_));
        invariant!(is_answer_open || self.turn == QueryTurn::default(), "an answer that is done with has left nothing");
        invariant!((self.state == QueryState::Finished) == matches!(verdict, QueryVerdict::Finished(_)), "a query is over when it says so");
    }
}

#[cfg(test)]
mod tests;
