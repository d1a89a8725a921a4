//! Reads a window table from TOML.

use super::{WindowRow, WindowTable};
use crate::data_file::{self, DataSection, Result};
use reenact_wire::prelude::*;

const OF_TABLE: [&str; 2] = ["compiled", "window"];
const OF_ROW: [&str; 4] = ["models", "tokens", "source", "seen"];

pub(super) fn table(text: &str) -> Result<WindowTable> {
    data_file::read(text, |root| {
        root.knows(&[&OF_TABLE])?;
        let compiled = root.required("compiled", DataSection::date)?;
        let mut rows = Vec::new();
        root.each("window", "[[window]]", |section| add_rows(&mut rows, section))?;
        Ok(WindowTable { text: text.into(), compiled, rows })
    })
}

/// One `[[window]]`: a row for each of its models.
fn add_rows(rows: &mut Vec<WindowRow>, section: &DataSection<'_>) -> Result<()> {
    section.knows(&[&OF_ROW])?;
    let models = section.required("models", DataSection::names)?;
    let tokens = section.required("tokens", DataSection::count)?;
    let source = section.required("source", DataSection::string)?;
    let seen = section.required("seen", DataSection::string)?;
    for model in models {
        if rows.iter().any(|row: &WindowRow| row.model == model) {
            return Err(section.fault(format!("`{model}` has a window already; leave one of them out")));
        }
        rows.push(WindowRow { model, tokens, source: source.into(), seen: seen.into() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "compiled = '2026-01-02'\n[[window]]\nmodels = ['a', 'b']\ntokens = 1_000\nsource = 's'\nseen = 'd'\n";

    #[test]
    fn c_4_a_table_of_one_s_own_is_read() {
        let table = table(GOOD).unwrap();
        let rows: Vec<_> = table.rows.iter().map(|row| (&*row.model, row.tokens, &*row.source, &*row.seen)).collect();
        assert_eq!(rows, [("a", 1_000, "s", "d"), ("b", 1_000, "s", "d")]);
        assert_eq!((table.tokens("a-20260101"), table.tokens("c")), (Some(1_000), None));
    }

    #[test]
    fn c_4_each_fault_of_a_table_is_said_with_its_line() {
        let faults = [
            (String::from("x = 1"), "line 1: the table has no `x`; it has compiled, window"),
            (String::from("[[window]]"), "line 1: the table lacks `compiled`"),
            (GOOD.replace("2026-01-02", "today"), "line 1: `compiled`: `today` is not a date"),
            (GOOD.replace("[[window]]", "[window]"), "line 2: `window`: its entries are written under [[window]]"),
            (GOOD.replace("tokens", "token"), "line 4: [[window]] has no `token`; it has models, tokens, source, seen"),
            (GOOD.replace("1_000", "'1000'"), "line 4: `tokens`: expected a whole number of tokens"),
            (GOOD.replace("['a', 'b']", "[]"), "line 3: `models`: expected a list of names"),
            (GOOD.replace("'b'", "'a'"), "line 2: `a` has a window already"),
            (GOOD.replace("source = 's'\n", ""), "line 2: [[window]] lacks `source`"),
        ];
        for (text, begins) in faults {
            let error = table(&text).map(|_| "nothing").unwrap_err().to_string();
            assert!(error.starts_with(begins), "{error}, not {begins}");
        }
    }
}
