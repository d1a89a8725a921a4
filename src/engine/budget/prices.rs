//! The price table: a dated data file, shipped with the engine and replaceable (S-10).
//!
//! A price holds from its date until a later one of the same model; where there is one for long prompts, it holds for the whole answer. Each
//! price says where it was read and when. A model without one is charged a stated default, and the result says so.

mod read;

use once_cell::race::OnceBox;
use serde::{Deserialize, Serialize, Serializer};

use super::money::NanoUsd;
use crate::data_file::{DataFileError, is_row_for};
use crate::date::Date;
use reenact_wire::prelude::*;

/// The table that holds when a scenario names no other.
const SHIPPED: &str = include_str!("prices.toml");

/// The prices of models. Kept with its text: that is how it is written down with the boundary of a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Hash)]
#[serde(try_from = "String")]
pub struct PriceTable {
    text: Arc<str>,
    /// When it was last held against its sources.
    pub compiled: Date,
    /// One for each model of each price; of one model the later behind the earlier.
    pub rows: Vec<PriceRow>,
    /// The prices of a model that the table does not have.
    pub unknown_model: TokenPrices,
    /// The price of one web search, with any model.
    pub web_search: NanoUsd,
}

/// A price of a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PriceRow {
    /// How the model's name begins; a date may follow.
    pub model: Arc<str>,
    /// Since when; `None` for always.
    pub from: Option<Date>,
    /// For prompts of more tokens than this.
    pub over_tokens: Option<u64>,
    /// For answers at fast speed.
    pub fast: bool,
    /// The price itself.
    pub prices: TokenPrices,
}

/// The price of a token of each kind: dollars per million tokens are thousands of nano-dollars per token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenPrices {
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
    /// Where it was read.
    pub source: Arc<str>,
    /// When it was read there, as exactly as is known.
    pub seen: Arc<str>,
}

impl PriceTable {
    /// The shipped table. It is read once: every engine of a run asks for it, and a run takes less time than reading it does.
    pub fn shipped() -> Arc<Self> {
        static TABLE: OnceBox<Arc<PriceTable>> = OnceBox::new();
        TABLE.get_or_init(|| Box::new(Arc::default())).clone()
    }

    /// Reads a table that is written like the shipped one, `src/engine/budget/prices.toml`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn read(text: &str) -> Result<Self, DataFileError> {
        read::table(text)
    }

    /// Whether it is the shipped one.
    pub fn is_shipped(&self) -> bool {
        &*self.text == SHIPPED
    }

    /// Whether there is a price for this model.
    pub fn has(&self, model: &str) -> bool {
        self.rows.iter().any(|row| row.is_for(model))
    }

    /// The prices of an answer: of those that fit the one that says most, then the latest. Where no fast price is known the usual one holds.
    pub(super) fn price(&self, model: &str, date: Date, prompt_tokens: u64, is_fast: bool) -> &TokenPrices {
        let fits = |row: &&PriceRow| {
            row.is_for(model)
                && row.from.is_none_or(|from| from <= date)
                && row.over_tokens.is_none_or(|over| prompt_tokens > over)
                && (is_fast || !row.fast)
        };
        let best = self.rows.iter().filter(fits).max_by_key(|row| (row.fast, row.over_tokens, row.from));
        best.map_or(&self.unknown_model, |row| &row.prices)
    }
}

impl PriceRow {
    /// Whether the row is for this model: the name as it is, or with a date behind it. `claude-opus-4` is not for `claude-opus-4-9`.
    pub fn is_for(&self, model: &str) -> bool {
        is_row_for(&self.model, model)
    }
}

/// The shipped table.
impl Default for PriceTable {
    fn default() -> Self {
        // A test holds that the shipped text can be read; a table of nothing stands in for a panic.
        Self::read(SHIPPED).unwrap_or_else(|_| read::nothing())
    }
}

impl TryFrom<String> for PriceTable {
    type Error = DataFileError;
    fn try_from(text: String) -> Result<Self, DataFileError> {
        Self::read(&text)
    }
}

