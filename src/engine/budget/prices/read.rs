//! Reads a price table from TOML: everything that is not understood is an error, so that no misspelt price is passed over.

use thiserror::Error;
use toml::de::{DeTable, DeValue};

use super::{NanoUsd, PriceRow, PriceTable, TokenPrices};
use crate::engine::budget::date::Date;
use crate::prelude::*;

/// Why a text is no price table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct PriceTableError {
    /// Where, counted from 1.
    pub line: usize,
    /// The problem.
    pub message: String,
}

type Result<T> = core::result::Result<T, PriceTableError>;

const OF_TABLE: [&str; 4] = ["compiled", "web_search", "unknown_model", "price"];
const OF_PRICES: [&str; 7] = ["input", "output", "cache_write_5m", "cache_write_1h", "cache_read", "source", "seen"];
const OF_ROW: [&str; 4] = ["models", "from", "over_tokens", "fast"];

/// Dollars per million tokens are read, nano-dollars per token are kept.
const MILLION: u64 = 1_000_000;

pub(super) fn table(text: &str) -> Result<PriceTable> {
    let parsed = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        PriceTableError { line: line_of(text, start), message: error.message().into() }
    })?;
    let root = PriceSection { text, name: "the table", start: 0, members: parsed.get_ref() };
    root.knows(&[&OF_TABLE])?;
    let compiled = root.required("compiled", PriceSection::date)?;
    let web_search = root.required("web_search", PriceSection::dollars)?;
    let unknown = root.required("unknown_model", |root, at| root.section("[unknown_model]", at))?;
    unknown.knows(&[&OF_PRICES])?;
    let mut table = PriceTable { text: text.into(), compiled, rows: Vec::new(), unknown_model: unknown.prices()?, web_search };
    let prices = root.required("price", |root, at| match at.value {
        DeValue::Array(entries) => Ok(entries),
        _ => root.wrong(at, "prices are written under [[price]]"),
    })?;
    for entry in prices.iter() {
        let at = PlacedText { key: "price", start: entry.span().start, value: entry.get_ref() };
        add_rows(&mut table.rows, &root.section("[[price]]", at)?)?;
    }
    Ok(table)
}

/// A table by which everything is free.
pub(super) fn nothing() -> PriceTable {
    let free = NanoUsd(0);
    let unknown_model =
        TokenPrices { input: free, output: free, write_5m: free, write_1h: free, read: free, source: "".into(), seen: "".into() };
    PriceTable { text: "".into(), compiled: Date::default(), rows: Vec::new(), unknown_model, web_search: free }
}

/// One `[[price]]`: a row for each of its models.
fn add_rows(rows: &mut Vec<PriceRow>, section: &PriceSection<'_>) -> Result<()> {
    section.knows(&[&OF_ROW, &OF_PRICES])?;
    let models = section.required("models", PriceSection::names)?;
    let from = section.optional("from", PriceSection::date)?;
    let over_tokens = section.optional("over_tokens", PriceSection::count)?;
    let fast = section.optional("fast", PriceSection::flag)?.unwrap_or(false);
    let prices = section.prices()?;
    for model in models {
        let is_of_same = |row: &&PriceRow| (&row.model, row.over_tokens, row.fast) == (&model, over_tokens, fast);
        if rows.iter().filter(is_of_same).any(|row| row.from >= from) {
            let message = format!("`{model}` has a price of this or a later day already; put the later one behind the earlier");
            return Err(section.error(section.start, message));
        }
        rows.push(PriceRow { model, from, over_tokens, fast, prices: prices.clone() });
    }
    Ok(())
}

fn line_of(text: &str, start: usize) -> usize {
    text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1
}

/// A table of the text.
#[derive(Clone, Copy)]
struct PriceSection<'t> {
    text: &'t str,
    /// How messages call it.
    name: &'static str,
    start: usize,
    members: &'t DeTable<'t>,
}

