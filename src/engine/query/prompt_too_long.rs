//! Recovery from a prompt that is too long and from media that are too large. Pure functions.
//!
//! Stop hooks do not run on this path: they would grow the very prompt that is too long.

use crate::retry::{AttemptFailure, RetryDecision};
use crate::settings::CompactionSettings;

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
pub(super) enum TooLongRecovery {
    /// Commit what is staged; what follows if nothing is.
    Drain,
    /// Have the model summarise.
    Compact,
    /// The error is emitted.
    GiveUp,
}

/// each way once in a chain.
pub(super) fn decide(kind: ExcessKind, drained: bool, can_react: bool, settings: &CompactionSettings) -> TooLongRecovery {
    match kind {
        ExcessKind::Text if settings.collapse && !drained => TooLongRecovery::Drain,
        _ if can_react => TooLongRecovery::Compact,
        _ => TooLongRecovery::GiveUp,
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
