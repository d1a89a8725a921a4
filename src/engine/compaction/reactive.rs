//! C-5: how much has to go after the API said too long, and how many of the oldest rounds a call that is too long leaves out.

use crate::engine::retry::{Decision, Failure};
use crate::wire::error::ContextFigures;

/// By how many tokens a request was over the limit, where the error has figures.
pub(crate) fn excess(failure: &Failure) -> Option<u64> {
    let excess = match ContextFigures::read(&failure.message)? {
        ContextFigures::PromptTooLong { tokens, maximum } => tokens.saturating_sub(maximum),
        ContextFigures::InputAndMaxTokens { input_tokens, max_tokens, limit } => {
            input_tokens.saturating_add(max_tokens).saturating_sub(limit)
        }
    };
    (excess > 0).then_some(excess)
}

/// Whether a call failed because it was too long itself.
pub(super) fn is_too_long(failure: &Failure) -> bool {
    failure.too_much() == Some(Decision::TooLong)
}

/// How many of the oldest rounds are left out, given the tokens of each: as few as make up the excess, or a quarter of them where it is not
/// known. At least one goes and at least one stays; `None` when that cannot be.
pub(super) fn rounds_to_drop(rounds: &[u64], excess: Option<u64>) -> Option<usize> {
    let most = rounds.len().checked_sub(1).filter(|most| *most > 0)?;
    let wanted = match excess {
        Some(excess) => {
            let mut sum: u64 = 0;
            let enough = rounds.iter().position(|tokens| {
                sum = sum.saturating_add(*tokens);
                sum >= excess
            });
            enough.map_or(most, |last| last + 1)
        }
        None => rounds.len().div_ceil(4),
    };
    Some(wanted.clamp(1, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Failure {
        Failure { status: Some(400), too_long: true, ..Failure::of("invalid_request_error", message) }
    }

    #[test]
    fn c_5_the_error_s_figures_say_how_much_has_to_go() {
        assert_eq!(excess(&said("prompt is too long: 200251 tokens > 200000 maximum")), Some(251));
        let limit = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length";
        assert_eq!(excess(&said(limit)), Some(9_573));
        assert_eq!(excess(&said("prompt is too long")), None);
        assert_eq!(excess(&said("prompt is too long: 5 tokens > 5 maximum")), None);
    }

    #[test]
    fn c_5_too_long_is_no_matter_of_media() {
        assert!(is_too_long(&said("prompt is too long")));
        assert!(is_too_long(&Failure { status: Some(413), ..Failure::of("request_too_large", "Request too large") }));
        assert!(!is_too_long(&Failure { status: Some(413), ..Failure::of("request_too_large", "image exceeds the maximum size") }));
        assert!(!is_too_long(&Failure { status: Some(529), ..Failure::of("overloaded_error", "") }));
    }

    #[test]
    fn c_4_as_few_of_the_oldest_rounds_go_as_are_enough() {
        let rounds = [100, 50, 30, 20, 10];
        let table =
            [(Some(1), Some(1)), (Some(100), Some(1)), (Some(101), Some(2)), (Some(180), Some(3)), (Some(9_999), Some(4)), (None, Some(2))];
        for (excess, drop) in table {
            assert_eq!(rounds_to_drop(&rounds, excess), drop, "{excess:?}");
        }
        assert_eq!(rounds_to_drop(&rounds[..2], None), Some(1));
        assert_eq!(rounds_to_drop(&rounds[..1], Some(1)), None, "the last round stays");
        assert_eq!(rounds_to_drop(&[], None), None);
    }
}
