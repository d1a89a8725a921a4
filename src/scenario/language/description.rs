//! The facts about a table that need no file: for the JSON Schema and the reference.

use reenact_wire::prelude::*;

/// A table: what it is about, and its keys.
#[derive(Clone, Debug)]
pub(crate) struct TableDescription {
    /// Its name in the schema.
    pub(crate) name: String,
    /// The subject of the table; lines as they stand in the source.
    pub(crate) about: &'static str,
    /// The name of the table, where its path in the file reads badly.
    pub(crate) title: Option<&'static str>,
    /// Describes its keys.
    pub(super) keys: fn(&mut Vec<KeyDescription>),
}

impl TableDescription {
    /// Its keys, in the order in which they are written.
    pub(crate) fn keys(&self) -> Vec<KeyDescription> {
        let mut keys = Vec::new();
        (self.keys)(&mut keys);
        keys
    }
}

/// One key.
#[derive(Clone, Debug)]
pub(crate) struct KeyDescription {
    /// The key.
    pub(crate) name: &'static str,
    /// The meaning of the key, in one line.
    pub(crate) doc: String,
    /// The shape of its value.
    pub(crate) shape: ValueShape,
    /// The value that counts where the key is left out, as TOML; `None` where that is nothing at all.
    pub(crate) default: Option<String>,
    /// Whether the table needs it.
    pub(crate) is_required: bool,
    /// The unit of a number.
    pub(crate) unit: Option<&'static str>,
    /// A value, as TOML.
    pub(crate) example: String,
    /// The objections of the reader to the example.
    #[cfg(test)]
    pub(crate) problems: Vec<String>,
}

/// The shape of a key's value.
#[derive(Clone, Debug)]
pub(crate) enum ValueShape {
    /// Any TOML value.
    Anything,
    /// Any text.
    Text,
    /// One of these words, each with what it means.
    Words(Vec<(&'static str, &'static str)>),
    /// A whole number, from this on.
    Integer(u64),
    /// A number from 0 to 1.
    Probability,
    /// True or false.
    Boolean,
    /// Only true.
    True,
    /// An array of these.
    List(Box<ValueShape>),
    /// A table with keys of its own.
    Table(TableDescription),
    /// The same, written as a section of its own: `[key]`, or `[[key]]` in a list.
    Section(TableDescription),
    /// A table with any keys, of these.
    Map(Box<ValueShape>),
    /// One of several.
    Either(Vec<ValueShape>),
    /// One of these kinds that must have a form.
    Written(WrittenForm, Box<ValueShape>),
}

/// The written form of a value, where its kind does not tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenForm {
    /// The name of the form, with its article.
    pub(crate) noun: &'static str,
    /// How it is written; empty where the noun says it.
    pub(crate) help: &'static str,
    /// A value, as TOML.
    pub(crate) example: &'static str,
}

impl ValueShape {
    /// With 0 left out.
    pub(super) fn above_zero(self) -> Self {
        match self {
            Self::Integer(_) => Self::Integer(1),
            Self::Either(shapes) => Self::Either(shapes.into_iter().map(Self::above_zero).collect()),
            other => other,
        }
    }

    /// A value of this shape, as TOML: one that differs from the default where there is a choice.
    pub(super) fn example(&self, default: Option<&str>) -> String {
        match self {
            Self::Anything | Self::Text => default.map_or_else(|| String::from("\"text\""), Into::into),
            Self::Words(words) => {
                let other = words.iter().map(|(word, _)| format!("\"{word}\"")).find(|word| Some(&**word) != default);
                other.unwrap_or_default()
            }
            Self::Integer(_) => {
                let default = default.and_then(|default| default.parse::<u64>().ok());
                default.map_or(1, |default| if default == 0 { 1 } else { 2 * default }).to_string()
            }
            Self::Probability => String::from("0.5"),
            Self::Boolean if default == Some("true") => String::from("false"),
            Self::Boolean | Self::True => String::from("true"),
            Self::List(item) => format!("[{}]", item.example(None)),
            Self::Table(table) | Self::Section(table) => table.example(),
            Self::Map(item) => format!("{{ name = {} }}", item.example(None)),
            Self::Either(shapes) => shapes.first().map(|shape| shape.example(default)).unwrap_or_default(),
            Self::Written(form, _) => form.example.into(),
        }
    }
}

impl TableDescription {
    /// A table with the keys that it needs.
    pub(super) fn example(&self) -> String {
        let needed: Vec<String> =
            self.keys().iter().filter(|key| key.is_required).map(|key| format!("{} = {}", key.name, key.example)).collect();
        if needed.is_empty() { String::from("{}") } else { format!("{{ {} }}", needed.join(", ")) }
    }
}

/// The lines of a doc comment as one.
pub(crate) fn one_line(doc: &str) -> String {
    doc.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