impl Serialize for PriceTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A price of the shipped table, in nano-dollars per token.
    fn shipped(model: &str, date: &str, prompt_tokens: u64, is_fast: bool) -> [u64; 5] {
        let table = PriceTable::default();
        let TokenPrices { input, output, write_5m, write_1h, read, .. } =
            table.price(model, Date::read(date).unwrap(), prompt_tokens, is_fast).clone();
        [input.0, output.0, write_5m.0, write_1h.0, read.0]
    }

    #[test]
    fn s_10_the_shipped_table_is_read_and_says_what_each_model_costs() {
        let table = PriceTable::read(SHIPPED).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((table.compiled, table.web_search), (Date::default(), NanoUsd(10_000_000)));
        assert!(table.is_shipped());
        let today = "2026-11-21";
        let figures = [
            ("claude-fable-5-1", today, [10_000, 50_000, 12_500, 20_000, 250]),
            ("claude-mythos-5-1", today, [10_000, 50_000, 12_500, 20_000, 250]),
            ("claude-opus-5-5", today, [4_000, 20_000, 5_000, 8_000, 200]),
            ("claude-sonnet-5-5", today, [2_000, 10_000, 2_500, 4_000, 100]),
            ("claude-sonnet-5-5", "2026-10-06", [2_000, 10_000, 2_500, 4_000, 200]),
            ("claude-haiku-5-5", today, [100, 500, 125, 200, 10]),
            ("claude-fable-5", today, [10_000, 50_000, 12_500, 20_000, 1_000]),
            ("claude-mythos-5", today, [10_000, 50_000, 12_500, 20_000, 1_000]),
            ("claude-opus-5", today, [5_000, 25_000, 6_250, 10_000, 500]),
            ("claude-opus-4-8", today, [5_000, 25_000, 6_250, 10_000, 500]),
            ("claude-opus-4-7", today, [5_000, 25_000, 6_250, 10_000, 500]),
            ("claude-opus-4-6", today, [5_000, 25_000, 6_250, 10_000, 500]),
            ("claude-opus-4-5", today, [5_000, 25_000, 6_250, 10_000, 500]),
            ("claude-sonnet-5", today, [2_000, 10_000, 2_500, 4_000, 200]),
            ("claude-sonnet-4-6", today, [3_000, 15_000, 3_750, 6_000, 300]),
            ("claude-sonnet-4-5", today, [3_000, 15_000, 3_750, 6_000, 300]),
            ("claude-haiku-4-5", today, [1_000, 5_000, 1_250, 2_000, 100]),
            ("claude-opus-4-1", today, [15_000, 75_000, 18_750, 30_000, 1_500]),
            ("claude-opus-4", today, [15_000, 75_000, 18_750, 30_000, 1_500]),
            ("another", today, [3_000, 15_000, 3_750, 6_000, 300]),
        ];
        for (model, date, nanos) in figures {
            assert_eq!(shipped(model, date, 1, false), nanos, "{model} on {date}");
            assert_eq!(table.has(model), model != "another", "{model}");
        }
        assert_eq!(shipped("claude-haiku-5-5", today, 100_001, false), [500, 2_500, 625, 1_000, 50]);
        for model in ["claude-opus-5", "claude-opus-4-8"] {
            assert_eq!(shipped(model, today, 1, true), [10_000, 50_000, 12_500, 20_000, 1_000], "{model}, fast");
        }
        assert_eq!(table.rows.len(), figures.len() - 1 + 3, "each row is held against a figure above");
    }

    #[test]
    fn s_10_a_name_may_have_a_date_and_nothing_else_behind_it() {
        let table = PriceTable::default();
        let of = |model: &str| table.rows.iter().find(|row| row.is_for(model)).map(|row| &*row.model);
        assert_eq!(of("claude-sonnet-4-5-20250929"), Some("claude-sonnet-4-5"));
        assert_eq!(of("claude-opus-4@20250514"), Some("claude-opus-4"));
        assert_eq!(of("claude-opus-4-9"), None, "a model that is not there yet is no older one");
        assert_eq!(of("claude-fable-5-2"), None);
    }

    #[test]
    fn s_10_cache_prices_follow_the_multipliers() {
        for PriceRow { model, prices, .. } in PriceTable::default().rows {
            assert_eq!(prices.write_5m.0 * 4, prices.input.0 * 5, "{model}");
            assert_eq!(prices.write_1h.0, prices.input.0 * 2, "{model}");
            assert!(prices.read.0 * 10 <= prices.input.0, "{model}");
        }
    }

    #[test]
    fn s_10_a_table_is_written_down_as_its_text() {
        let other = SHIPPED.replace("web_search = \"0.01\"", "web_search = \"0.02\"");
        let table = PriceTable::read(&other).unwrap();
        assert!(!table.is_shipped());
        let json = serde_json::to_string(&table).unwrap();
        assert_eq!(json, serde_json::to_string(&other).unwrap());
        assert_eq!(serde_json::from_str::<PriceTable>(&json).unwrap(), table);
        assert!(serde_json::from_str::<PriceTable>("\"\"").is_err());
    }
}
