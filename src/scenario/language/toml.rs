//! Tables as TOML for people (F-6): what the reader reads back as the same.
//!
//! Keys stand before the sections inside of their table, as TOML wants it. Text of several lines stands as it is; JSON stands in strings, since TOML
//! has neither null nor big numbers and its tables have no order.

use super::text;
use reenact_wire::prelude::*;

/// How many items of an array stand on a line.
const ITEMS_MAX: usize = 12;

/// A table: keys with their values, then tables inside of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TomlTable {
    keys: Vec<(String, String)>,
    sections: Vec<(String, TomlSection)>,
}

#[derive(Clone, Debug, PartialEq)]
enum TomlSection {
    /// `[key]`.
    One(TomlTable),
    /// `[[key]]`, an entry each.
    Entries(Vec<TomlTable>),
}

/// A value on its way into a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TomlValue {
    /// Nothing is written.
    Absent,
    /// On one line, or on several between quotes.
    Inline(String),
    /// As a section.
    Section(TomlTable),
    /// As sections of an array.
    Sections(Vec<TomlTable>),
}

impl TomlValue {
    /// Text.
    pub(crate) fn text(value: &str) -> Self {
        Self::Inline(text::string(value))
    }

    /// An array: on one line, or on several where it is long.
    pub(crate) fn list(items: impl IntoIterator<Item = TomlValue>) -> Self {
        let items: Vec<String> = items.into_iter().map(TomlValue::inline).collect();
        if items.len() <= ITEMS_MAX {
            return Self::Inline(format!("[{}]", items.join(", ")));
        }
        let lines: String = items.chunks(ITEMS_MAX).map(|items| format!("  {},\n", items.join(", "))).collect();
        Self::Inline(format!("[\n{lines}]"))
    }

    /// The value on one line.
    pub(crate) fn inline(self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Inline(value) => value,
            Self::Section(table) => table.inline(),
            Self::Sections(tables) => format!("[{}]", tables.iter().map(TomlTable::inline).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl TomlTable {
    /// Adds a key.
    pub(crate) fn put(&mut self, key: &str, value: TomlValue) {
        self.put_written(text::key(key), value);
    }

    /// Adds a key that is somebody's name, and stands in quotes.
    pub(crate) fn put_named(&mut self, name: &str, value: TomlValue) {
        self.put_written(text::name(name), value);
    }

    /// Whether nothing stands in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.sections.is_empty()
    }

    /// Adds everything that stands in another table.
    pub(crate) fn append(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.sections.extend(other.sections);
    }

    fn put_written(&mut self, key: String, value: TomlValue) {
        match value {
            TomlValue::Absent => (),
            TomlValue::Inline(value) => self.keys.push((key, value)),
            TomlValue::Section(table) => self.sections.push((key, TomlSection::One(table))),
            TomlValue::Sections(tables) => self.sections.push((key, TomlSection::Entries(tables))),
        }
    }

    /// `{ key = value, … }`.
    pub(crate) fn inline(&self) -> String {
        let keys = self.keys.iter().map(|(key, value)| format!("{key} = {value}"));
        let sections = self.sections.iter().map(|(key, section)| match section {
            TomlSection::One(table) => format!("{key} = {}", table.inline()),
            TomlSection::Entries(tables) => {
                format!("{key} = [{}]", tables.iter().map(Self::inline).collect::<Vec<_>>().join(", "))
            }
        });
        let members: Vec<String> = keys.chain(sections).collect();
        if members.is_empty() { String::from("{}") } else { format!("{{ {} }}", members.join(", ")) }
    }

    /// The table as a whole file.
    pub(crate) fn document(&self) -> String {
        let mut out = String::new();
        self.write("", &mut out);
        out
    }

    fn write(&self, path: &str, out: &mut String) {
        for (key, value) in &self.keys {
            out.push_str(&format!("{key} = {value}\n"));
        }
        for (key, section) in &self.sections {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match section {
                // A section without keys of its own goes without a head where sections inside of it say that it is there.
                TomlSection::One(table) if table.keys.is_empty() && !table.sections.is_empty() => table.write(&path, out),
                TomlSection::One(table) => {
                    head(&format!("[{path}]"), out);
                    table.write(&path, out);
                }
                TomlSection::Entries(tables) => {
                    for table in tables {
                        head(&format!("[[{path}]]"), out);
                        table.write(&path, out);
                    }
                }
            }
        }
    }
}

fn head(head: &str, out: &mut String) {
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(head);
    out.push('\n');
}
