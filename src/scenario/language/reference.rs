//! The reference of all keys (F-8): `docs/scenario.md`, from the descriptions of the tables.
//!
//! A heading for each table, in the order in which a reader of the file meets them; a table that stands at several places is described once.

use super::description::{KeyDescription, TableDescription, ValueShape, one_line};
use reenact_wire::prelude::*;

/// The text before the first table.
const INTRODUCTION: &str = "# Every key of a scenario file

This page is made from the tables that the reader of scenario files is made of: `cargo xtask schema` writes it. [Writing scenarios](writing-scenarios.md)
explains the language with examples; this page is for looking a key up. Editors that know the JSON Schema `scenarios/scenario.schema.json` show the
same text.

A key that is left out has its default. A key without a default does nothing until it is set.

## How values are written

- A duration is a number with a unit: `us`, `ms`, `s`, `m` or `h`. Several may follow each other: `\"12ms\"`, `\"1.5s\"`, `\"1m30s\"`.
- A range of durations has two dots: `\"500ms..750ms\"`.
- A latency is a duration, a range, or a range with an even logarithm: `\"log 50ms..30s\"`. A table gives the median and the 99th percentile:
  `{ p50 = \"5s\", p99 = \"46s\" }`. `\"recorded\"` takes the figure of the tape, `\"recorded x0.5\"` half of it. An array gives one duration a use.
- JSON stands in text, because TOML has no null and keeps no order: `'{\"type\":\"object\"}'`.
- A section `[a.b]` can also stand on one line, as `b = { … }` in its table, and sections `[[a]]` as `a = [{ … }, { … }]`.
";

/// The page.
pub(super) fn page(root: &TableDescription) -> String {
    let mut page = ReferencePage { out: String::from(INTRODUCTION), described: Vec::new(), waiting: Vec::new() };
    page.waiting.push((String::new(), root.clone()));
    while !page.waiting.is_empty() {
        let (path, table) = page.waiting.remove(0);
        page.table(&path, &table);
    }
    page.out
}

struct ReferencePage {
    out: String,
    /// Names of tables that have a heading, or will have one.
    described: Vec<(String, String)>,
    waiting: Vec<(String, TableDescription)>,
}

impl ReferencePage {
    fn table(&mut self, path: &str, table: &TableDescription) {
        let heading = if path.is_empty() { String::from("The file") } else { format!("`{path}`") };
        self.out.push_str(&format!("\n## <a id=\"{}\"></a>{heading}\n\n{}\n\n", anchor(&table.name), one_line(table.about)));
        // The tables inside follow this one, before those that wait already.
        let waiting = core::mem::take(&mut self.waiting);
        for key in table.keys() {
            self.key(path, &key);
        }
        self.waiting.extend(waiting);
    }

    fn key(&mut self, path: &str, key: &KeyDescription) {
        let needed = if key.is_required { ", needed" } else { "" };
        let default = key.default.as_ref().filter(|default| !matches!(default.as_str(), "[]" | "{}" | "\"\""));
        let default = default.map(|default| format!(" Default: `{default}`.")).unwrap_or_default();
        let kind = self.kind(path, key.name, &key.shape);
        let unit = key.unit.map(|unit| format!(" ({unit})")).unwrap_or_default();
        let words = words(&key.shape);
        let is_default = key.default.as_ref() == Some(&key.example);
        let example =
            if is_section(&key.shape) || is_default { String::new() } else { format!(" Example: `{} = {}`", key.name, key.example) };
        self.out.push_str(&format!("- **`{}`**: {kind}{unit}{needed}. {}{default}{example}\n", key.name, key.doc));
        for (word, meaning) in words.into_iter().filter(|(_, meaning)| !meaning.is_empty()) {
            self.out.push_str(&format!("  - `\"{word}\"`: {}\n", one_line(meaning)));
        }
    }

    /// The possible values of the key, with links to tables.
    fn kind(&mut self, path: &str, key: &str, shape: &ValueShape) -> String {
        match shape {
            ValueShape::Anything => String::from("any value"),
            ValueShape::Text => String::from("text"),
            ValueShape::Words(words) if words.iter().all(|(_, meaning)| meaning.is_empty()) => {
                format!("one of {}", words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "))
            }
            ValueShape::Words(_) => String::from("one of the words below"),
            ValueShape::Integer(0) => String::from("a whole number"),
            ValueShape::Integer(least) => format!("a whole number from {least} on"),
            ValueShape::Probability => String::from("a number from 0 to 1"),
            ValueShape::Boolean => String::from("`true` or `false`"),
            ValueShape::True => String::from("`true`"),
            ValueShape::List(item) => match &**item {
                ValueShape::Section(table) => format!("sections {}", self.link(&section_path(path, key, ["[[", "]]"]), table)),
                ValueShape::Table(table) => format!("an array of tables, {}", self.link(&inline_path(path, key), table)),
                item => format!("an array: {}", self.kind(path, key, item)),
            },
            ValueShape::Table(table) => format!("a table, {}", self.link(&inline_path(path, key), table)),
            ValueShape::Section(table) => format!("a section, {}", self.link(&section_path(path, key, ["[", "]"]), table)),
            ValueShape::Map(value) => format!("a table of names, each with {}", self.kind(path, key, value)),
            ValueShape::Either(shapes) => shapes.iter().map(|shape| self.kind(path, key, shape)).collect::<Vec<_>>().join(", or "),
            ValueShape::Written(form, inner) => {
                // A table inside has a heading; the noun tells enough here.
                let _ = self.kind(path, key, inner);
                form.noun.into()
            }
        }
    }

    /// A link to a table, which is described at this path unless it is described already.
    fn link(&mut self, path: &str, table: &TableDescription) -> String {
        let path = table.title.unwrap_or(path);
        if !self.described.iter().any(|(name, _)| *name == table.name) {
            self.described.push((table.name.clone(), path.into()));
            self.waiting.push((path.into(), table.clone()));
        }
        let known = self.described.iter().find(|(name, _)| *name == table.name).map_or(path, |(_, path)| path);
        format!("[`{known}`](#{})", anchor(&table.name))
    }
}

fn is_section(shape: &ValueShape) -> bool {
    match shape {
        ValueShape::Section(_) => true,
        ValueShape::List(item) => is_section(item),
        _ => false,
    }
}

fn words(shape: &ValueShape) -> Vec<(&'static str, &'static str)> {
    match shape {
        ValueShape::Words(words) => words.clone(),
        ValueShape::List(inner) => words(inner),
        ValueShape::Either(shapes) => shapes.iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

fn section_path(path: &str, key: &str, [open, close]: [&str; 2]) -> String {
    if !path.is_empty() && !path.starts_with('[') {
        return format!("{key} of {path}");
    }
    let inside = path.trim_matches(['[', ']']);
    if inside.is_empty() { format!("{open}{key}{close}") } else { format!("{open}{inside}.{key}{close}") }
}

fn inline_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{key} in {path}") }
}

fn anchor(name: &str) -> String {
    name.to_lowercase()
}
