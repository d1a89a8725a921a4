//! C-4 and Q-5: whether the model summarises before the next request, and whether there is a next request at all.

use super::CascadeDecision;
use super::estimate::ContextThresholds;

/// Whether summarising is still possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SummaryAvailability {
    /// It is.
    Available,
    /// It is not, and why.
    Unavailable(&'static str),
}

/// The decision by the estimate. `others` says whether another level could still shorten the context: staged collapses, or reactive
/// compaction once the API has refused.
pub(super) fn decide(tokens: u64, figures: ContextThresholds, auto: SummaryAvailability, others: SummaryAvailability) -> CascadeDecision {
    match (auto, others) {
        _ if tokens < figures.threshold => CascadeDecision::Call,
        (SummaryAvailability::Available, _) => CascadeDecision::Compact,
        (SummaryAvailability::Unavailable(_), SummaryAvailability::Unavailable(_)) if tokens >= figures.hard => {
            CascadeDecision::Blocked { tokens, limit: figures.hard }
        }
        (SummaryAvailability::Unavailable(_), _) => CascadeDecision::Call,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_4_and_q_5_the_table() {
        use SummaryAvailability::{Available, Unavailable};
        let figures = ContextThresholds { effective: 100, commit: 90, threshold: 80, warning: 60, hard: 97 };
        let gone = Unavailable("it is switched off");
        let blocked = |tokens| CascadeDecision::Blocked { tokens, limit: 97 };
        let table = [
            (79, Available, Available, CascadeDecision::Call),
            (79, gone, gone, CascadeDecision::Call),
            (80, Available, gone, CascadeDecision::Compact),
            (97, Available, gone, CascadeDecision::Compact),
            (80, gone, gone, CascadeDecision::Call),
            (96, gone, gone, CascadeDecision::Call),
            (97, gone, gone, blocked(97)),
            (500, gone, gone, blocked(500)),
            (500, gone, Available, CascadeDecision::Call),
        ];
        for (tokens, auto, others, next) in table {
            assert_eq!(decide(tokens, figures, auto, others), next, "{tokens} tokens, auto {auto:?}, others {others:?}");
        }
    }
}
