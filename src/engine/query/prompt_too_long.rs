//! Recovery from a prompt that is too long and from media that are too large.
//!
//! Stop hooks do not run on this path: they would grow the very prompt that is too long.

use super::outcome::QueryEnding;
use super::{AfterCompaction, Query, QueryScope, QueryVerdict};
use crate::compaction::{self, CompactionCause};
use crate::contract::RequestId;
use crate::emission::{CompactTrigger, Transition};
use crate::retry::{AttemptFailure, RetryDecision};
use crate::settings::CompactionSettings;
use reenact_wire::prelude::*;

/// The kind of content that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ExcessKind {
    /// The prompt.
    Text,
    /// An image or a document.
    Media,
}

/// Whether the failure is one that can be recovered from.
pub(super) fn kind(failure: &AttemptFailure) -> Option<ExcessKind> {
    match failure.too_much() {
        None => None,
        Some(RetryDecision::Media) => Some(ExcessKind::Media),
        Some(_) => Some(ExcessKind::Text),
    }
}

/// The next recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TooLongRecovery {
    /// Commit what is staged; what follows if nothing is.
    Drain,
    /// Have the model summarise.
    Compact,
    /// The error is emitted.
    GiveUp,
}

/// each way once in a chain.
fn decide(kind: ExcessKind, drained: bool, can_react: bool, settings: &CompactionSettings) -> TooLongRecovery {
    match kind {
        ExcessKind::Text if settings.collapse && !drained => TooLongRecovery::Drain,
        _ if can_react => TooLongRecovery::Compact,
        _ => TooLongRecovery::GiveUp,
    }
}

impl Query {
    /// Goes through the recoveries; `ending` is what the prompt ends with when none is left.
    pub(super) fn recover(
        &mut self,
        scope: &mut QueryScope<'_>,
        kind: ExcessKind,
        (id, ending): (RequestId, QueryEnding),
        failure: &AttemptFailure,
    ) -> QueryVerdict {
        let can_react = compaction::can_react(scope.env, &scope.memory.conversation, &scope.memory.tracking);
        let decide = |drained| decide(kind, drained, can_react, &scope.env.settings.compaction);
        let mut recovery = decide(self.chain.collapse_drained);
        if recovery == TooLongRecovery::Drain {
            self.chain.collapse_drained = true;
            if compaction::drain_collapses(scope.env, &self.frame, &mut scope.memory.conversation, scope.effects) {
                return self.ask_again(scope, id, Transition::CollapseDrainRetry);
            }
            recovery = decide(true);
        }
        match recovery {
            TooLongRecovery::Compact => {
                scope.memory.tracking.reactively_compacted = true;
                let cause = CompactionCause {
                    trigger: CompactTrigger::Reactive,
                    instructions: None,
                    excess: compaction::excess(failure),
                    without_media: kind == ExcessKind::Media,
                    answers_min: if failure.status == Some(413) { scope.env.settings.compaction.too_large_answers } else { 0 },
                };
                let first = RequestId { prompt: id.prompt, turn: id.turn + 1, attempt: 1 };
                let then = AfterCompaction::Retry(Box::new(ending));
                self.compact(scope, cause, (first, then))
            }
            TooLongRecovery::Drain | TooLongRecovery::GiveUp => self.end(scope, ending),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_13_and_q_14_each_way_is_tried_once_in_its_order() {
        let all = CompactionSettings::default();
        assert_eq!(decide(ExcessKind::Text, false, true, &all), TooLongRecovery::Drain);
        assert_eq!(decide(ExcessKind::Text, true, true, &all), TooLongRecovery::Compact);
        assert_eq!(decide(ExcessKind::Text, true, false, &all), TooLongRecovery::GiveUp);
        assert_eq!(decide(ExcessKind::Media, false, true, &all), TooLongRecovery::Compact, "collapsing removes no media");
        assert_eq!(decide(ExcessKind::Media, false, false, &all), TooLongRecovery::GiveUp);
        let none = CompactionSettings { collapse: false, ..all };
        assert_eq!(decide(ExcessKind::Text, false, false, &none), TooLongRecovery::GiveUp);
    }
}
