//! The ways to ask once more after an answer, and what belongs to each of them.

use crate::emission::Transition;
use crate::texts::TextName;

/// A way to ask once more after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnswerRecovery {
    /// The same messages with the answer as it is.
    Resumption,
    /// The same again after a refusal.
    RefusalRetry,
    /// The model refused, and is told so.
    RefusalNote,
    /// The stream broke inside a tool use, behind complete text.
    CutOff,
    /// There is nothing in the answer.
    NoOutput,
    /// It was to hold a tool use and holds none.
    NoToolUse,
    /// The same again with this cap on output tokens.
    RaisedCap(u64),
    /// The output limit was reached: the rest is asked for.
    Continuation,
}

/// The fate of an answer whose end is no good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnswerDisposal {
    Kept,
    /// Consumers are told to forget it.
    TakenBack,
    /// The model does not see it again.
    Dropped,
}

impl AnswerRecovery {
    /// The fate of the answer, the text for the model in the user's name, and the transition under which the next request opens.
    pub(super) fn plan(self) -> (AnswerDisposal, Option<TextName>, Transition) {
        match self {
            Self::Resumption => (AnswerDisposal::Kept, None, Transition::PauseTurnResume),
            Self::RefusalRetry => (AnswerDisposal::Dropped, None, Transition::RefusalRetry),
            Self::RefusalNote => (AnswerDisposal::Kept, Some(TextName::RefusalNote), Transition::RefusalRetry),
            Self::CutOff => (AnswerDisposal::Kept, Some(TextName::CutOff), Transition::CutOffRecovery),
            Self::NoOutput => (AnswerDisposal::Kept, Some(TextName::NoOutput), Transition::AnswerNudge),
            Self::NoToolUse => (AnswerDisposal::TakenBack, Some(TextName::NoToolUse), Transition::AnswerNudge),
            Self::RaisedCap(_) => (AnswerDisposal::TakenBack, None, Transition::MaxOutputTokensEscalate),
            Self::Continuation => (AnswerDisposal::Kept, Some(TextName::OutputLimit), Transition::MaxOutputTokensRecovery),
        }
    }
}
