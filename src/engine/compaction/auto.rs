//! C-4 and Q-5: whether the model summarises before the next request, and whether there is a next request at all.

use super::Next;
use super::estimate::Figures;

/// Whether summarising is still possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Help {
    /// It is.
    Left,
    /// It is not, and why.
    Gone(&'static str),
}

/// What follows from the estimate. `others` says whether another level could still shorten the context: staged collapses, or reactive
/// compaction once the API has refused.
pub(super) fn decide(tokens: u64, figures: Figures, auto: Help, others: Help) -> Next {
    match (auto, others) {
        _ if tokens < figures.threshold => Next::Call,
        (Help::Left, _) => Next::Compact,
        (Help::Gone(_), Help::Gone(_)) if tokens >= figures.hard => Next::Blocked { tokens, limit: figures.hard },
        (Help::Gone(_), _) => Next::Call,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_4_and_q_5_the_table() {
        use Help::{Gone, Left};
        let figures = Figures { effective: 100, commit: 90, threshold: 80, warning: 60, hard: 97 };
        let gone = Gone("it is switched off");
        let blocked = |tokens| Next::Blocked { tokens, limit: 97 };
        let table = [
            (79, Left, Left, Next::Call),
            (79, gone, gone, Next::Call),
            (80, Left, gone, Next::Compact),
            (97, Left, gone, Next::Compact),
            (80, gone, gone, Next::Call),
            (96, gone, gone, Next::Call),
            (97, gone, gone, blocked(97)),
            (500, gone, gone, blocked(500)),
            (500, gone, Left, Next::Call),
        ];
        for (tokens, auto, others, next) in table {
            assert_eq!(decide(tokens, figures, auto, others), next, "{tokens} tokens, auto {auto:?}, others {others:?}");
        }
    }
}
