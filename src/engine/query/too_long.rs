//! Recovery from a prompt that is too long and from media that are too large.
//!
//! Stop hooks do not run on this path: they would grow the very prompt that is too long.

use super::outcome::Ending;
use super::{AfterCompaction, Query, Verdict};
use crate::engine::compaction::{self, Cause};
use crate::engine::contract::{Effects, RequestId};
use crate::engine::emission::{CompactTrigger, Transition};
use crate::engine::executor::Executor;
use crate::engine::retry::{Decision, Failure};
use crate::engine::settings::{CompactionSettings, Environment};
use crate::engine::time::Time;
use crate::prelude::*;

/// What there is too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    /// The prompt.
    Text,
    /// An image or a document.
    Media,
}

/// Whether the failure is one that can be recovered from.
pub(super) fn kind(failure: &Failure) -> Option<TooMuch> {
    match failure.too_much() {
        None => None,
        Some(Decision::Media) => Some(TooMuch::Media),
        Some(_) => Some(TooMuch::Text),
    }
}

/// What to try next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// Commit what is staged; what follows if nothing is.
    Drain,
    /// Have the model summarise.
    Compact,
    /// The error is emitted.
    GiveUp,
}

/// each way once in a chain.
fn decide(kind: TooMuch, drained: bool, can_react: bool, settings: &CompactionSettings) -> Recovery {
    match kind {
        TooMuch::Text if settings.collapse && !drained => Recovery::Drain,
        _ if can_react => Recovery::Compact,
        _ => Recovery::GiveUp,
    }
}

impl Query {
    /// Goes through the recoveries; `ending` is what the prompt ends with when none is left.
    pub(super) fn recover(
        &mut self,
        env: &Environment,
        now: Time,
        kind: TooMuch,
        (id, executor, ending): (RequestId, Executor, Ending),
        failure: &Failure,
        effects: &mut Effects,
    ) -> Verdict {
        let can_react = compaction::can_react(env, &self.carried.conversation, &self.carried.tracking);
        let decide = |drained| decide(kind, drained, can_react, &env.settings.compaction);
        let mut recovery = decide(self.chain.collapse_drained);
        if recovery == Recovery::Drain {
            self.chain.collapse_drained = true;
            if compaction::drain_collapses(env, &self.frame, &mut self.carried.conversation, effects) {
                return self.ask_again(env, now, id, executor, Transition::CollapseDrainRetry, effects);
            }
            recovery = decide(true);
        }
        match recovery {
            Recovery::Compact => {
                self.carried.tracking.reactively_compacted = true;
                let cause = Cause {
                    trigger: CompactTrigger::Reactive,
                    instructions: None,
                    excess: compaction::excess(failure),
                    without_media: kind == TooMuch::Media,
                };
                let first = RequestId { prompt: id.prompt, turn: id.turn + 1, attempt: 1 };
                let then = AfterCompaction::Retry(Box::new(ending));
                self.compact(env, now, cause, (first, executor, then), effects)
            }
            Recovery::Drain | Recovery::GiveUp => self.end(env, now, executor, ending, effects),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_13_and_q_14_each_way_is_tried_once_in_its_order() {
        let all = CompactionSettings::default();
        assert_eq!(decide(TooMuch::Text, false, true, &all), Recovery::Drain);
        assert_eq!(decide(TooMuch::Text, true, true, &all), Recovery::Compact);
        assert_eq!(decide(TooMuch::Text, true, false, &all), Recovery::GiveUp);
        assert_eq!(decide(TooMuch::Media, false, true, &all), Recovery::Compact, "collapsing removes no media");
        assert_eq!(decide(TooMuch::Media, false, false, &all), Recovery::GiveUp);
        let none = CompactionSettings { collapse: false, ..all };
        assert_eq!(decide(TooMuch::Text, false, false, &none), Recovery::GiveUp);
    }
}
