//! The values of a scenario, each with the place that it was written at.
//!
//! Not the TOML parser's own tree, because overrides are put into it, which have places of their own, because the order in which
//! keys were written matters (a tool's input goes to the model in that order), and because a value can be missing for a
//! syntax error that is already reported.

use toml::de::{DeTable, DeValue};

use super::recovery::{RecoveredPlaces, RecoveredText};
use reenact_wire::prelude::*;

/// Bytes of one of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPlace {
    /// Which source: 0 is the file, then come those that it extends, then the overrides.
    pub(crate) source: usize,
    /// The first byte.
    pub(crate) start: usize,
    /// The byte after the last.
    pub(crate) end: usize,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TreeValue {
    pub(crate) place: TextPlace,
    pub(crate) kind: TreeValueKind,
}

/// The kind of a value, with its content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TreeValueKind {
    Text(String),
    /// Digits, with a sign where one was written, and their base.
    Integer(String, u32),
    Float(String),
    Boolean(bool),
    Date,
    List(Vec<TreeValue>),
    Table(TreeTable),
    /// Something was written here that is no TOML; that is reported already.
    StandIn,
}

/// Members in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TreeTable {
    pub(crate) members: Vec<TreeMember>,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TreeMember {
    pub(crate) key: String,
    pub(crate) place: TextPlace,
    pub(crate) value: TreeValue,
}

impl TreeTable {
    pub(crate) fn get(&self, key: &str) -> Option<&TreeMember> {
        self.members.iter().find(|member| member.key == key)
    }

    /// Takes a member out.
    pub(crate) fn take(&mut self, key: &str) -> Option<TreeMember> {
        let at = self.members.iter().position(|member| member.key == key)?;
        Some(self.members.remove(at))
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut TreeMember> {
        self.members.iter_mut().find(|member| member.key == key)
    }
}

impl TreeValue {
    /// Whether it is this text.
    pub(crate) fn is_text(&self, wanted: &str) -> bool {
        matches!(&self.kind, TreeValueKind::Text(text) if text == wanted)
    }

    /// The member of this name, if it is a table that has one.
    pub(crate) fn member(&self, key: &str) -> Option<&TreeMember> {
        if let TreeValueKind::Table(table) = &self.kind { table.get(key) } else { None }
    }

    /// The word for what it is, with its article.
    pub(crate) fn found(&self) -> &'static str {
        match self.kind {
            TreeValueKind::Text(_) => "text",
            TreeValueKind::Integer(..) => "an integer",
            TreeValueKind::Float(_) => "a float",
            TreeValueKind::Boolean(_) => "a boolean",
            TreeValueKind::Date => "a date",
            TreeValueKind::List(_) => "an array",
            TreeValueKind::Table(_) => "a table",
            TreeValueKind::StandIn => "nothing",
        }
    }
}

/// Reads a recovered file; its errors are reported elsewhere.
pub(super) fn from_file(recovered: &RecoveredText, original: &str, source: usize) -> TreeTable {
    let (table, _duplicates) = DeTable::parse_recoverable(&recovered.text);
    let reading = TreeReader { places: Some((RecoveredPlaces::new(&recovered.text, original), &recovered.stand_ins)), source, offset: 0 };
    reading.table(table.get_ref())
}

/// Reads an override's value, which stands `offset` bytes into its source; what is no TOML value is text.
pub(crate) fn from_override(text: &str, source: usize, offset: usize) -> TreeValue {
    let reading = TreeReader { places: None, source, offset };
    match DeValue::parse(text) {
        Ok(value) => reading.value(value.span(), value.get_ref()),
        Err(_) => {
            TreeValue { place: TextPlace { source, start: offset, end: offset + text.len() }, kind: TreeValueKind::Text(text.into()) }
        }
    }
}

struct TreeReader<'m> {
    places: Option<(RecoveredPlaces, &'m [usize])>,
    source: usize,
    offset: usize,
}

impl TreeReader<'_> {
    fn place(&self, span: core::ops::Range<usize>) -> TextPlace {
        let (start, end) = match &self.places {
            Some((places, _)) => (places.original(span.start), places.original(span.end)),
            None => (span.start + self.offset, span.end + self.offset),
        };
        TextPlace { source: self.source, start, end }
    }

    fn is_stand_in(&self, at: usize) -> bool {
        self.places.as_ref().is_some_and(|(places, stand_ins)| stand_ins.contains(&places.line(at)))
    }

    fn table(&self, table: &DeTable<'_>) -> TreeTable {
        let member = |(key, value): (&toml::Spanned<_>, &toml::Spanned<_>)| TreeMember {
            key: AsRef::<str>::as_ref(key.get_ref()).into(),
            place: self.place(key.span()),
            value: self.value(value.span(), value.get_ref()),
        };
        let mut members: Vec<TreeMember> = table.iter().map(member).collect();
        members.sort_by_key(|member| member.place);
        TreeTable { members }
    }

    fn value(&self, span: core::ops::Range<usize>, value: &DeValue<'_>) -> TreeValue {
        let kind = match value {
            DeValue::Table(table) => TreeValueKind::Table(self.table(table)),
            _ if self.is_stand_in(span.start) => TreeValueKind::StandIn,
            DeValue::String(text) => TreeValueKind::Text((**text).into()),
            DeValue::Integer(integer) => TreeValueKind::Integer(integer.as_str().into(), integer.radix()),
            DeValue::Float(float) => TreeValueKind::Float(float.as_str().into()),
            DeValue::Boolean(value) => TreeValueKind::Boolean(*value),
            DeValue::Datetime(_) => TreeValueKind::Date,
            DeValue::Array(items) => TreeValueKind::List(items.iter().map(|item| self.value(item.span(), item.get_ref())).collect()),
        };
        TreeValue { place: self.place(span), kind }
    }
}
