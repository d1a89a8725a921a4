//! The price table: data, with dates (S-10).
//!
//! A row holds from its date until a later one of the same model; where there is one for long prompts, it holds for the whole answer. Each row
//! says where it was read and when. A model without a row is charged [`UNKNOWN_MODEL`], and the result says so.

use core::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::money::NanoUsd;
use crate::prelude::*;

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// Why a text is no day.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no date; write it like 2026-11-21")]
pub struct DateError(pub String);

/// One row of the table: dollars per million tokens are thousands of nano-dollars per token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceRow {
    /// How the model's name begins; a date may follow.
    pub model: &'static str,
    /// Since when.
    pub from: Date,
    /// For prompts of more tokens than this.
    pub over_tokens: Option<u64>,
    /// For answers at fast speed.
    pub fast: bool,
    /// An input token.
    pub input: NanoUsd,
    /// An output token.
    pub output: NanoUsd,
    /// A token written to the cache for five minutes.
    pub write_5m: NanoUsd,
    /// A token written to the cache for an hour.
    pub write_1h: NanoUsd,
    /// A token read from the cache.
    pub read: NanoUsd,
    /// Where it was read, and when.
    pub source: &'static str,
}

/// When the table was last held against its sources: the date of a session that does not say another.
pub const PRICES_AS_OF: Date = day(2026, 11, 21);

/// What a model without a price is charged: as a mid-sized one.
pub const UNKNOWN_MODEL: PriceRow = row_of("", ALWAYS, [3_000, 15_000, 3_750, 6_000, 300], "stated default for models without a price");

const ALWAYS: Date = day(2020, 1, 1);
const PRICING: &str = "pricing page, 2026-08-21";
const LINEUP: &str = "model lineup for input and output, third parties for cache reads, multipliers for cache writes, 2026-10";
const OPUS_5_5: &str = "model overview, about 2026-09";
const HAIKU_5_5: &str = "model overview for the first tier, third parties for the second, 2026-10-24";
const FAST: &str = "pricing page for input and output, multipliers for the cache, 2026-08-21";

/// All rows: input, output, 5-minute write, 1-hour write, read; in nano-dollars per token.
pub const PRICES: &[PriceRow] = &[
    row_of("claude-fable-5-1", ALWAYS, [10_000, 50_000, 12_500, 20_000, 250], LINEUP),
    row_of("claude-mythos-5-1", ALWAYS, [10_000, 50_000, 12_500, 20_000, 250], LINEUP),
    row_of("claude-opus-5-5", ALWAYS, [4_000, 20_000, 5_000, 8_000, 200], OPUS_5_5),
    row_of("claude-sonnet-5-5", ALWAYS, [2_000, 10_000, 2_500, 4_000, 200], LINEUP),
    row_of("claude-sonnet-5-5", day(2026, 10, 7), [2_000, 10_000, 2_500, 4_000, 100], LINEUP),
    row_of("claude-haiku-5-5", ALWAYS, [100, 500, 125, 200, 10], HAIKU_5_5),
    PriceRow { over_tokens: Some(100_000), ..row_of("claude-haiku-5-5", ALWAYS, [500, 2_500, 625, 1_000, 50], HAIKU_5_5) },
    row_of("claude-fable-5", ALWAYS, [10_000, 50_000, 12_500, 20_000, 1_000], PRICING),
    row_of("claude-mythos-5", ALWAYS, [10_000, 50_000, 12_500, 20_000, 1_000], PRICING),
    row_of("claude-opus-5", ALWAYS, [5_000, 25_000, 6_250, 10_000, 500], PRICING),
    PriceRow { fast: true, ..row_of("claude-opus-5", ALWAYS, [10_000, 50_000, 12_500, 20_000, 1_000], FAST) },
    row_of("claude-opus-4-8", ALWAYS, [5_000, 25_000, 6_250, 10_000, 500], PRICING),
    PriceRow { fast: true, ..row_of("claude-opus-4-8", ALWAYS, [10_000, 50_000, 12_500, 20_000, 1_000], FAST) },
    row_of("claude-opus-4-7", ALWAYS, [5_000, 25_000, 6_250, 10_000, 500], PRICING),
    row_of("claude-opus-4-6", ALWAYS, [5_000, 25_000, 6_250, 10_000, 500], PRICING),
    row_of("claude-opus-4-5", ALWAYS, [5_000, 25_000, 6_250, 10_000, 500], PRICING),
    row_of("claude-sonnet-5", ALWAYS, [2_000, 10_000, 2_500, 4_000, 200], PRICING),
    row_of("claude-sonnet-4-6", ALWAYS, [3_000, 15_000, 3_750, 6_000, 300], PRICING),
    row_of("claude-sonnet-4-5", ALWAYS, [3_000, 15_000, 3_750, 6_000, 300], PRICING),
    row_of("claude-haiku-4-5", ALWAYS, [1_000, 5_000, 1_250, 2_000, 100], PRICING),
    row_of("claude-opus-4-1", ALWAYS, [15_000, 75_000, 18_750, 30_000, 1_500], PRICING),
    row_of("claude-opus-4", ALWAYS, [15_000, 75_000, 18_750, 30_000, 1_500], PRICING),
];

