//! Reads the data files that ship with the engine and that a scenario may replace: price table and window table. Everything that is not understood
//! is an error, so that no misspelt figure is passed over.

use thiserror::Error;
use toml::de::{DeTable, DeValue};

use super::date::Date;
use reenact_wire::prelude::*;

/// Why a text is no such table.
#[derive(Clone, Debug, PartialEq, Eq, Error, Hash)]
#[error("line {line}: {message}")]
pub struct DataFileError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The problem.
    pub message: String,
}

pub(super) type Result<T> = core::result::Result<T, DataFileError>;

/// Reads a text as TOML and hands its outermost table to `body`.
pub(super) fn read<T>(text: &str, body: impl FnOnce(DataSection<'_>) -> Result<T>) -> Result<T> {
    let parsed = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        DataFileError { line: line_of(text, start), message: error.message().into() }
    })?;
    body(DataSection { text, name: "the table", start: 0, members: parsed.get_ref() })
}

/// The date behind a model's name: `20250929`.
const DATE_LENGTH: usize = 8;

/// The same with `-` or `@` before it.
const DATE_WITH_MARK_LENGTH: usize = DATE_LENGTH + 1;

/// Whether the row of a data file that has this name is for a model: its name as it is, or with a date behind it. `claude-opus-4` is not for
/// `claude-opus-4-9`.
pub(super) fn is_row_for(row: &str, model: &str) -> bool {
    // The length alone says it of most rows, and a table is looked through for each answer.
    if !matches!(model.len().checked_sub(row.len()), Some(0 | DATE_LENGTH | DATE_WITH_MARK_LENGTH)) {
        return false;
    }
    let rest = model.strip_prefix(row);
    rest.is_some_and(|rest| {
        let date = rest.strip_prefix('-').or(rest.strip_prefix('@')).unwrap_or(rest);
        rest.is_empty() || (date.len() == DATE_LENGTH && date.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn line_of(text: &str, start: usize) -> usize {
    text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1
}

/// A table of the text.
#[derive(Clone, Copy)]
pub(super) struct DataSection<'t> {
    text: &'t str,
    /// How messages call it.
    name: &'static str,
    start: usize,
    members: &'t DeTable<'t>,
}

/// A value and where it stands.
#[derive(Clone, Copy)]
pub(super) struct PlacedValue<'t> {
    key: &'t str,
    start: usize,
    value: &'t DeValue<'t>,
}

impl<'t> DataSection<'t> {
    fn error(&self, start: usize, message: String) -> DataFileError {
        DataFileError { line: line_of(self.text, start), message }
    }

    pub(super) fn wrong<T>(&self, at: PlacedValue<'_>, message: &str) -> Result<T> {
        Err(self.error(at.start, format!("`{}`: {message}", at.key)))
    }

    /// The tables of an array, `[[key]]`, in their order.
    pub(super) fn each(&self, key: &'static str, title: &'static str, mut body: impl FnMut(&DataSection<'t>) -> Result<()>) -> Result<()> {
        let entries = self.required(key, |root, at| match at.value {
            DeValue::Array(entries) => Ok(entries),
            _ => root.wrong(at, &format!("its entries are written under {title}")),
        })?;
        entries.iter().try_for_each(|entry| {
            let at = PlacedValue { key, start: entry.span().start, value: entry.get_ref() };
            body(&self.section(title, at)?)
        })
    }

    /// An error of the table as a whole.
    pub(super) fn fault(&self, message: String) -> DataFileError {
        self.error(self.start, message)
    }

    /// Whether all keys are among these.
    pub(super) fn knows(&self, known: &[&[&str]]) -> Result<()> {
        match self.members.iter().find(|(key, _)| !known.concat().contains(&&**key.get_ref())) {
            None => Ok(()),
            Some((key, _)) => {
                let message = format!("{} has no `{}`; it has {}", self.name, key.get_ref(), known.concat().join(", "));
                Err(self.error(key.span().start, message))
            }
        }
    }

    pub(super) fn optional<T>(&self, key: &'t str, read: impl Fn(&Self, PlacedValue<'t>) -> Result<T>) -> Result<Option<T>> {
        let member = self.members.iter().find(|(name, _)| &**name.get_ref() == key);
        member.map(|(_, value)| read(self, PlacedValue { key, start: value.span().start, value: value.get_ref() })).transpose()
    }

    pub(super) fn required<T>(&self, key: &'t str, read: impl Fn(&Self, PlacedValue<'t>) -> Result<T>) -> Result<T> {
        self.optional(key, read)?.ok_or_else(|| self.error(self.start, format!("{} lacks `{key}`", self.name)))
    }

    pub(super) fn section(&self, name: &'static str, at: PlacedValue<'t>) -> Result<DataSection<'t>> {
        match at.value {
            DeValue::Table(members) => Ok(DataSection { text: self.text, name, start: at.start, members }),
            _ => self.wrong(at, "expected a table"),
        }
    }

    pub(super) fn string(&self, at: PlacedValue<'t>) -> Result<&'t str> {
        match at.value {
            DeValue::String(text) if !text.is_empty() => Ok(text),
            _ => self.wrong(at, "expected text in quotes, not empty"),
        }
    }

    pub(super) fn date(&self, at: PlacedValue<'t>) -> Result<Date> {
        Date::read(self.string(at)?).or_else(|problem| self.wrong(at, &problem.to_string()))
    }

    pub(super) fn count(&self, at: PlacedValue<'t>) -> Result<u64> {
        let number = match at.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number.map_or_else(|| self.wrong(at, "expected a whole number of tokens"), Ok)
    }

    pub(super) fn flag(&self, at: PlacedValue<'t>) -> Result<bool> {
        match at.value {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => self.wrong(at, "expected `true` or `false`"),
        }
    }

    pub(super) fn names(&self, at: PlacedValue<'t>) -> Result<Vec<Arc<str>>> {
        match at.value {
            DeValue::Array(names) if !names.is_empty() => {
                let name = |name| self.string(name).map(Arc::from);
                names.iter().map(|entry| name(PlacedValue { key: at.key, start: entry.span().start, value: entry.get_ref() })).collect()
            }
            _ => self.wrong(at, "expected a list of names, not empty"),
        }
    }
}
