//! The states that a query goes through, as seen from step to step.
//!
//! Edges are named for what a reader sees: the transition, the terminal, or else what the query continues to do. What happens
//! inside of one step is not drawn: an answer after which nothing is left to do goes from `Calling` to `Finished` at once.

use super::{Query, QueryState, QueryVerdict};
use crate::diagram::Diagram;
use crate::emission::Transition;

/// A prompt's way to its terminal.
pub(crate) const DIAGRAM: Diagram = Diagram {
    machine: "query",
    edges: &[
        ("", "aborted_tools", "Finished"),
        ("", "asks", "Calling"),
        ("", "blocking_limit", "Finished"),
        ("", "compacts", "Compacting"),
        ("", "max_budget", "Finished"),
        ("", "model_error", "Finished"),
        ("", "settles", "Settling"),
        ("AwaitingTools", "aborted_tools", "Finished"),
        ("AwaitingTools", "blocking_limit", "Finished"),
        ("AwaitingTools", "completed", "Finished"),
        ("AwaitingTools", "ends", "Ending"),
        ("AwaitingTools", "hook_stopped", "Finished"),
        ("AwaitingTools", "max_budget", "Finished"),
        ("AwaitingTools", "max_turns", "Finished"),
        ("AwaitingTools", "next_turn", "Calling"),
        ("AwaitingTools", "next_turn", "Compacting"),
        ("Calling", "aborted_streaming", "Finished"),
        ("Calling", "answer_nudge", "Calling"),
        ("Calling", "attempt taken back", "Calling"),
        ("Calling", "blocking_limit", "Finished"),
        ("Calling", "collapse_drain_retry", "Calling"),
        ("Calling", "compacts", "Compacting"),
        ("Calling", "completed", "Finished"),
        ("Calling", "cut_off_recovery", "Calling"),
        ("Calling", "ends", "Ending"),
        ("Calling", "fallback", "Calling"),
        ("Calling", "hook_stopped", "Finished"),
        ("Calling", "image_error", "Finished"),
        ("Calling", "max_budget", "Finished"),
        ("Calling", "max_output_tokens_escalate", "Calling"),
        ("Calling", "max_output_tokens_escalate", "Compacting"),
        ("Calling", "max_output_tokens_recovery", "Calling"),
        ("Calling", "max_output_tokens_recovery", "Compacting"),
        ("Calling", "max_turns", "Finished"),
        ("Calling", "model_error", "Finished"),
        ("Calling", "next_turn", "Calling"),
        ("Calling", "next_turn", "Compacting"),
        ("Calling", "pause_turn_resume", "Calling"),
        ("Calling", "pause_turn_resume", "Compacting"),
        ("Calling", "prompt_too_long", "Finished"),
        ("Calling", "refusal_retry", "Calling"),
        ("Calling", "stop hooks", "StopHooks"),
        ("Calling", "stop_hook_blocking", "Calling"),
        ("Calling", "stop_hook_blocking", "Compacting"),
        ("Calling", "structured_output_retries", "Finished"),
        ("Calling", "token_budget_continuation", "Calling"),
        ("Calling", "token_budget_continuation", "Compacting"),
        ("Calling", "tool uses", "AwaitingTools"),
        ("Compacting", "aborted_streaming", "Finished"),
        ("Compacting", "asks", "Calling"),
        ("Compacting", "blocking_limit", "Finished"),
        ("Compacting", "completed", "Finished"),
        ("Compacting", "ends", "Ending"),
        ("Compacting", "image_error", "Finished"),
        ("Compacting", "max_budget", "Finished"),
        ("Compacting", "model_error", "Finished"),
        ("Compacting", "prompt_too_long", "Finished"),
        ("Compacting", "reactive_compact_retry", "Calling"),
        ("Compacting", "reactive_compact_retry", "Compacting"),
        ("Ending", "tools stopped", "Finished"),
        ("Settling", "aborted_tools", "Finished"),
        ("Settling", "asks", "Calling"),
        ("Settling", "blocking_limit", "Finished"),
        ("Settling", "compacts", "Compacting"),
        ("Settling", "ends", "Ending"),
        ("Settling", "hook_stopped", "Finished"),
        ("Settling", "model_error", "Finished"),
        ("StopHooks", "aborted_streaming", "Finished"),
        ("StopHooks", "blocking_limit", "Finished"),
        ("StopHooks", "completed", "Finished"),
        ("StopHooks", "ends", "Ending"),
        ("StopHooks", "max_budget", "Finished"),
        ("StopHooks", "stop_hook_blocking", "Calling"),
        ("StopHooks", "stop_hook_blocking", "Compacting"),
        ("StopHooks", "stop_hook_prevented", "Finished"),
        ("StopHooks", "token_budget_continuation", "Calling"),
        ("StopHooks", "token_budget_continuation", "Compacting"),
    ],
};

/// Waits for tools that are stopping. With such a tool every way to a terminal leads through it.
const ENDING: &str = "Ending";

impl QueryState {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Settling { .. } => "Settling",
            Self::Calling { .. } => "Calling",
            Self::Compacting { .. } => "Compacting",
            Self::AwaitingTools { .. } => "AwaitingTools",
            Self::StopHooks { .. } => "StopHooks",
            Self::Ending { .. } => ENDING,
            Self::Finished => "Finished",
        }
    }

    /// The work of a query that went into this state without a transition or a terminal.
    fn purpose(&self) -> &'static str {
        match self {
            Self::Settling { .. } => "settles",
            Self::Calling { .. } => "asks",
            Self::Compacting { .. } => "compacts",
            Self::AwaitingTools { .. } => "tool uses",
            Self::StopHooks { .. } => "stop hooks",
            Self::Ending { .. } => "ends",
            Self::Finished => "ends",
        }
    }
}

/// Where a step began.
pub(super) struct QueryOrigin {
    state: &'static str,
}

impl QueryOrigin {
    /// A query that was not there before.
    pub(super) fn at_the_start() -> Self {
        Self { state: "" }
    }

    /// Whether the query had ended before.
    pub(super) fn is_over(&self) -> bool {
        self.state == QueryState::Finished.name()
    }
}

impl Query {
    pub(super) fn before(&self) -> QueryOrigin {
        QueryOrigin { state: self.state.name() }
    }

    /// A step is over: what it did is an edge of the diagram, unless it did nothing that shows.
    pub(super) fn passed(&self, before: &QueryOrigin, verdict: &QueryVerdict, transition: Option<Transition>) {
        let cause = match (transition, verdict) {
            _ if before.state == ENDING && self.state == QueryState::Finished => "tools stopped",
            (_, QueryVerdict::Finished(outcome)) => outcome.terminal.as_str(),
            _ if matches!(self.state, QueryState::Ending { .. }) => self.state.purpose(),
            (Some(transition), QueryVerdict::Running) => transition.as_str(),
            (None, QueryVerdict::Running) => self.state.purpose(),
        };
        if transition.is_some() || before.state != self.state.name() {
            DIAGRAM.pass(before.state, cause, self.state.name());
        }
    }
}
