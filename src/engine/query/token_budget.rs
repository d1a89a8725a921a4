//! The turn's token budget: as long as too little of it is used, the model is asked to continue.

use crate::texts::{ModelTexts, TextName};
use reenact_wire::prelude::*;

/// From how many percent of the budget on the turn may end.
const ENOUGH_PERCENT: u64 = 90;

/// A continuation that gives less than this adds nothing.
const LITTLE_TOKENS: u64 = 500;

/// From how many continuations on that is looked at.
const CONTINUATIONS_MIN: u32 = 3;

/// The continuations so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct NudgeHistory {
    /// How many continuations were made.
    made: u32,
    /// The turn's output when the last one was made.
    at_tokens: u64,
    /// The output tokens of the continuation before the last.
    previous_tokens: u64,
}

/// With how many percent of the budget used the model is asked to continue; `None` when the turn may end.
fn percent_to_go_on(budget: u64, used: u64, nudges: NudgeHistory) -> Option<u64> {
    let percent = used.saturating_mul(100) / budget.max(1);
    let last = used.saturating_sub(nudges.at_tokens);
    let gives_little = nudges.made >= CONTINUATIONS_MIN && last < LITTLE_TOKENS && nudges.previous_tokens < LITTLE_TOKENS;
    (percent < ENOUGH_PERCENT && !gives_little).then_some(percent)
}

impl NudgeHistory {
    /// The text of one more continuation; `None` when the turn may end.
    pub(super) fn next(&mut self, texts: &ModelTexts, budget: u64, used: u64) -> Option<String> {
        let percent = percent_to_go_on(budget, used, *self)?;
        self.count(used);
        let [percent, used, budget] = [percent, used, budget].map(|figure| figure.to_string());
        Some(texts.say(TextName::TokenBudget, &[("percent", &percent), ("used", &used), ("budget", &budget)]))
    }

    fn count(&mut self, used: u64) {
        self.previous_tokens = used.saturating_sub(self.at_tokens);
        self.at_tokens = used;
        self.made += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_17_the_turn_goes_on_under_ninety_percent() {
        let of = |used| percent_to_go_on(1_000, used, NudgeHistory::default());
        assert_eq!(of(0), Some(0));
        assert_eq!(of(899), Some(89));
        assert_eq!(of(900), None);
        assert_eq!(of(2_000), None);
        assert_eq!(percent_to_go_on(0, 0, NudgeHistory::default()), Some(0), "a budget of nothing is refused when settings are read");
    }

    #[test]
    fn q_17_three_continuations_of_which_two_gave_little_are_enough() {
        let mut nudges = NudgeHistory::default();
        let budget = 1_000_000;
        nudges.count(10_000);
        nudges.count(20_000);
        nudges.count(20_400);
        assert_eq!(percent_to_go_on(budget, 20_800, nudges), None, "400 and 400 after three");
        assert_eq!(percent_to_go_on(budget, 20_900, nudges), Some(2), "the last one gave 500");
        let mut two = NudgeHistory::default();
        two.count(100);
        two.count(200);
        assert_eq!(percent_to_go_on(budget, 300, two), Some(0), "two are not enough");
        let mut one_was_good = NudgeHistory::default();
        [1_000, 2_000, 9_000].into_iter().for_each(|used| one_was_good.count(used));
        assert_eq!(percent_to_go_on(budget, 9_100, one_was_good), Some(0), "the one before gave much");
    }
}
