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
mod stop_hooks;
mod structured_output;
mod timers;
mod token_budget;
mod tool_summary;

pub(crate) use diagram::DIAGRAM;
use diagram::QueryOrigin;
pub(crate) use outcome::{AnswerTail, LastMessage, ModelTotals, QueryOutcome, ResultTotals, SessionMemory};
use outcome::{AttemptCost, QueryEnding};
use timers::QueryTimers;
use tool_summary::ToolSummary;

use super::agent_effects::{AgentEffects, TreeLoad};
use super::call::{ApiCall, CallVerdict};
use super::compaction::{Compaction, SummaryRefusal};
use super::contract::{Effect, Input, RequestId};
use super::emission::{AssistantMessage, Emission};
use super::executor::abort::AbortKind;
use super::executor::{Executor, PipelineScope, ToolEvent};
use super::hook::{HOOK_TIMER, RunningHooks};
use super::permission::context::PermissionContext;
use super::session::prompt::RequestFrame;
use super::settings::Environment;
use super::time::Time;
use crate::prelude::*;
use crate::wire::block::Block;
use crate::wire::usage::Usage;

/// One prompt's way through the loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    prompt: u32,
    frame: Arc<RequestFrame>,
    /// The memory from prompt to prompt: the conversation that the next request contains, among others.
    carried: SessionMemory,
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
    state: QueryState,
}

/// The recoveries from one `next_turn` to the next (Q-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

#[derive(Clone, Debug, PartialEq)]
enum QueryState {
    /// A tool use of an earlier session is settled first (S-3).
    Settling {
        executor: Executor,
        begins: QueryBeginning,
    },
    Calling {
        call: Box<ApiCall>,
        turn: QueryTurn,
    },
    /// The model summarises (C-4, C-5, C-9).
    Compacting {
        compaction: Box<Compaction>,
        executor: Executor,
        then: AfterCompaction,
    },
    AwaitingTools {
        turn: QueryTurn,
    },
    /// The prompt would end well; hooks are asked (Q-16).
    StopHooks {
        hooks: Box<RunningHooks>,
        /// The answer that it would end with.
        answered: RequestId,
        executor: Executor,
    },
    /// The prompt ends; what still runs has its grace (T-15a).
    Ending {
        turn: QueryTurn,
        ending: Box<QueryEnding>,
    },
    Finished,
}

impl QueryState {
    /// The call that ended, with its outcome. The caller must set another state.
    fn take_call(&mut self) -> (Box<ApiCall>, QueryTurn) {
        match core::mem::replace(self, Self::Finished) {
            Self::Calling { call, turn } => (call, turn),
            other => unreachable!("a call is over in the state {}", other.name()),
        }
    }

    /// The same for a compaction.
    fn take_compaction(&mut self) -> (Executor, AfterCompaction) {
        match core::mem::replace(self, Self::Finished) {
            Self::Compacting { executor, then, .. } => (executor, then),
            other => unreachable!("a compaction is over in the state {}", other.name()),
        }
    }

    /// The same for stop hooks.
    fn take_stop_hooks(&mut self) -> (RequestId, Executor) {
        match core::mem::replace(self, Self::Finished) {
            Self::StopHooks { answered, executor, .. } => (answered, executor),
            other => unreachable!("stop hooks have answered in the state {}", other.name()),
        }
    }

    fn executor(&self) -> Option<&Executor> {
        match self {
            Self::Calling { turn, .. } | Self::AwaitingTools { turn } | Self::Ending { turn, .. } => Some(&turn.executor),
            Self::Settling { executor, .. } | Self::Compacting { executor, .. } | Self::StopHooks { executor, .. } => Some(executor),
            Self::Finished => None,
        }
    }

    fn executor_mut(&mut self) -> Option<&mut Executor> {
        match self {
            Self::Calling { turn, .. } | Self::AwaitingTools { turn } | Self::Ending { turn, .. } => Some(&mut turn.executor),
            Self::Settling { executor, .. } | Self::Compacting { executor, .. } | Self::StopHooks { executor, .. } => Some(executor),
            Self::Finished => None,
        }
    }
}

