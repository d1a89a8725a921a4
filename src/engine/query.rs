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
//! Tools run while the model still streams, so the executor lives in all open states. What is decided is a pure function in a file of
//! its own: what follows an answer in [`answer_decision`], recoveries in [`prompt_too_long`] and [`output_limit`], the nudge in [`token_budget`].
//! The reaction stands beside the decision. After the terminal nothing more comes out (Q-3): a late input finds `Finished`
//! and is dropped.

mod abort;
mod answer;
mod answer_decision;
mod budgets;
mod correction;
mod diagram;
mod fallback;
mod host;
mod iteration;
mod observable;
mod orphan;
mod outcome;
mod output_limit;
mod prompt_too_long;
mod scope;
mod stop_hooks;
mod structured_output;
mod timers;
mod token_budget;
mod tool_summary;

pub(crate) use diagram::DIAGRAM;
use diagram::QueryOrigin;
pub(crate) use outcome::{AnswerTail, LastMessage, ModelTotals, QueryOutcome, ResultTotals};
use outcome::{AttemptCost, QueryEnding};
pub(crate) use scope::QueryScope;
use timers::QueryTimers;
use tool_summary::ToolSummary;

use super::agent_effects::TreeLoad;
use super::call::{ApiCall, CallVerdict, LostAttempt};
use super::compaction::{Compaction, SummaryRefusal};
use super::contract::{Effect, Input, RequestId};
use super::emission::{AssistantMessage, Emission};
use super::executor::Executor;
use super::executor::abort_reason::AbortKind;
use super::hook::{HOOK_TIMER, RunningHooks};
use super::session::memory::SessionMemory;
use super::session::prompt::RequestFrame;
use super::settings::Environment;
use super::time::Time;
use reenact_wire::block::Block;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

/// One prompt's way through the loop.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct Query {
    prompt: u32,
    frame: Arc<RequestFrame>,
    chain: RecoveryChain,
    /// Summarising requests of this prompt that were too long themselves: the same is not asked again (Q-13).
    summary_refusals: Vec<SummaryRefusal>,
    /// Whether a refusal was tried again (Q-23).
    refusal_retried: bool,
    /// How often the model was asked for its structured output (S-9).
    structure_asked: u32,
    /// Whether the turn continues because a stop hook objected (Q-16).
    stop_hook_active: bool,
    /// The continuations that use up the turn's token budget (Q-17).
    nudges: token_budget::NudgeHistory,
    totals: ResultTotals,
    /// Messages that were submitted while tools ran that do not stop for one (Q-22); they join the conversation at Q-18.
    queued: Vec<(u32, Arc<[Block]>)>,
    /// The work of the last turn's tools, as long as a summary of it is asked for (S-7).
    tool_summary: Option<Box<ToolSummary>>,
    timers: QueryTimers,
    /// The answer that is under way, until what it asked for is done: it outlives the call that brought it. Empty as long as no answer came.
    turn: QueryTurn,
    /// Its tools. Of an answer that was discarded it holds what has not stopped yet (T-19).
    executor: Executor,
    /// A state is read where it is and left by setting the next one; nothing is moved out of it, so none can be lost. One that should have been
    /// left and was not is a broken invariant.
    state: QueryState,
}

/// The recoveries from one `next_turn` to the next (Q-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct RecoveryChain {
    /// How many paused answers came in a row (Q-23).
    pauses: u32,
    /// How often the model was asked to continue after the output limit (Q-15).
    recoveries: u32,
    /// The cap on output tokens that takes the place of the settings' one (Q-15).
    raised_cap: Option<u64>,
    /// How often the model was asked for what its answer lacks (Q-23).
    nudges: u32,
    /// Whether staged collapses were committed (Q-13). Whether reactive compaction was tried is tracked with the compactions.
    collapse_drained: bool,
}

#[derive(Clone, Debug, PartialEq, Hash)]
enum QueryState {
    /// A tool use of an earlier session is settled first (S-3).
    Settling {
        begins: QueryBeginning,
    },
    Calling(Box<ApiCall>),
    /// The model summarises (C-4, C-5, C-9).
    Compacting {
        compaction: Box<Compaction>,
        then: AfterCompaction,
    },
    /// The stream of the answer is over; what is left of it is its tools.
    AwaitingTools,
    /// The prompt would end well; hooks are asked (Q-16).
    StopHooks {
        hooks: Box<RunningHooks>,
        /// The answer that it would end with.
        answered: RequestId,
    },
    /// The prompt ends; what still runs has its grace (T-15a).
    Ending(Box<QueryEnding>),
    Finished,
}

