//! The recoveries that a prompt has been through, so that none is tried without end.
//!
//! Pure functions decide which one is next. A decision is counted where it is made.

use super::answer_recovery::AnswerRecovery;
use super::prompt_too_long::{self, ExcessKind, TooLongRecovery};
use crate::settings::CompactionSettings;

/// The recoveries of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Recoveries {
    pub(super) chain: RecoveryChain,
    /// Whether a refusal was tried again.
    pub(super) refusal_retried: bool,
}

/// The recoveries from one `next_turn` to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RecoveryChain {
    /// How many paused answers came in a row.
    pub(super) pauses: u32,
    /// How often the model was asked to continue after the output limit.
    pub(super) continuations: u32,
    /// The cap on output tokens that takes the place of the settings' one.
    pub(super) raised_cap: Option<u64>,
    /// How often the model was asked for what its answer lacks.
    pub(super) nudges: u32,
    /// Whether staged collapses were committed. Whether reactive compaction was tried is tracked with the compactions.
    pub(super) collapse_drained: bool,
}

impl Recoveries {
    /// A turn begins another chain.
    pub(super) fn begin_turn(&mut self) {
        self.chain = RecoveryChain::default();
    }

    /// Counts a recovery after an answer.
    pub(super) fn count(&mut self, recovery: AnswerRecovery) {
        match recovery {
            AnswerRecovery::RefusalRetry | AnswerRecovery::RefusalNote => self.refusal_retried = true,
            AnswerRecovery::Resumption => self.chain.pauses += 1,
            AnswerRecovery::RaisedCap(cap) => self.chain.raised_cap = Some(cap),
            AnswerRecovery::Continuation => self.chain.continuations += 1,
            AnswerRecovery::NoOutput | AnswerRecovery::NoToolUse => self.chain.nudges += 1,
            AnswerRecovery::CutOff => (),
        }
    }

    /// Decides what follows a request that was too large; once more if nothing was staged.
    pub(super) fn on_excess(&mut self, kind: ExcessKind, can_react: bool, settings: &CompactionSettings) -> TooLongRecovery {
        let recovery = prompt_too_long::decide(kind, self.chain.collapse_drained, can_react, settings);
        self.chain.collapse_drained |= recovery == TooLongRecovery::Drain;
        recovery
    }
}