/// A value and where it stands.
#[derive(Clone, Copy)]
struct PlacedText<'t> {
    key: &'t str,
    start: usize,
    value: &'t DeValue<'t>,
}

impl<'t> PriceSection<'t> {
    fn error(&self, start: usize, message: String) -> PriceTableError {
        PriceTableError { line: line_of(self.text, start), message }
    }

    fn wrong<T>(&self, at: PlacedText<'_>, message: &str) -> Result<T> {
        Err(self.error(at.start, format!("`{}`: {message}", at.key)))
    }

    /// Whether all keys are among these.
    fn knows(&self, known: &[&[&str]]) -> Result<()> {
        match self.members.iter().find(|(key, _)| !known.concat().contains(&&**key.get_ref())) {
            None => Ok(()),
            Some((key, _)) => {
                let message = format!("{} has no `{}`; it has {}", self.name, key.get_ref(), known.concat().join(", "));
                Err(self.error(key.span().start, message))
            }
        }
    }

    fn optional<T>(&self, key: &'t str, read: impl Fn(&Self, PlacedText<'t>) -> Result<T>) -> Result<Option<T>> {
        let member = self.members.iter().find(|(name, _)| &**name.get_ref() == key);
        member.map(|(_, value)| read(self, PlacedText { key, start: value.span().start, value: value.get_ref() })).transpose()
    }

    fn required<T>(&self, key: &'t str, read: impl Fn(&Self, PlacedText<'t>) -> Result<T>) -> Result<T> {
        self.optional(key, read)?.ok_or_else(|| self.error(self.start, format!("{} lacks `{key}`", self.name)))
    }

    fn section(&self, name: &'static str, at: PlacedText<'t>) -> Result<PriceSection<'t>> {
        match at.value {
            DeValue::Table(members) => Ok(PriceSection { text: self.text, name, start: at.start, members }),
            _ => self.wrong(at, "expected a table"),
        }
    }

    fn string(&self, at: PlacedText<'t>) -> Result<&'t str> {
        match at.value {
            DeValue::String(text) if !text.is_empty() => Ok(text),
            _ => self.wrong(at, "expected text in quotes, not empty"),
        }
    }

    fn date(&self, at: PlacedText<'t>) -> Result<Date> {
        Date::read(self.string(at)?).or_else(|problem| self.wrong(at, &problem.to_string()))
    }

    fn dollars(&self, at: PlacedText<'t>) -> Result<NanoUsd> {
        NanoUsd::read(self.string(at)?).or_else(|problem| self.wrong(at, &problem.to_string()))
    }

    fn dollars_per_million(&self, at: PlacedText<'t>) -> Result<NanoUsd> {
        match self.dollars(at)?.0 {
            nanos if nanos % MILLION == 0 => Ok(NanoUsd(nanos / MILLION)),
            _ => self.wrong(at, "dollars per million tokens have at most 3 digits behind the point: a token costs whole nano-dollars"),
        }
    }

    fn count(&self, at: PlacedText<'t>) -> Result<u64> {
        let number = match at.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number.map_or_else(|| self.wrong(at, "expected a whole number of tokens"), Ok)
    }

    fn flag(&self, at: PlacedText<'t>) -> Result<bool> {
        match at.value {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => self.wrong(at, "expected `true` or `false`"),
        }
    }

    fn names(&self, at: PlacedText<'t>) -> Result<Vec<Arc<str>>> {
        match at.value {
            DeValue::Array(names) if !names.is_empty() => {
                let name = |name| self.string(name).map(Arc::from);
                names.iter().map(|entry| name(PlacedText { key: at.key, start: entry.span().start, value: entry.get_ref() })).collect()
            }
            _ => self.wrong(at, "expected a list of names, not empty"),
        }
    }

    fn prices(&self) -> Result<TokenPrices> {
        let price = |key| self.required(key, PriceSection::dollars_per_million);
        Ok(TokenPrices {
            input: price("input")?,
            output: price("output")?,
            write_5m: price("cache_write_5m")?,
            write_1h: price("cache_write_1h")?,
            read: price("cache_read")?,
            source: self.required("source", PriceSection::string)?.into(),
            seen: self.required("seen", PriceSection::string)?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: &str =
        "input = '1'\noutput = '2'\ncache_write_5m = '3'\ncache_write_1h = '4'\ncache_read = '5.125'\nsource = 's'\nseen = 'd'\n";

    fn with(rows: &[&str]) -> String {
        let rows: String = rows.iter().map(|row| format!("[[price]]\n{row}\n{PRICES}")).collect();
        format!("compiled = '2026-01-02'\nweb_search = '0.01'\n[unknown_model]\n{PRICES}{rows}")
    }

    #[test]
    fn s_10_a_table_of_one_s_own_is_read() {
        let text = with(&["models = ['a', 'b']", "models = ['a']\nfrom = '2026-02-03'\nover_tokens = 1_000\nfast = true"]);
        let table = table(&text).unwrap();
        let rows: Vec<_> = table.rows.iter().map(|row| (&*row.model, row.from, row.over_tokens, row.fast)).collect();
        let later = Date::read("2026-02-03").unwrap();
        assert_eq!(rows, [("a", None, None, false), ("b", None, None, false), ("a", Some(later), Some(1_000), true)]);
        assert_eq!(table.rows[0].prices.read, NanoUsd(5_125));
    }

    #[test]
    fn s_10_each_fault_of_a_table_is_said_with_its_line() {
        let good = with(&["models = ['a']"]);
        let later = |from: &str| with(&["models = ['a']\nfrom = '2026-02-03'", &format!("models = ['a']\nfrom = '{from}'")]);
        let faults = [
            ("compiled = ".into(), "line 1: "),
            ("x = 1".into(), "line 1: the table has no `x`; it has compiled, web_search, unknown_model, price"),
            ("web_search = '1'".into(), "line 1: the table lacks `compiled`"),
            (good.replace("2026-01-02", "today"), "line 1: `compiled`: `today` is not a date"),
            (good.replace("'0.01'", "0.01"), "line 2: `web_search`: expected text in quotes"),
            (good.replace("'0.01'", "'cheap'"), "line 2: `web_search`: `cheap` is not an amount in dollars"),
            (good.replacen("source = 's'\n", "", 1), "line 3: [unknown_model] lacks `source`"),
            (good.replacen("'s'", "''", 1), "line 9: `source`: expected text in quotes, not empty"),
            (good.replacen("'5.125'", "'5.0001'", 1), "line 8: `cache_read`: dollars per million tokens have at most 3 digits"),
            (good.replace("[unknown_model]", "unknown_model = 1\n[x]"), "line 4: the table has no `x`"),
            (good.replace("[[price]]", "[price]"), "line 11: `price`: prices are written under [[price]]"),
            (good.replace("models = ['a']", "models = []"), "line 12: `models`: expected a list of names"),
            (good.replace("models = ['a']", "models = [1]"), "line 12: `models`: expected text in quotes"),
            (good.replace("models", "model"), "line 12: [[price]] has no `model`; it has models, from, "),
            (with(&["models = ['a']\nover_tokens = -1"]), "line 13: `over_tokens`: expected a whole number of tokens"),
            (with(&["models = ['a']\nfast = 'yes'"]), "line 13: `fast`: expected `true` or `false`"),
            (with(&["models = ['a', 'a']"]), "line 11: `a` has a price of this or a later day already"),
            (later("2026-02-02"), "line 21: `a` has a price of this or a later day already; put the later one behind the earlier"),
        ];
        for (text, begins) in faults {
            let error = table(&text).map(|_| "nothing").unwrap_err().to_string();
            assert!(error.starts_with(begins) && error.len() > "line 1: ".len(), "{error}, not {begins}");
        }
        assert!(table(&later("2026-02-04")).is_ok());
    }
}
