//! Shortening the context: the cascade before each request (C-1 to C-4), and the machine that has the model summarise (C-4, C-5, C-9).
//!
//! ```text
//!   cascade ──> Call                       nothing more to do: the request goes out
//!          ├──> Compact ──> Compaction     the model summarises first
//!          └──> Blocked                    over the hard limit, and nothing is left that could help (Q-5)
//! ```
//!
//! A level is a file: [`snip`] (C-1), [`microcompact`] (C-2), [`collapse`] (C-3), [`autocompact`] (C-4, Q-5), [`reactive`] (C-5). Each decides by a
//! pure function, [`cascade`](mod@cascade) carries it out and reports, and [`rounds`] says where a conversation may be cut at all (C-7).
//!
//! Its owner calls, in this order: [`cascade`] before each request; [`on_answer`] with each answer; [`Compaction::start`] and
//! [`Compaction::step`] when the model is to summarise; [`CompactionTracking::on_done`] or [`CompactionTracking::on_failed`] when that is over, and
//! after a failure [`after_failure`] in the cascade's place.

mod autocompact;
pub(crate) mod cache_edit;
mod cascade;
mod cause;
mod collapse;
pub(crate) mod diagram;
mod estimate;
mod machine;
mod microcompact;
mod omission;
mod outcome;
mod reactive;
pub(crate) mod rounds;
mod snip;
mod summary;
#[cfg(test)]
mod tests;

pub(crate) use cascade::{after_failure, can_react, cascade, drain_collapses};
pub(crate) use cause::CompactionCause;
pub(crate) use machine::{Compaction, CompactionVerdict};
pub(crate) use outcome::{CompactionUsage, FailedCompaction, SuccessfulCompaction, SummaryRefusal};
pub(crate) use reactive::{TokenExcess, excess};

use super::agent_effects::AgentEffects;
use super::contract::Effect;
use super::conversation::Conversation;
use super::emission::{CompactTrigger, Emission};
use super::settings::Environment;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

/// A session's memory of compactions, from request to request and from prompt to prompt.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct CompactionTracking {
    /// Compactions that failed in a row and that the user had not asked for (C-4).
    pub(crate) failures: u32,
    /// Whether reactive compaction was tried in this chain (Q-13).
    pub(crate) reactively_compacted: bool,
    /// The messages that markers have named and that are still there (C-1).
    dead: Vec<Arc<str>>,
    /// Whether the user knows that the context comes near the window.
    has_warned: bool,
    /// Whether the user knows that the context has passed the window and that nothing is done about it.
    has_told_excess: bool,
    /// The last compaction, if there was one.
    last: Option<LastCompaction>,
}

/// The compaction that the conversation begins with.
#[derive(Clone, Debug, PartialEq, Hash)]
struct LastCompaction {
    /// Its name, like no other.
    id: Arc<str>,
    /// How often the model was asked since.
    turns: u32,
}

/// The decision of the cascade.
#[derive(Clone, Debug, PartialEq, Hash)]
#[must_use]
pub(crate) enum CascadeDecision {
    /// The request goes out.
    Call,
    /// The model summarises first (C-4).
    Compact,
    /// Nothing is left that could shorten it (Q-5).
    Blocked {
        /// About how many tokens the context has.
        tokens: u64,
        /// The hard limit.
        limit: u64,
    },
}

impl CompactionTracking {
    /// A marker names messages that are dead (C-1): they go before the next request.
    pub(crate) fn mark_dead(&mut self, names: &[Arc<str>]) {
        for name in names {
            if !self.dead.contains(name) {
                self.dead.push(name.clone());
            }
        }
    }

    /// A compaction helped: tracking begins anew (C-4).
    pub(crate) fn on_done(&mut self, compacted: &SuccessfulCompaction) {
        let Self { reactively_compacted, has_told_excess, .. } = *self;
        let last = Some(LastCompaction { id: compacted.id.clone(), turns: 0 });
        *self = Self { reactively_compacted, has_told_excess, last, ..Self::default() };
    }

    /// A compaction failed. One that the user asked for opens no circuit breaker: the user sees it fail.
    pub(crate) fn on_failed(&mut self, trigger: CompactTrigger) {
        self.failures += u32::from(trigger != CompactTrigger::Manual);
    }
}

/// The API has counted the context of an answer. Where compaction is off, a context that passes the window is noted (C-4).
pub(crate) fn on_count(env: &Environment, model: &str, usage: &Usage, tracking: &mut CompactionTracking, effects: &mut AgentEffects) {
    cascade::tell_excess(env, model, || usage.context_tokens().unwrap_or(0), tracking, effects);
}

/// The API answered: the cleared tokens that it reports are emitted (C-2). `cleared` is
/// [`CompletedAnswer::cleared_input_tokens`](super::call::CompletedAnswer).
pub(crate) fn on_answer(conversation: &mut Conversation, cleared: Option<u64>, effects: &mut AgentEffects) {
    let (Some(tokens), Some(edit)) = (cleared, conversation.edit_mut()) else { return };
    if let Some((tool_use_ids, tokens_freed)) = Arc::make_mut(edit).on_applied(tokens) {
        effects.push(Effect::Emit(Emission::MicrocompactBoundary { tool_use_ids, tokens_freed }));
    }
}
