//! The reference has every key, and what it shows is right.

use alloc::collections::BTreeSet;

use super::super::description::{KeyDescription, TableDescription, ValueShape, one_line};
use super::super::keys::{KeyFacts, KeyForm, read_value};
use super::*;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree;

/// The objections of the reader to a value of this key that is written like this.
pub(crate) fn problems<F: KeyForm>(facts: &KeyFacts, written: &str) -> Vec<String> {
    let mut report = DiagnosticReport::new();
    let source = report.add_override("example", written.into());
    let value = tree::from_override(written, source, 0);
    let read = read_value::<F>(&value, "", facts, &mut report);
    match report.verdict() {
        Ok(()) if read.is_some() => Vec::new(),
        Ok(()) => vec![String::from("it means nothing")],
        Err(found) => found.0.iter().map(|diagnostic| diagnostic.to_string()).collect(),
    }
}

/// Keys that are used up before the sections are read.
const EARLIER: [&str; 2] = ["extends", "matrix"];

fn tables() -> Vec<TableDescription> {
    let mut tables = vec![TableDescription::new::<Scenario>()];
    let mut at = 0;
    while at < tables.len() {
        for key in tables[at].keys() {
            add_tables(&key.shape, &mut tables);
        }
        at += 1;
    }
    tables
}

fn add_tables(shape: &ValueShape, tables: &mut Vec<TableDescription>) {
    match shape {
        ValueShape::Table(table) | ValueShape::Section(table) if !tables.iter().any(|known| known.name == table.name) => {
            tables.push(table.clone());
        }
        ValueShape::List(inner) | ValueShape::Map(inner) | ValueShape::Written(_, inner) => add_tables(inner, tables),
        ValueShape::Either(shapes) => shapes.iter().for_each(|shape| add_tables(shape, tables)),
        _ => (),
    }
}

#[test]
fn f_8_each_example_is_taken_by_the_reader() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for table in tables() {
        for key in table.keys().iter().filter(|key| !EARLIER.contains(&key.name)) {
            count += 1;
            if !key.problems.is_empty() {
                wrong.push(format!("{}.{} = {}: {}", table.name, key.name, key.example, key.problems.join("; ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 290, "only {count} keys were looked at");
}

#[test]
fn f_8_each_key_and_each_table_has_a_sentence() {
    let mut wrong = BTreeSet::new();
    for table in tables() {
        let about = one_line(table.about);
        if !is_sentence(&about) {
            wrong.insert(format!("{}: {about}", table.name));
        }
        for KeyDescription { name, doc, .. } in table.keys() {
            if !is_sentence(&doc) {
                wrong.insert(format!("{}.{name}: {doc}", table.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether it ends like one, and names nothing of the source.
fn is_sentence(text: &str) -> bool {
    text.len() > 10 && text.ends_with('.') && !text.contains("None") && !text.contains("[`")
}

#[test]
fn f_8_no_table_has_a_key_twice() {
    for table in tables() {
        let mut names: Vec<&str> = table.keys().iter().map(|key| key.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}: {names:?}", table.name);
    }
}

#[test]
fn f_8_the_page_has_each_key_under_its_table() {
    let page = super::super::reference_page();
    for table in tables() {
        let start =
            page.find(&format!("<a id=\"{}\"></a>", table.name.to_lowercase())).unwrap_or_else(|| panic!("no heading for {}", table.name));
        let section = page[start..].split("\n## ").next().unwrap_or_default();
        for key in table.keys() {
            assert!(section.contains(&format!("- **`{}`**", key.name)), "{} is not under {}", key.name, table.name);
        }
    }
}
