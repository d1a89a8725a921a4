//! The states that a query goes through, as seen from step to step.
//!
//! Edges are named for what a reader sees: the transition, the terminal, or else what the query continues to do. What happens
//! inside of one step is not drawn: an answer after which nothing is left to do goes from `Calling` to `Finished` at once.

use super::QueryVerdict;
use super::state::QueryState;
use crate::contract::Terminal;
use crate::diagram::Diagram;
use crate::emission::Transition;
use QueryCause::*;
use QueryPhase::*;

/// The states without their data.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub(crate) enum QueryPhase {
    Settling,
    Calling,
    Compacting,
    AwaitingTools,
    StopHooks,
    /// Waits for tools that are stopping. With such a tool every way to a terminal leads through it.
    Ending,
    Finished,
}

/// The causes of a change of state.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) enum QueryCause {
    /// The way to the next turn.
    By(Transition),
    /// The end.
    To(Terminal),
    /// The model is asked.
    Request,
    Compaction,
    /// Open tool uses of an earlier session are settled.
    Settlement,
    ToolUses,
    StopHookRun,
    End,
    /// The last tool that was stopping has ended.
    ToolStop,
    Fallback,
    /// The blocks of an attempt are taken back.
    Retraction,
}

/// A prompt's way to its terminal.
pub(crate) const DIAGRAM: Diagram<QueryPhase, QueryCause> = Diagram {
    machine: "query",
    edges: &[
        (None, To(Terminal::AbortedTools), Finished),
        (None, Request, Calling),
        (None, To(Terminal::BlockingLimit), Finished),
        (None, Compaction, Compacting),
        (None, To(Terminal::MaxBudget), Finished),
        (None, To(Terminal::ModelError), Finished),
        (None, Settlement, Settling),
        (Some(AwaitingTools), To(Terminal::AbortedTools), Finished),
        (Some(AwaitingTools), To(Terminal::BlockingLimit), Finished),
        (Some(AwaitingTools), To(Terminal::Completed), Finished),
        (Some(AwaitingTools), End, Ending),
        (Some(AwaitingTools), To(Terminal::HookStopped), Finished),
        (Some(AwaitingTools), To(Terminal::MaxBudget), Finished),
        (Some(AwaitingTools), To(Terminal::MaxTurns), Finished),
        (Some(AwaitingTools), By(Transition::NextTurn), Calling),
        (Some(AwaitingTools), By(Transition::NextTurn), Compacting),
        (Some(Calling), To(Terminal::AbortedStreaming), Finished),
        (Some(Calling), By(Transition::AnswerNudge), Calling),
        (Some(Calling), By(Transition::AnswerNudge), Compacting),
        (Some(Calling), Retraction, Calling),
        (Some(Calling), To(Terminal::BlockingLimit), Finished),
        (Some(Calling), By(Transition::CollapseDrainRetry), Calling),
        (Some(Calling), By(Transition::CollapseDrainRetry), Compacting),
        (Some(Calling), Compaction, Compacting),
        (Some(Calling), To(Terminal::Completed), Finished),
        (Some(Calling), By(Transition::CutOffRecovery), Calling),
        (Some(Calling), By(Transition::CutOffRecovery), Compacting),
        (Some(Calling), End, Ending),
        (Some(Calling), Fallback, Calling),
        (Some(Calling), To(Terminal::HookStopped), Finished),
        (Some(Calling), To(Terminal::ImageError), Finished),
        (Some(Calling), To(Terminal::MaxBudget), Finished),
        (Some(Calling), By(Transition::MaxOutputTokensEscalate), Calling),
        (Some(Calling), By(Transition::MaxOutputTokensEscalate), Compacting),
        (Some(Calling), By(Transition::MaxOutputTokensRecovery), Calling),
        (Some(Calling), By(Transition::MaxOutputTokensRecovery), Compacting),
        (Some(Calling), To(Terminal::MaxTurns), Finished),
        (Some(Calling), To(Terminal::ModelError), Finished),
        (Some(Calling), By(Transition::NextTurn), Calling),
        (Some(Calling), By(Transition::NextTurn), Compacting),
        (Some(Calling), By(Transition::PauseTurnResume), Calling),
        (Some(Calling), By(Transition::PauseTurnResume), Compacting),
        (Some(Calling), To(Terminal::PromptTooLong), Finished),
        (Some(Calling), By(Transition::RefusalRetry), Calling),
        (Some(Calling), By(Transition::RefusalRetry), Compacting),
        (Some(Calling), StopHookRun, StopHooks),
        (Some(Calling), By(Transition::StopHookBlocking), Calling),
        (Some(Calling), By(Transition::StopHookBlocking), Compacting),
        (Some(Calling), To(Terminal::StructuredOutputRetries), Finished),
        (Some(Calling), By(Transition::TokenBudgetContinuation), Calling),
        (Some(Calling), By(Transition::TokenBudgetContinuation), Compacting),
        (Some(Calling), ToolUses, AwaitingTools),
        (Some(Compacting), To(Terminal::AbortedStreaming), Finished),
        (Some(Compacting), Request, Calling),
        (Some(Compacting), To(Terminal::BlockingLimit), Finished),
        (Some(Compacting), To(Terminal::Completed), Finished),
        (Some(Compacting), End, Ending),
        (Some(Compacting), To(Terminal::ImageError), Finished),
        (Some(Compacting), To(Terminal::MaxBudget), Finished),
        (Some(Compacting), To(Terminal::ModelError), Finished),
        (Some(Compacting), To(Terminal::PromptTooLong), Finished),
        (Some(Compacting), By(Transition::ReactiveCompactRetry), Calling),
        (Some(Compacting), By(Transition::ReactiveCompactRetry), Compacting),
        (Some(Ending), ToolStop, Finished),
        (Some(Settling), To(Terminal::AbortedTools), Finished),
        (Some(Settling), Request, Calling),
        (Some(Settling), To(Terminal::BlockingLimit), Finished),
        (Some(Settling), Compaction, Compacting),
        (Some(Settling), End, Ending),
        (Some(Settling), To(Terminal::HookStopped), Finished),
        (Some(Settling), To(Terminal::ModelError), Finished),
        (Some(StopHooks), To(Terminal::AbortedStreaming), Finished),
        (Some(StopHooks), To(Terminal::BlockingLimit), Finished),
        (Some(StopHooks), To(Terminal::Completed), Finished),
        (Some(StopHooks), End, Ending),
        (Some(StopHooks), To(Terminal::MaxBudget), Finished),
        (Some(StopHooks), By(Transition::StopHookBlocking), Calling),
        (Some(StopHooks), By(Transition::StopHookBlocking), Compacting),
        (Some(StopHooks), To(Terminal::StopHookPrevented), Finished),
        (Some(StopHooks), By(Transition::TokenBudgetContinuation), Calling),
        (Some(StopHooks), By(Transition::TokenBudgetContinuation), Compacting),
    ],
};

