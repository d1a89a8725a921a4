//! Reads a price table from TOML.

use super::{NanoUsd, PriceRow, PriceTable, TokenPrices};
use crate::data_file::{self, DataSection, PlacedValue, Result};
use crate::date::Date;
use reenact_wire::prelude::*;

const OF_TABLE: [&str; 4] = ["compiled", "web_search", "unknown_model", "price"];
const OF_PRICES: [&str; 7] = ["input", "output", "cache_write_5m", "cache_write_1h", "cache_read", "source", "seen"];
const OF_ROW: [&str; 4] = ["models", "from", "over_tokens", "fast"];

/// Dollars per million tokens are read, nano-dollars per token are kept.
const MILLION: u64 = 1_000_000;

pub(super) fn table(text: &str) -> Result<PriceTable> {
    data_file::read(text, |root| {
        root.knows(&[&OF_TABLE])?;
        let compiled = root.required("compiled", DataSection::date)?;
        let web_search = root.required("web_search", dollars)?;
        let unknown = root.required("unknown_model", |root, at| root.section("[unknown_model]", at))?;
        unknown.knows(&[&OF_PRICES])?;
        let mut table = PriceTable { text: text.into(), compiled, rows: Vec::new(), unknown_model: prices(&unknown)?, web_search };
        root.each("price", "[[price]]", |section| add_rows(&mut table.rows, section))?;
        Ok(table)
    })
}

/// A table by which everything is free.
pub(super) fn nothing() -> PriceTable {
    let free = NanoUsd(0);
    let unknown_model =
        TokenPrices { input: free, output: free, write_5m: free, write_1h: free, read: free, source: "".into(), seen: "".into() };
    PriceTable { text: "".into(), compiled: Date::default(), rows: Vec::new(), unknown_model, web_search: free }
}

/// One `[[price]]`: a row for each of its models.
fn add_rows(rows: &mut Vec<PriceRow>, section: &DataSection<'_>) -> Result<()> {
    section.knows(&[&OF_ROW, &OF_PRICES])?;
    let models = section.required("models", DataSection::names)?;
    let from = section.optional("from", DataSection::date)?;
    let over_tokens = section.optional("over_tokens", DataSection::count)?;
    let fast = section.optional("fast", DataSection::flag)?.unwrap_or(false);
    let prices = prices(section)?;
    for model in models {
        let is_of_same = |row: &&PriceRow| (&row.model, row.over_tokens, row.fast) == (&model, over_tokens, fast);
        if rows.iter().filter(is_of_same).any(|row| row.from >= from) {
            let message = format!("`{model}` has a price of this or a later day already; put the later one behind the earlier");
            return Err(section.fault(message));
        }
        rows.push(PriceRow { model, from, over_tokens, fast, prices: prices.clone() });
    }
    Ok(())
}

fn dollars<'t>(section: &DataSection<'t>, at: PlacedValue<'t>) -> Result<NanoUsd> {
    NanoUsd::read(section.string(at)?).or_else(|problem| section.wrong(at, &problem.to_string()))
}

fn dollars_per_million<'t>(section: &DataSection<'t>, at: PlacedValue<'t>) -> Result<NanoUsd> {
    match dollars(section, at)?.0 {
        nanos if nanos % MILLION == 0 => Ok(NanoUsd(nanos / MILLION)),
        _ => section.wrong(at, "dollars per million tokens have at most 3 digits behind the point: a token costs whole nano-dollars"),
    }
}

fn prices(section: &DataSection<'_>) -> Result<TokenPrices> {
    let price = |key| section.required(key, dollars_per_million);
    Ok(TokenPrices {
        input: price("input")?,
        output: price("output")?,
        write_5m: price("cache_write_5m")?,
        write_1h: price("cache_write_1h")?,
        read: price("cache_read")?,
        source: section.required("source", DataSection::string)?.into(),
        seen: section.required("seen", DataSection::string)?.into(),
    })
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
            (good.replace("[[price]]", "[price]"), "line 11: `price`: its entries are written under [[price]]"),
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
