//! The cost of answers, and the budgets (S-10).
//!
//! ```text
//!   usage of one answer + model + date ──> price table ──> nano-dollars
//! ```
//!
//! Money is counted in whole nano-dollars: every price per million tokens that the API has ever had is a whole number of them per token, so no
//! sum depends on its order (D2).

mod money;
mod prices;

pub use super::date::{Date, DateError, PRICES_AS_OF};
pub use money::{MoneyError, NanoUsd};
pub use prices::{PriceRow, PriceTable, TokenPrices};

use reenact_wire::usage::Usage;

/// The older name of the error.
#[deprecated(note = "the error is `reenact::engine::data_file::DataFileError`")]
pub type PriceTableError = super::data_file::DataFileError;

/// How an answer is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct AnswerCharge<'a> {
    /// The model that answered.
    pub model: &'a str,
    /// Which prices hold.
    pub date: Date,
    /// Whether the answer was asked for at fast speed (R-9).
    pub is_fast: bool,
    /// Whether the model refused before it had said anything: that is free.
    pub is_refused_at_once: bool,
}

impl PriceTable {
    /// The cost of one answer. Prices can depend on the size of its prompt, so answers are charged one by one and not by their sum.
    #[doc(hidden)]
    pub fn cost(&self, usage: &Usage, charge: AnswerCharge<'_>) -> NanoUsd {
        if charge.is_refused_at_once {
            return NanoUsd(0);
        }
        let count = |tokens: Option<u64>| tokens.unwrap_or(0);
        let (input, read) = (count(usage.input_tokens), count(usage.cache_read_input_tokens));
        let written = count(usage.cache_creation_input_tokens);
        let written_1h = count(usage.cache_creation_1h_input_tokens).min(written);
        let prices = self.price(charge.model, charge.date, input + read + written, charge.is_fast);
        let parts = [
            (input, prices.input),
            (count(usage.output_tokens), prices.output),
            (written - written_1h, prices.write_5m),
            (written_1h, prices.write_1h),
            (read, prices.read),
            (count(usage.web_search_requests.map(u64::from)), self.web_search),
        ];
        parts.into_iter().fold(NanoUsd(0), |sum, (tokens, price)| sum + price.times(tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_cost(model: &str, date: &str, usage: Usage) -> NanoUsd {
        PriceTable::default()
            .cost(&usage, AnswerCharge { model, date: Date::read(date).unwrap(), is_fast: false, is_refused_at_once: false })
    }

    const MILLION: Option<u64> = Some(1_000_000);

    #[test]
    fn s_10_each_kind_of_token_has_its_price() {
        let table = [
            (Usage { input_tokens: MILLION, ..Usage::default() }, "3"),
            (Usage { output_tokens: MILLION, ..Usage::default() }, "15"),
            (Usage { cache_creation_input_tokens: MILLION, ..Usage::default() }, "3.75"),
            (Usage { cache_creation_input_tokens: MILLION, cache_creation_1h_input_tokens: MILLION, ..Usage::default() }, "6"),
            (Usage { cache_read_input_tokens: MILLION, ..Usage::default() }, "0.30"),
            (Usage { web_search_requests: Some(1_000), ..Usage::default() }, "10"),
        ];
        for (usage, dollars) in table {
            assert_eq!(answer_cost("claude-sonnet-4-5", "2026-11-21", usage), NanoUsd::read(dollars).unwrap(), "{usage:?}");
        }
    }

    #[test]
    fn s_10_a_price_holds_from_its_date() {
        let read = Usage { cache_read_input_tokens: MILLION, ..Usage::default() };
        assert_eq!(answer_cost("claude-sonnet-5-5", "2026-10-06", read), NanoUsd::read("0.20").unwrap());
        assert_eq!(answer_cost("claude-sonnet-5-5", "2026-10-07", read), NanoUsd::read("0.10").unwrap());
    }

    #[test]
    fn s_10_a_long_prompt_makes_the_whole_answer_dearer() {
        let usage =
            |read| Usage { input_tokens: Some(1), output_tokens: Some(10), cache_read_input_tokens: Some(read), ..Usage::default() };
        assert_eq!(answer_cost("claude-haiku-5-5", "2026-11-21", usage(99_999)), NanoUsd(100 + 10 * 500 + 99_999 * 10));
        assert_eq!(answer_cost("claude-haiku-5-5", "2026-11-21", usage(100_000)), NanoUsd(500 + 10 * 2_500 + 100_000 * 50));
    }

    #[test]
    fn s_10_fast_answers_cost_more_and_refusals_nothing() {
        let usage = Usage { input_tokens: MILLION, output_tokens: MILLION, ..Usage::default() };
        let table = PriceTable::default();
        let charge = AnswerCharge { model: "claude-opus-5", date: PRICES_AS_OF, is_fast: true, is_refused_at_once: false };
        assert_eq!(table.cost(&usage, charge), NanoUsd::read("60").unwrap());
        assert_eq!(table.cost(&usage, AnswerCharge { is_refused_at_once: true, ..charge }), NanoUsd(0));
        let without = AnswerCharge { model: "claude-sonnet-5", ..charge };
        assert_eq!(table.cost(&usage, without), NanoUsd::read("12").unwrap(), "no fast price is known for it");
    }

    #[test]
    fn s_10_a_model_without_a_price_is_charged_the_stated_default() {
        let usage = Usage { output_tokens: MILLION, ..Usage::default() };
        let table = PriceTable::default();
        assert!(!table.has("claude-mythos-5-2-20261109") && !table.has("another") && table.has("claude-mythos-5-1"));
        assert_eq!(answer_cost("claude-mythos-5-2", "2026-11-21", usage), NanoUsd::read("15").unwrap());
    }
}