/// The work that a compaction interrupted.
#[derive(Clone, Debug, PartialEq, Hash)]
enum AfterCompaction {
    /// This request was about to be made (C-4).
    Ask(RequestId),
    /// This was about to be the end (C-5): it is if nothing helps.
    Retry(Box<QueryEnding>),
    /// Nothing: the user asked for it (C-9).
    End(RequestId),
}

/// The parts of one answer so far.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct QueryTurn {
    blocks: Vec<Arc<AssistantMessage>>,
    /// The end of the answer as consumers saw it, if they saw it (Q-7).
    told: Option<Box<Emission>>,
    /// The tokens of the answer, once it is complete.
    usage: Option<Usage>,
    /// Whether the model refused to say more, and is to be told so behind the results (Q-23).
    is_refused: bool,
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
            chain: RecoveryChain::default(),
            summary_refusals: Vec::new(),
            refusal_retried: false,
            structure_asked: 0,
            stop_hook_active: false,
            nudges: token_budget::NudgeHistory::default(),
            totals: ResultTotals::default(),
            queued: Vec::new(),
            tool_summary: None,
            timers: QueryTimers::default(),
            turn: QueryTurn::default(),
            executor: Executor::default(),
            state: QueryState::Finished,
        };
        let before = QueryOrigin::at_the_start();
        let verdict = query.settle_orphans(scope, begins);
        let verdict = query.after_step(scope, &before, verdict);
        (query, verdict)
    }

    /// Takes everything that can happen while the prompt is worked on.
    pub(crate) fn step(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        if self.state == QueryState::Finished {
            return QueryVerdict::Running; // Q-3: nothing comes out after the terminal
        }
        let before = self.before();
        self.timers.hear(scope.now, input);
        let verdict = match self.step_tool_summary(scope, input) {
            Some(verdict) => verdict,
            None => self.step_prompt(scope, input),
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

    /// Brings about the facts that hold at the end of each step, and checks them. After the terminal they do not hold (Q-3).
    fn after_step(&mut self, scope: &mut QueryScope<'_>, before: &QueryOrigin, verdict: QueryVerdict) -> QueryVerdict {
        if before.is_over() {
            return verdict;
        }
        let verdict = match verdict {
            QueryVerdict::Running => self.make_what_is_due(scope),
            finished => finished,
        };
        self.set_timers(scope);
        self.passed(before, &verdict, scope.transition);
        self.check_invariants(&verdict);
        verdict
    }

    /// When the grace of a tool is over next (T-15a).
    pub(crate) fn grace_until(&self) -> Option<Time> {
        self.timers.grace()
    }

    /// Passes inputs on to the executor. Hooks that run for something else have the same timer (T-23, Q-16).
    fn step_executor(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        let verdict = match self.executor.on_input(&mut scope.pipeline(), input).abort {
            Some(_) => self.abort(scope, AbortKind::Cancel), // T-14
            None => self.settle(scope),
        };
        match (verdict, input) {
            (QueryVerdict::Running, Input::Timer(HOOK_TIMER)) => self.step_state(scope, input),
            (verdict, _) => verdict,
        }
    }

    /// Passes inputs on to the machine of the state.
    fn step_state(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        match &self.state {
            QueryState::Calling(_) => self.step_call(scope, input),
            QueryState::Compacting { .. } => self.step_compaction(scope, input),
            QueryState::StopHooks { .. } => self.step_stop_hooks(scope, input),
            QueryState::Settling { .. } | QueryState::AwaitingTools | QueryState::Ending(_) | QueryState::Finished => QueryVerdict::Running,
        }
    }

    /// A message was submitted. Returns whether it waits for a tool that does not stop for one; otherwise the prompt is being
    /// aborted and the message is the next prompt (Q-22).
    pub(crate) fn interrupt(&mut self, scope: &mut QueryScope<'_>, message: (u32, &Arc<[Block]>)) -> (bool, QueryVerdict) {
        let open = matches!(self.state, QueryState::Settling { .. } | QueryState::Calling(_) | QueryState::AwaitingTools);
        if open && self.executor.blocks_interrupt() {
            self.queued.push((message.0, message.1.clone()));
            return (true, QueryVerdict::Running);
        }
        let before = self.before();
        let verdict = self.abort(scope, AbortKind::Interrupt);
        (false, self.after_step(scope, &before, verdict))
    }

    /// Inputs of the call; other inputs are dropped.
    fn step_call(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> QueryVerdict {
        scope.memory.remember_container(scope.env, input);
        let QueryState::Calling(call) = &mut self.state else { return QueryVerdict::Running };
        if let Input::Stream { id, event } = input
            && call.id() == *id
        {
            let first = call.awaits_first_event().then(|| scope.now.since(call.started()));
            if scope.env.settings.partial_messages {
                let event = event.clone();
                scope.effects.push(Effect::Emit(Emission::StreamEvent { id: *id, event, time_to_first_token: first }));
            }
            self.executor.emit_completed(&scope.env.settings, scope.effects); // Q-8 F: a raw event is an item too
        }
        let verdict = call.step(scope.env, scope.now, input, scope.effects);
        self.on_call_verdict(scope, verdict)
    }

    fn on_call_verdict(&mut self, scope: &mut QueryScope<'_>, verdict: CallVerdict) -> QueryVerdict {
        match verdict {
            CallVerdict::Pending => QueryVerdict::Running,
            CallVerdict::Blocks(messages) => self.on_blocks(scope, &messages),
            CallVerdict::StopReason(stop_reason, usage) => {
                if let QueryState::Calling(call) = &self.state {
                    self.turn.tell_end(call.id(), Some(stop_reason), usage, scope.effects);
                }
                QueryVerdict::Running
            }
            CallVerdict::Ended(ended) => self.on_answer(scope, ended),
            CallVerdict::Failed(failure) => self.on_call_lost(scope, failure),
            CallVerdict::AttemptLost(lost) => {
                self.count_lost(scope, lost);
                QueryVerdict::Running
            }
            CallVerdict::Abandoned(lost) => self.on_abandoned(scope, lost),
            CallVerdict::Fallback { to, failure } => self.on_fallback(scope, &to, failure),
        }
    }

    /// An attempt of the call is lost, and paid for.
    fn count_lost(&mut self, scope: &QueryScope<'_>, lost: LostAttempt) {
        if let QueryState::Calling(call) = &self.state {
            let LostAttempt { usage, is_fast } = lost;
            self.totals.count_attempt(scope.env, &AttemptCost { model: call.model().clone(), usage, is_fast });
        }
    }

    /// The running tools and the spending, as the other agents of the tree see them (T-4, S-10).
    pub(crate) fn executing(&self, env: &Environment, memory: &SessionMemory) -> TreeLoad {
        TreeLoad { spent: self.spent(env, memory), ..self.executor.executing(env) }
    }

    /// A tool ended in another agent of the tree: what waited for it may start.
    pub(crate) fn on_room(&mut self, scope: &mut QueryScope<'_>) -> QueryVerdict {
        let before = self.before();
        let verdict = match self.executor.on_room(&mut scope.pipeline()).abort {
            Some(_) => self.abort(scope, AbortKind::Cancel), // T-14
            None => self.settle(scope),
        };
        self.after_step(scope, &before, verdict)
    }

    /// Says what there is to say, and hands everything to the session.
    fn finish(&mut self, scope: &mut QueryScope<'_>, ending: QueryEnding) -> QueryVerdict {
        self.state = QueryState::Finished;
        (self.turn, self.executor) = (QueryTurn::default(), Executor::default());
        self.drop_tool_summary(scope);
        let errors = ending.tell(scope, self.prompt).into_iter().collect();
        scope.memory.spent = scope.memory.spent + self.totals.cost();
        QueryVerdict::Finished(Box::new(QueryOutcome {
            terminal: ending.terminal,
            errors,
            queued: core::mem::take(&mut self.queued),
            totals: core::mem::take(&mut self.totals),
        }))
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
            QueryState::StopHooks { hooks, .. } => invariant!(hooks.until().is_some(), "hooks that have all answered have gone on"),
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
