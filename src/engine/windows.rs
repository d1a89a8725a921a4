//! How much context models take: a dated data file, shipped with the engine and replaceable, like the price table (C-4).
//!
//! A model that is not in it has no window: nothing that depends on one happens, and the result says so.

mod read;

use once_cell::race::OnceBox;
use serde::{Deserialize, Serialize, Serializer};

use super::budget::Date;
use super::data_file::{DataFileError, is_row_for};
use reenact_wire::prelude::*;

/// The table that holds when a scenario names no other.
const SHIPPED: &str = include_str!("windows.toml");

/// The context windows of models. Kept with its text: that is how it is written down with the boundary of a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Hash)]
#[serde(try_from = "String")]
pub struct WindowTable {
    text: Arc<str>,
    /// When it was last held against its sources.
    pub compiled: Date,
    /// One for each model.
    pub rows: Vec<WindowRow>,
}

/// The window of a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WindowRow {
    /// How the model's name begins; a date may follow.
    pub model: Arc<str>,
    /// How many tokens of input and output it takes together.
    pub tokens: u64,
    /// Where that was read.
    pub source: Arc<str>,
    /// When it was read there, as exactly as is known.
    pub seen: Arc<str>,
}

impl WindowTable {
    /// The shipped table. It is read once: every engine of a run asks for it, and a run takes less time than reading it does.
    pub fn shipped() -> Arc<Self> {
        static TABLE: OnceBox<Arc<WindowTable>> = OnceBox::new();
        TABLE.get_or_init(|| Box::new(Arc::default())).clone()
    }

    /// Reads a table that is written like the shipped one, `src/engine/windows.toml`.
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

    /// The window of a model in tokens; `None` when it is not known.
    pub fn tokens(&self, model: &str) -> Option<u64> {
        self.rows.iter().find(|row| is_row_for(&row.model, model)).map(|row| row.tokens)
    }
}

/// The shipped table.
impl Default for WindowTable {
    fn default() -> Self {
        // A test holds that the shipped text can be read; a table of nothing stands in for a panic.
        Self::read(SHIPPED).unwrap_or_else(|_| Self { text: "".into(), compiled: Date::default(), rows: Vec::new() })
    }
}

impl TryFrom<String> for WindowTable {
    type Error = DataFileError;
    fn try_from(text: String) -> Result<Self, DataFileError> {
        Self::read(&text)
    }
}

impl Serialize for WindowTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::models::MODELS;

    #[test]
    fn c_4_the_shipped_table_is_read_and_says_what_each_model_takes() {
        let table = WindowTable::read(SHIPPED).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(table.compiled, Date::default());
        assert!(table.is_shipped());
        const M: u64 = 1_000_000;
        let figures = [
            ("claude-3-haiku", 200_000),
            ("claude-3-opus", 200_000),
            ("claude-3-sonnet", 200_000),
            ("claude-3-5-haiku", 200_000),
            ("claude-3-5-sonnet", 200_000),
            ("claude-3-7-sonnet", 200_000),
            ("claude-opus-4", 200_000),
            ("claude-sonnet-4", 200_000),
            ("claude-opus-4-1", 200_000),
            ("claude-opus-4-5", 200_000),
            ("claude-sonnet-4-5", 200_000),
            ("claude-haiku-4-5", 200_000),
            ("claude-opus-4-6", M),
            ("claude-sonnet-4-6", M),
            ("claude-opus-4-7", M),
            ("claude-opus-4-8", M),
            ("claude-opus-5", M),
            ("claude-sonnet-5", M),
            ("claude-fable-5", M),
            ("claude-mythos-5", M),
            ("claude-opus-5-5", M),
            ("claude-sonnet-5-5", M),
            ("claude-haiku-5-5", M),
            ("claude-fable-5-1", M),
            ("claude-mythos-5-1", M),
            ("claude-fable-5-2", M),
            ("claude-mythos-5-2", M),
        ];
        for (model, tokens) in figures {
            assert_eq!(table.tokens(model), Some(tokens), "{model}");
        }
        assert_eq!(table.rows.len(), figures.len(), "each row is held against a figure above");
    }

    #[test]
    fn c_4_each_model_that_the_simulated_api_knows_has_a_window() {
        let table = WindowTable::default();
        for model in MODELS {
            assert!(table.tokens(model.prefix).is_some(), "{} has no row in windows.toml", model.prefix);
        }
    }

    #[test]
    fn c_4_a_name_may_have_a_date_and_nothing_else_behind_it() {
        let table = WindowTable::default();
        assert_eq!(table.tokens("claude-sonnet-4-5-20250929"), Some(200_000));
        assert_eq!(table.tokens("claude-sonnet-4-20250514"), Some(200_000));
        assert_eq!(table.tokens("claude-opus-4@20250514"), Some(200_000));
        for unknown in ["claude-opus-4-9", "claude-sonnet-4-5[1m]", "claude-opus-50", "another", ""] {
            assert_eq!(table.tokens(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn c_4_a_table_is_written_down_as_its_text() {
        let other = SHIPPED.replacen("200_000", "300_000", 1);
        let table = WindowTable::read(&other).unwrap();
        assert!(!table.is_shipped());
        let json = serde_json::to_string(&table).unwrap();
        assert_eq!(json, serde_json::to_string(&other).unwrap());
        assert_eq!(serde_json::from_str::<WindowTable>(&json).unwrap(), table);
        assert!(serde_json::from_str::<WindowTable>("\"\"").is_err());
    }
}
