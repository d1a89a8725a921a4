//! The language of scenario files: each key is described once, and reader, writer, schema and reference come from that description (F-6, F-8).
//!
//! The tables of keys stand beside the types that they make: in this room where a type is the scenario's, in the engine where it is a setting.
//! `language/sections` has the tables whose keys are not the fields of one type. `language/keys.rs` explains how a table is written.

pub(crate) mod description;
pub(crate) mod forms;
pub(crate) mod keys;
pub(crate) mod read_table;
mod reference;
mod schema;
pub(crate) mod sections;
pub(crate) mod settings;
pub(crate) mod tables;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod text;
pub(crate) mod toml;

use self::description::TableDescription;
use self::keys::KeyTable;
use self::toml::TomlTable;
use super::types::Scenario;
use reenact_wire::prelude::*;

/// A scenario as the text of a file (F-6), `comments` first. It reads back as the same scenario; keys with their default are left out.
pub fn scenario_text(scenario: &Scenario, comments: &[String]) -> String {
    let mut table = TomlTable::default();
    KeyTable::write(scenario, &mut table);
    // A comment may hold no control characters.
    let plain = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    let comments: String = comments.iter().flat_map(|comment| comment.lines()).map(|line| format!("# {}\n", plain(line))).collect();
    let gap = if comments.is_empty() { "" } else { "\n" };
    format!("{comments}{gap}{}", table.document())
}

/// The JSON Schema of scenario files (F-8), as text that ends with a line's end.
pub fn json_schema() -> String {
    schema::text(&TableDescription::new::<Scenario>())
}

/// The reference of all keys (F-8), as a page of Markdown.
pub fn reference_page() -> String {
    reference::page(&TableDescription::new::<Scenario>())
}
