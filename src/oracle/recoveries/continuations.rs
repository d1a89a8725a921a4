//! The reference model of a token budget: the model is asked to go on while less than 90 % of the budget is used, unless three or more continuations were
//! made and each of the last two gave less than 500 tokens.

use reenact_wire::prelude::*;

/// From how many percent of a token budget on a turn may end.
const ENOUGH_PERCENT: u64 = 90;

/// So many continuations are made for a token budget, however little they give.
const CONTINUATIONS_MIN: usize = 3;

/// A continuation that gives less gives little, in tokens.
const LITTLE: u64 = 500;

/// The output tokens of a prompt at each of its continuations.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Continuations(Vec<u64>);

impl Continuations {
    /// Whether the model is to be asked to go on, with so many tokens used.
    pub(super) fn is_due(&self, used: u64, budget: u64) -> bool {
        let has_enough = used.saturating_mul(100) / budget.max(1) >= ENOUGH_PERCENT;
        let mut newest = [used].into_iter().chain(self.0.iter().rev().copied()).chain([0]);
        let totals = (newest.next(), newest.next(), newest.next());
        let gives_little = match totals {
            (Some(now), Some(before), Some(earlier)) if self.0.len() >= CONTINUATIONS_MIN => {
                now.saturating_sub(before) < LITTLE && before.saturating_sub(earlier) < LITTLE
            }
            _ => false,
        };
        !has_enough && !gives_little
    }

    pub(super) fn add(&mut self, used: u64) {
        self.0.push(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o_34_a_token_budget_is_used_up_or_given_up() {
        let after = |used: &[u64]| Continuations(used.to_vec());
        assert!(after(&[]).is_due(899, 1_000) && !after(&[]).is_due(900, 1_000));
        assert!(!after(&[10_000, 20_000, 20_400]).is_due(20_800, 1_000_000), "400 and 400");
        assert!(after(&[10_000, 20_000, 20_400]).is_due(20_900, 1_000_000), "the last one gave 500");
        assert!(after(&[1_000, 2_000, 9_000]).is_due(9_100, 1_000_000), "the one before gave much");
        assert!(after(&[100, 200]).is_due(300, 1_000_000), "two are not enough");
    }
}
