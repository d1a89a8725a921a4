//! The values of a scenario, each with the place that it was written at.
//!
//! Not the TOML parser's own tree, because overrides are put into it, which have places of their own, because the order in which
//! keys were written matters (a tool's input goes to the model in that order), and because a value can be missing for a
//! syntax error that is already reported.

use toml::de::{DeTable, DeValue};

use super::mend::{Mended, Places};
use super::report::Report;
use crate::prelude::*;
use crate::wire::json::{Json, push_string};

/// Bytes of one of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Which source: 0 is the file, then come those that it extends, then the overrides.
    pub(super) source: usize,
    /// The first byte.
    pub(super) start: usize,
    /// The byte after the last.
    pub(super) end: usize,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) place: Place,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Text(String),
    /// Digits, with a sign where one was written, and their base.
    Integer(String, u32),
    Float(String),
    Boolean(bool),
    Date,
    List(Vec<Value>),
    Table(Table),
    /// Something was written here that is no TOML; that is reported already.
    StandIn,
}

/// Members in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) members: Vec<Member>,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) value: Value,
}

impl Table {
    pub(super) fn get(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.key == key)
    }

    /// Takes a member out.
    pub(super) fn take(&mut self, key: &str) -> Option<Member> {
        let at = self.members.iter().position(|member| member.key == key)?;
        Some(self.members.remove(at))
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.key == key)
    }
}

impl Value {
    /// Whether it is this text.
    pub(super) fn is_text(&self, wanted: &str) -> bool {
        matches!(&self.kind, Kind::Text(text) if text == wanted)
    }

    /// The word for what it is, with its article.
    pub(super) fn found(&self) -> &'static str {
        match self.kind {
            Kind::Text(_) => "text",
            Kind::Integer(..) => "an integer",
            Kind::Float(_) => "a float",
            Kind::Boolean(_) => "a boolean",
            Kind::Date => "a date",
            Kind::List(_) => "an array",
            Kind::Table(_) => "a table",
            Kind::StandIn => "nothing",
        }
    }

    /// The value as JSON, members in the order in which they were written; `None` when it holds something that JSON has not, all of which
    /// is then reported.
    pub(super) fn to_json(&self, report: &mut Report) -> Option<Json> {
        let mut out = String::new();
        self.write_json(&mut out, report).then(|| Json::trusted(out))
    }

    /// Whether all of it could be written.
    fn write_json(&self, out: &mut String, report: &mut Report) -> bool {
        match &self.kind {
            Kind::Text(text) => push_string(out, text),
            Kind::Integer(digits, radix) => match i64::from_str_radix(digits, *radix) {
                Ok(number) => out.push_str(&number.to_string()),
                Err(_) => return self.refuse("TOML has no integers beyond 64 bits", report),
            },
            Kind::Float(text) if text.contains(['n', 'i']) => return self.refuse("JSON has no such number", report),
            Kind::Float(text) => out.push_str(text.trim_start_matches('+')),
            Kind::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Kind::Date => return self.refuse("JSON has no dates", report),
            Kind::List(items) => return write_all(out, ['[', ']'], items, |out, item| item.write_json(out, report)),
            Kind::Table(table) => {
                return write_all(out, ['{', '}'], &table.members, |out, member| {
                    push_string(out, &member.key);
                    out.push(':');
                    member.value.write_json(out, report)
                });
            }
            Kind::StandIn => return false,
        }
        true
    }

    fn refuse(&self, message: &str, report: &mut Report) -> bool {
        report.value(self.place, message.into(), Some("write the whole value as text that holds JSON".into()));
        false
    }
}

/// Writes items with commas between brackets; goes on after one that could not be written, so that all faults are found.
fn write_all<T>(out: &mut String, [open, close]: [char; 2], items: &[T], mut write: impl FnMut(&mut String, &T) -> bool) -> bool {
    let mut whole = true;
    out.push(open);
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        whole &= write(out, item);
    }
    out.push(close);
    whole
}

/// Reads a mended file; its errors are reported elsewhere.
pub(super) fn from_file(mended: &Mended, original: &str, source: usize) -> Table {
    let (table, _duplicates) = DeTable::parse_recoverable(&mended.text);
    let reading = Reading { places: Some((Places::new(&mended.text, original), &mended.stand_ins)), source, offset: 0 };
    reading.table(table.get_ref())
}

/// Reads an override's value, which stands `offset` bytes into its source; what is no TOML value is text.
pub(super) fn from_override(text: &str, source: usize, offset: usize) -> Value {
    let reading = Reading { places: None, source, offset };
    match DeValue::parse(text) {
        Ok(value) => reading.value(value.span(), value.get_ref()),
        Err(_) => Value { place: Place { source, start: offset, end: offset + text.len() }, kind: Kind::Text(text.into()) },
    }
}

struct Reading<'m> {
    places: Option<(Places, &'m [usize])>,
    source: usize,
    offset: usize,
}

impl Reading<'_> {
    fn place(&self, span: core::ops::Range<usize>) -> Place {
        let (start, end) = match &self.places {
            Some((places, _)) => (places.original(span.start), places.original(span.end)),
            None => (span.start + self.offset, span.end + self.offset),
        };
        Place { source: self.source, start, end }
    }

    fn is_stand_in(&self, at: usize) -> bool {
        self.places.as_ref().is_some_and(|(places, stand_ins)| stand_ins.contains(&places.line(at)))
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        let member = |(key, value): (&toml::Spanned<_>, &toml::Spanned<_>)| Member {
            key: AsRef::<str>::as_ref(key.get_ref()).into(),
            place: self.place(key.span()),
            value: self.value(value.span(), value.get_ref()),
        };
        let mut members: Vec<Member> = table.iter().map(member).collect();
        members.sort_by_key(|member| member.place);
        Table { members }
    }

    fn value(&self, span: core::ops::Range<usize>, value: &DeValue<'_>) -> Value {
        let kind = match value {
            DeValue::Table(table) => Kind::Table(self.table(table)),
            _ if self.is_stand_in(span.start) => Kind::StandIn,
            DeValue::String(text) => Kind::Text((**text).into()),
            DeValue::Integer(integer) => Kind::Integer(integer.as_str().into(), integer.radix()),
            DeValue::Float(float) => Kind::Float(float.as_str().into()),
            DeValue::Boolean(value) => Kind::Boolean(*value),
            DeValue::Datetime(_) => Kind::Date,
            DeValue::Array(items) => Kind::List(items.iter().map(|item| self.value(item.span(), item.get_ref())).collect()),
        };
        Value { place: self.place(span), kind }
    }
}