/// The work that a compaction interrupted.
#[derive(Clone, Debug, PartialEq)]
enum AfterCompaction {
    /// This request was about to be made (C-4).
    Ask(RequestId),
    /// This was about to be the end (C-5): it is if nothing helps.
    Retry(Box<QueryEnding>),
    /// Nothing: the user asked for it (C-9).
    End(RequestId),
}

/// The parts of one answer so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct QueryTurn {
    blocks: Vec<Arc<AssistantMessage>>,
    /// The end of the answer as consumers saw it, if they saw it (Q-7).
    told: Option<Box<Emission>>,
    /// The tokens of the answer, once it is complete.
    usage: Option<Usage>,
    /// Whether the model refused to say more, and is to be told so behind the results (Q-23).
    is_refused: bool,
    executor: Executor,
}

/// The beginning of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueryBeginning {
    /// The model is asked.
    Asking,
    /// The model is to summarise, minding this (C-9).
    Compacting(Option<Arc<str>>),
}

/// The events of a query that the session must know.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub(crate) enum QueryVerdict {
    /// It continues.
    Running,
    /// It is over.
    Finished(Box<QueryOutcome>),
}

impl Query {
    /// Begins with the first request, or with what has to be done before it.
    pub(crate) fn start(
        env: &Environment,
        now: Time,
        prompt: u32,
        (frame, begins): (Arc<RequestFrame>, QueryBeginning),
        carried: SessionMemory,
        effects: &mut AgentEffects,
    ) -> (Self, QueryVerdict) {
        let mut query = Self {
            prompt,
            frame,
            carried,
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
            state: QueryState::Finished,
        };
        query.carried.turn_to(query.frame.model());
        query.carried.tracking.reactively_compacted = false; // a prompt begins a chain
        let before = query.before(effects).at_the_start();
        let verdict = query.settle_orphans(env, now, begins, effects);
        let verdict = query.after_step(env, now, &before, verdict, effects);
        (query, verdict)
    }