const fn row_of(model: &'static str, from: Date, nanos: [u64; 5], source: &'static str) -> PriceRow {
    let [input, output, write_5m, write_1h, read] = nanos;
    PriceRow {
        model,
        from,
        over_tokens: None,
        fast: false,
        input: NanoUsd(input),
        output: NanoUsd(output),
        write_5m: NanoUsd(write_5m),
        write_1h: NanoUsd(write_1h),
        read: NanoUsd(read),
        source,
    }
}

const fn day(year: u16, month: u8, day: u8) -> Date {
    Date { year, month, day }
}

/// The row for an answer: of those that fit the one that says most, then the latest. Where no fast price is known the usual one holds.
pub(super) fn row(model: &str, date: Date, prompt_tokens: u64, is_fast: bool) -> Option<&'static PriceRow> {
    let fits = |row: &&PriceRow| {
        row.is_for(model) && row.from <= date && row.over_tokens.is_none_or(|over| prompt_tokens > over) && (is_fast || !row.fast)
    };
    PRICES.iter().filter(fits).max_by_key(|row| (row.fast, row.over_tokens, row.from))
}

impl PriceRow {
    /// Whether the row is for this model: the name as it is, or with a date behind it. `claude-opus-4` is not for `claude-opus-4-9`.
    pub fn is_for(&self, model: &str) -> bool {
        let rest = model.strip_prefix(self.model);
        rest.is_some_and(|rest| {
            let date = rest.strip_prefix('-').or(rest.strip_prefix('@')).unwrap_or(rest);
            rest.is_empty() || (date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
        })
    }
}

impl Date {
    /// Reads `2026-11-21`.
    ///
    /// # Errors
    /// When it is no such text, or no month has such a day.
    pub fn read(text: &str) -> Result<Self, DateError> {
        let parts: Vec<&str> = text.split('-').collect();
        let number = |part: &str, digits: usize| {
            let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse::<u16>().ok()).flatten()
        };
        let date = match parts[..] {
            [year, month, day] => number(year, 4).zip(number(month, 2)).zip(number(day, 2)),
            _ => None,
        };
        let is_day = |((_, month), day): &((u16, u16), u16)| (1..=12).contains(month) && (1..=31).contains(day);
        let ((year, month), day) = date.filter(is_day).ok_or_else(|| DateError(text.into()))?;
        let small = |number: u16| u8::try_from(number).unwrap_or(0);
        Ok(Self { year, month: small(month), day: small(day) })
    }
}

impl Default for Date {
    fn default() -> Self {
        PRICES_AS_OF
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl TryFrom<String> for Date {
    type Error = DateError;
    fn try_from(text: String) -> Result<Self, DateError> {
        Self::read(&text)
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_10_a_name_may_have_a_date_and_nothing_else_behind_it() {
        let of = |model: &str| row(model, PRICES_AS_OF, 0, false).map(|row| row.model);
        assert_eq!(of("claude-sonnet-4-5-20250929"), Some("claude-sonnet-4-5"));
        assert_eq!(of("claude-opus-4@20250514"), Some("claude-opus-4"));
        assert_eq!(of("claude-opus-4-9"), None, "a model that is not there yet is no older one");
        assert_eq!(of("claude-fable-5-2"), None);
    }

    #[test]
    fn s_10_cache_prices_follow_the_multipliers() {
        for row in PRICES {
            assert_eq!(row.write_5m.0 * 4, row.input.0 * 5, "{}", row.model);
            assert_eq!(row.write_1h.0, row.input.0 * 2, "{}", row.model);
            assert!(row.read.0 * 10 <= row.input.0 && !row.source.is_empty(), "{}", row.model);
        }
    }

    #[test]
    fn s_11_dates_are_read_and_written() {
        assert_eq!(Date::read("2026-10-07").unwrap().to_string(), "2026-10-07");
        assert!(Date::read("2026-10-07").unwrap() < PRICES_AS_OF);
        for text in ["", "2026-13-01", "2026-00-01", "2026-1-1", "26-01-01", "2026-01-32", "2026-01-01-01", "today"] {
            assert!(Date::read(text).is_err(), "{text}");
        }
    }
}
