//! C-5: how much has to go after a refusal as too long, and how many of the oldest rounds a call that is too long leaves out.

use crate::retry::{AttemptFailure, RetryDecision};
use reenact_wire::error::ContextFigures;

/// By how much a request was over the limit, in tokens as the API counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenExcess {
    /// How many have to go.
    tokens: u64,
    /// How many the input has.
    of: u64,
}

impl TokenExcess {
    /// The same share of what is `estimated` for that request: what goes is chosen by the estimate, and the API counts otherwise.
    pub(super) fn in_estimate(self, estimated: u64) -> u64 {
        let share = (u128::from(self.tokens) * u128::from(estimated)).div_ceil(u128::from(self.of.max(1)));
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// By how much a request was over the limit, where the error has figures.
pub(crate) fn excess(failure: &AttemptFailure) -> Option<TokenExcess> {
    let (of, wanted, limit) = match ContextFigures::read(&failure.message)? {
        ContextFigures::PromptTooLong { tokens, maximum } => (tokens, tokens, maximum),
        ContextFigures::InputAndMaxTokens { input_tokens, max_tokens, limit } => {
            (input_tokens, input_tokens.saturating_add(max_tokens), limit)
        }
    };
    let tokens = wanted.saturating_sub(limit);
    (tokens > 0).then_some(TokenExcess { tokens, of })
}

/// Whether a call failed because it was too long itself.
pub(super) fn is_too_long(failure: &AttemptFailure) -> bool {
    failure.too_much() == Some(RetryDecision::PromptTooLong)
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

    fn said(message: &str) -> AttemptFailure {
        AttemptFailure { status: Some(400), too_long: true, ..AttemptFailure::new("invalid_request_error", message) }
    }

    #[test]
    fn c_5_the_error_s_figures_say_how_much_has_to_go() {
        let of = |message: &str| excess(&said(message)).map(|excess| (excess.tokens, excess.of));
        assert_eq!(of("prompt is too long: 200251 tokens > 200000 maximum"), Some((251, 200_251)));
        let limit = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length";
        assert_eq!(of(limit), Some((9_573, 188_240)));
        assert_eq!(excess(&said("prompt is too long")), None);
        assert_eq!(excess(&said("prompt is too long: 5 tokens > 5 maximum")), None);
    }

    #[test]
    fn c_5_the_api_s_figures_become_a_share_of_the_estimate() {
        let table = [
            ((10, 100, 100), 10, "both count alike"),
            ((50_000, 200_000, 80), 20, "a quarter goes, however few there are"),
            ((50, 200, 8_001), 2_001, "and is rounded up"),
            ((u64::MAX, u64::MAX, u64::MAX), u64::MAX, "no figure is too large"),
            ((7, 0, 100), 700, "an API that counted nothing is taken at its word"),
        ];
        for ((tokens, of, estimated), expected, reason) in table {
            assert_eq!(TokenExcess { tokens, of }.in_estimate(estimated), expected, "{reason}");
        }
    }

    #[test]
    fn c_5_too_long_is_no_matter_of_media() {
        assert!(is_too_long(&said("prompt is too long")));
        assert!(is_too_long(&AttemptFailure { status: Some(413), ..AttemptFailure::new("request_too_large", "Request too large") }));
        assert!(!is_too_long(&AttemptFailure {
            status: Some(413),
            ..AttemptFailure::new("request_too_large", "image exceeds the maximum size")
        }));
        assert!(!is_too_long(&AttemptFailure { status: Some(529), ..AttemptFailure::new("overloaded_error", "") }));
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
