//! The states of a query, and what a state alone says: what is due, what its calls cost, for when it needs a timer.

use super::outcome::{AttemptCost, QueryEnding};
use super::stop_hooks::StopHooks;
use super::{QueryBeginning, QueryScope};
use crate::budget::NanoUsd;
use crate::call::ApiCall;
use crate::compaction::Compaction;
use crate::contract::RequestId;
use crate::settings::Environment;
use crate::time::Time;
use reenact_wire::prelude::*;

/// A state is read where it is and left by setting the next one; nothing is moved out of it, so none can be lost. One that should have been
/// left and was not is a broken invariant.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) enum QueryState {
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
    /// The prompt would end well; hooks are asked.
    StopHooks(Box<StopHooks>),
    /// The prompt ends; what still runs has its grace (T-15a).
    Ending(Box<QueryEnding>),
    Finished,
}

/// The work that a compaction interrupted.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) enum AfterCompaction {
    /// This request was about to be made (C-4).
    Ask(RequestId),
    /// This was about to be the end (C-5): it is if nothing helps.
    Retry(Box<QueryEnding>),
    /// Nothing: the user asked for it (C-9).
    End(RequestId),
}

impl QueryState {
    /// Whether an attempt is to be made.
    pub(super) fn is_due(&self) -> bool {
        match self {
            Self::Calling(call) => call.is_due(),
            Self::Compacting { compaction, .. } => compaction.is_due(),
            _ => false,
        }
    }

    /// When the first attempt of its call was made.
    pub(super) fn call_since(&self) -> Option<Time> {
        if let Self::Calling(call) = self { Some(call.since()) } else { None }
    }

    /// Makes it (S-10).
    pub(super) fn make(&mut self, scope: &mut QueryScope<'_>) {
        match self {
            Self::Calling(call) => call.make(scope.env, scope.now, scope.effects),
            Self::Compacting { compaction, .. } => compaction.make(scope.env, scope.now, scope.effects),
            _ => (),
        }
    }

    /// The cost of its calls that is in no total yet.
    pub(super) fn cost(&self, env: &Environment) -> NanoUsd {
        match self {
            Self::Calling(call) => AttemptCost::from_call(call).cost(env),
            Self::Compacting { compaction, .. } => {
                let costs = compaction.usage().map(|(model, usage)| AttemptCost { model, usage, is_fast: false }.cost(env));
                costs.fold(NanoUsd::default(), |sum, cost| sum + cost)
            }
            _ => NanoUsd::default(),
        }
    }

    /// Whether it ends when the money is spent. A prompt that waits for nothing but its stop hooks finds that out by itself, should it continue.
    pub(super) fn costs_more(&self) -> bool {
        match self {
            Self::Settling { .. } | Self::Calling(_) | Self::Compacting { .. } | Self::AwaitingTools => true,
            Self::StopHooks(_) | Self::Ending(_) | Self::Finished => false,
        }
    }

    /// When the time of a hook is up next; the hooks of tools are the executor's.
    pub(super) fn hooks_until(&self) -> Option<Time> {
        match self {
            Self::StopHooks(hooks) => hooks.until(),
            Self::Compacting { compaction, .. } => compaction.hooks_until(),
            _ => None,
        }
    }
}