    /// Takes everything that can happen while the prompt is worked on.
    pub(crate) fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) -> QueryVerdict {
        if self.state == QueryState::Finished {
            return QueryVerdict::Running; // Q-3: nothing comes out after the terminal
        }
        let before = self.before(effects);
        self.timers.hear(now, input);
        let verdict = match self.step_tool_summary(env, now, input, effects) {
            Some(verdict) => verdict,
            None => self.step_prompt(env, now, input, effects),
        };
        self.after_step(env, now, &before, verdict, effects)
    }

    fn step_prompt(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) -> QueryVerdict {
        match input {
            Input::Cancel => self.abort(env, now, AbortKind::Cancel, effects),
            Input::ToolProgress { run, text, kind } => {
                if let Some(executor) = self.state.executor_mut() {
                    let scope = &mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects };
                    executor.on_progress(scope, *run, text, *kind);
                }
                self.settle(env, now, effects)
            }
            input if Executor::is_for(input) => self.step_executor(env, now, input, effects),
            Input::MarkedDead { .. } | Input::CollapseStaged(_) => {
                self.carried.take_note(input);
                QueryVerdict::Running
            }
            _ => self.step_state(env, now, input, effects),
        }
    }

    /// Brings about the facts that hold at the end of each step, and checks them. After the terminal they do not hold (Q-3).
    fn after_step(
        &mut self,
        env: &Environment,
        now: Time,
        before: &QueryOrigin,
        verdict: QueryVerdict,
        effects: &mut AgentEffects,
    ) -> QueryVerdict {
        if before.is_over() {
            return verdict;
        }
        let verdict = match verdict {
            QueryVerdict::Running => self.make_what_is_due(env, now, effects),
            finished => finished,
        };
        self.set_timers(effects);
        self.passed(before, &verdict, effects);
        self.check_invariants(&verdict);
        verdict
    }

    /// When the grace of a tool is over next (T-15a).
    pub(crate) fn grace_until(&self) -> Option<Time> {
        self.timers.grace()
    }

    /// Passes inputs on to the executor. Hooks that run for something else have the same timer (T-23, Q-16).
    fn step_executor(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) -> QueryVerdict {
        let Some(executor) = self.state.executor_mut() else { return QueryVerdict::Running };
        let scope = &mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects };
        let verdict = match executor.on_input(scope, input).abort {
            Some(_) => self.abort(env, now, AbortKind::Cancel, effects), // T-14
            None => self.settle(env, now, effects),
        };
        match (verdict, input) {
            (QueryVerdict::Running, Input::Timer(HOOK_TIMER)) => self.step_state(env, now, input, effects),
            (verdict, _) => verdict,
        }
    }

    /// Passes inputs on to the machine of the state.
    fn step_state(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) -> QueryVerdict {
        match &self.state {
            QueryState::Calling { .. } => self.step_call(env, now, input, effects),
            QueryState::Compacting { .. } => self.step_compaction(env, now, input, effects),
            QueryState::StopHooks { .. } => self.step_stop_hooks(env, now, input, effects),
            QueryState::Settling { .. } | QueryState::AwaitingTools { .. } | QueryState::Ending { .. } | QueryState::Finished => {
                QueryVerdict::Running
            }
        }
    }

    /// A message was submitted. Returns whether it waits for a tool that does not stop for one; otherwise the prompt is being
    /// aborted and the message is the next prompt (Q-22).
    pub(crate) fn interrupt(
        &mut self,
        env: &Environment,
        now: Time,
        message: (u32, &Arc<[Block]>),
        effects: &mut AgentEffects,
    ) -> (bool, QueryVerdict) {
        let open = matches!(self.state, QueryState::Settling { .. } | QueryState::Calling { .. } | QueryState::AwaitingTools { .. });
        if open && self.state.executor_mut().is_some_and(|executor| executor.blocks_interrupt()) {
            self.queued.push((message.0, message.1.clone()));
            return (true, QueryVerdict::Running);
        }
        let before = self.before(effects);
        let verdict = self.abort(env, now, AbortKind::Interrupt, effects);
        (false, self.after_step(env, now, &before, verdict, effects))
    }

    /// Inputs of the call; other inputs are dropped.
    fn step_call(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut AgentEffects) -> QueryVerdict {
        self.remember_container(env, input);
        let QueryState::Calling { call, turn } = &mut self.state else { return QueryVerdict::Running };
        let is_fast = call.is_fast();
        let verdict = match input {
            Input::Head { id, status, headers } if call.id() == *id => {
                call.on_head(env, now, *status, headers, effects);
                CallVerdict::Pending
            }
            Input::Body { id, body } if call.id() == *id => {
                call.on_body(body);
                CallVerdict::Pending
            }
            Input::Stream { id, event } if call.id() == *id => {
                let first = call.awaits_first_event().then(|| now.since(call.started()));
                if env.settings.partial_messages {
                    let event = event.clone();
                    effects.push(Effect::Emit(Emission::StreamEvent { id: *id, event, time_to_first_token: first }));
                }
                turn.executor.emit_completed(&env.settings, effects); // Q-8 F: a raw event is an item too
                call.on_event(env, now, event, effects)
            }
            Input::End { id, how } if call.id() == *id => call.on_end(env, now, how, effects),
            Input::Timer(timer) => call.on_timer(env, now, *timer, effects),
            Input::AuthRefreshed { id, ok } if call.id() == *id => call.on_auth(env, now, *ok, effects),
            _ => CallVerdict::Pending, // an abandoned attempt speaks
        };
        if call.is_due() {
            // What the attempt brought is lost, and paid for.
            let attempt = AttemptCost { is_fast, ..AttemptCost::from_call(call) };
            self.totals.count_attempt(env, &attempt);
            call.forget_usage();
        }
        self.on_call_verdict(env, now, verdict, effects)
    }

    fn on_call_verdict(&mut self, env: &Environment, now: Time, verdict: CallVerdict, effects: &mut AgentEffects) -> QueryVerdict {
        match verdict {
            CallVerdict::Pending => QueryVerdict::Running,
            CallVerdict::Blocks(messages) => self.on_blocks(env, now, &messages, effects),
            CallVerdict::StopReason(stop_reason, usage) => {
                if let QueryState::Calling { call, turn } = &mut self.state {
                    turn.tell_end(call.id(), Some(stop_reason), usage, effects);
                }
                QueryVerdict::Running
            }
            CallVerdict::Ended(ended) => self.on_answer(env, now, ended, effects),
            CallVerdict::Failed(failure) => self.on_call_lost(env, now, failure, effects),
            CallVerdict::Abandoned(failure) => self.on_abandoned(env, now, failure, effects),
            CallVerdict::Fallback { to, failure } => self.on_fallback(env, now, &to, failure, effects),
        }
    }

    /// The running tools and the spending, as the other agents of the tree see them (T-4, S-10).
    pub(crate) fn executing(&self, env: &Environment) -> TreeLoad {
        let executing = self.state.executor().map_or_else(TreeLoad::default, |executor| executor.executing(env));
        TreeLoad { spent: self.spent(env), ..executing }
    }

    /// The permissions that were learnt.
    pub(crate) fn permissions(&self) -> &PermissionContext {
        &self.carried.permissions
    }

    /// The same, to be learnt from another agent (B-8).
    pub(crate) fn permissions_mut(&mut self) -> &mut PermissionContext {
        &mut self.carried.permissions
    }

    /// A tool ended in another agent of the tree: what waited for it may start.
    pub(crate) fn on_room(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) -> QueryVerdict {
        let before = self.before(effects);
        let scope = &mut PipelineScope { env, now, permissions: &mut self.carried.permissions, effects };
        let started = self.state.executor_mut().map_or_else(ToolEvent::default, |executor| executor.on_room(scope));
        let verdict = match started.abort {
            Some(_) => self.abort(env, now, AbortKind::Cancel, effects), // T-14
            None => self.settle(env, now, effects),
        };
        self.after_step(env, now, &before, verdict, effects)
    }

    /// Says what there is to say, and hands everything to the session.
    fn finish(&mut self, env: &Environment, now: Time, ending: QueryEnding, effects: &mut AgentEffects) -> QueryVerdict {
        self.state = QueryState::Finished;
        self.drop_tool_summary(now, effects);
        let errors = ending.emit(self.prompt, &env.settings.texts, effects).into_iter().collect();
        if let Some(text) = ending.kept_text(&env.settings.texts) {
            self.carried.conversation.push_hidden(format!("p{}.interrupted", self.prompt), text);
        }
        QueryVerdict::Finished(Box::new(QueryOutcome {
            terminal: ending.terminal,
            errors,
            carried: SessionMemory { spent: self.carried.spent + self.totals.cost(), ..core::mem::take(&mut self.carried) },
            queued: core::mem::take(&mut self.queued),
            totals: core::mem::take(&mut self.totals),
        }))
    }

    /// A query that continues waits for something.
    fn check_invariants(&self, verdict: &QueryVerdict) {
        match &self.state {
            QueryState::Calling { call, turn } => {
                assert!(call.id().prompt == self.prompt, "a query asks for its own prompt");
                assert!(turn.blocks.iter().all(|message| message.id == call.id()), "a turn holds the blocks of one attempt");
                assert!(!call.is_due() && !call.is_over(), "a call that is due is made, and one that is over has gone on");
            }
            QueryState::Compacting { compaction, .. } => {
                assert!(!compaction.is_due() && !compaction.is_over(), "what a compaction asks is asked, and one that is over has gone on");
            }
            QueryState::StopHooks { hooks, .. } => assert!(hooks.until().is_some(), "hooks that have all answered have gone on"),
            QueryState::Settling { executor, .. } => assert!(!executor.is_settled(), "a tool use that has its result is settled"),
            QueryState::AwaitingTools { turn } => assert!(!turn.executor.is_settled(), "a turn whose results are all emitted has gone on"),
            QueryState::Ending { turn, .. } => assert!(!turn.executor.is_quiet(), "a prompt that waits for nothing has ended"),
            QueryState::Finished => (),
        }
        assert!((self.state == QueryState::Finished) == matches!(verdict, QueryVerdict::Finished(_)), "a query is over when it says so");
    }
}

#[cfg(test)]
mod tests;