impl QueryState {
    pub(super) fn phase(&self) -> QueryPhase {
        match self {
            Self::Settling { .. } => Settling,
            Self::Calling(_) => Calling,
            Self::Compacting { .. } => Compacting,
            Self::AwaitingTools => AwaitingTools,
            Self::StopHooks(_) => StopHooks,
            Self::Ending(_) => Ending,
            Self::Finished => Finished,
        }
    }
}

impl QueryPhase {
    /// The work of a query that went into this state without a transition or a terminal.
    fn purpose(self) -> QueryCause {
        match self {
            Settling => Settlement,
            Calling => Request,
            Compacting => Compaction,
            AwaitingTools => ToolUses,
            StopHooks => StopHookRun,
            Ending | Finished => End,
        }
    }
}

/// Where a step began.
pub(super) struct QueryOrigin {
    phase: Option<QueryPhase>,
}

impl QueryOrigin {
    /// A query that was not there before.
    pub(super) fn at_the_start() -> Self {
        Self { phase: None }
    }

    pub(super) fn from_state(state: &QueryState) -> Self {
        Self { phase: Some(state.phase()) }
    }

    /// Whether the query had ended before.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Some(Finished)
    }

    /// The step is over: what it did is an edge of the diagram, unless it did nothing that shows.
    pub(super) fn pass(&self, phase: QueryPhase, verdict: &QueryVerdict, transition: Option<Transition>) {
        if transition.is_none() && self.phase == Some(phase) {
            return;
        }
        let cause = match (transition, verdict) {
            _ if self.phase == Some(Ending) && phase == Finished => ToolStop,
            (_, QueryVerdict::Finished(outcome)) => To(outcome.terminal.clone()),
            (Some(transition), QueryVerdict::Running) if phase != Ending => By(transition),
            (_, QueryVerdict::Running) => phase.purpose(),
        };
        DIAGRAM.pass(self.phase, cause, phase);
    }
}
