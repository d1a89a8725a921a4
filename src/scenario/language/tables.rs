//! Tables as values: sections, inline tables, arrays of both, and tables whose keys stand in the table around them.

use core::marker::PhantomData;

use super::description::{KeyDescription, TableDescription, ValueShape};
use super::keys::{FieldForm, KeyFacts, KeyForm, KeyPosition, KeyTable};
use super::read_table::read_table_value;
use super::toml::{TomlTable, TomlValue};
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use reenact_wire::prelude::*;

/// `[key]`: a table that is written as a section.
pub(crate) struct Section<T>(PhantomData<T>);

/// `key = { … }`: a table that is written on one line.
pub(crate) struct Inline<T>(PhantomData<T>);

/// `[[key]]`: tables that are written as sections, an entry each.
pub(crate) struct Sections<T>(PhantomData<T>);

/// `key = [{ … }, …]`: tables that are written on one line.
pub(crate) struct Inlines<T>(PhantomData<T>);

/// A table whose keys stand among those of the table around it.
pub(crate) struct Flat<T>(PhantomData<T>);

impl<T: KeyTable> KeyForm for Section<T> {
    type Value = T;

    fn shape() -> ValueShape {
        ValueShape::Section(TableDescription::new::<T>())
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<T> {
        let title = T::TITLE.map_or_else(|| section_title(at, "[", "]"), Into::into);
        read_table_value(value, &title, report)
    }

    fn write(value: &T) -> TomlValue {
        TomlValue::Section(written(value))
    }
}

impl<T: KeyTable> KeyForm for Inline<T> {
    type Value = T;

    fn shape() -> ValueShape {
        ValueShape::Table(TableDescription::new::<T>())
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<T> {
        let title = T::TITLE.map_or_else(|| format!("`{}`", at.key), Into::into);
        read_table_value(value, &title, report)
    }

    fn write(value: &T) -> TomlValue {
        TomlValue::Inline(written(value).inline())
    }
}

impl<T: KeyTable> KeyForm for Sections<T> {
    type Value = Vec<T>;

    fn shape() -> ValueShape {
        ValueShape::List(Box::new(ValueShape::Section(TableDescription::new::<T>())))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<T>> {
        let title = T::TITLE.map_or_else(|| section_title(at, "[[", "]]"), Into::into);
        read_entries(value, at.key, &title, report)
    }

    fn write(values: &Vec<T>) -> TomlValue {
        TomlValue::Sections(values.iter().map(written).collect())
    }
}

impl<T: KeyTable> KeyForm for Inlines<T> {
    type Value = Vec<T>;

    fn shape() -> ValueShape {
        ValueShape::List(Box::new(ValueShape::Table(TableDescription::new::<T>())))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<T>> {
        let title = T::TITLE.map_or_else(|| format!("an entry of `{}`", at.key), Into::into);
        read_entries(value, at.key, &title, report)
    }

    fn write(values: &Vec<T>) -> TomlValue {
        TomlValue::list(values.iter().map(|value| TomlValue::Section(written(value))))
    }
}

impl<T: KeyTable> FieldForm for Flat<T> {
    type Value = T;

    fn describe_field(_: &KeyFacts, _: &T, keys: &mut Vec<KeyDescription>) {
        T::describe(keys);
    }

    fn field_names(_: &KeyFacts) -> Vec<&'static str> {
        T::names()
    }

    fn read_field(reader: &mut TableReader<'_, '_>, _: &KeyFacts) -> Option<T> {
        T::read(reader)
    }

    fn write_field(value: &T, _: &KeyFacts, out: &mut TomlTable) {
        value.write(out);
    }
}

/// The path of a section in the file; inside of a table on one line it is the key alone.
fn section_title(at: KeyPosition<'_>, open: &str, close: &str) -> String {
    let path = at.table.trim_start_matches('[').trim_end_matches(']');
    match () {
        () if at.table.is_empty() => format!("{open}{}{close}", at.key),
        () if at.table.starts_with('[') => format!("{open}{path}.{}{close}", at.key),
        () if open == "[[" => format!("an entry of `{}`", at.key),
        () => format!("`{}`", at.key),
    }
}

fn written<T: KeyTable>(value: &T) -> TomlTable {
    let mut table = TomlTable::default();
    value.write(&mut table);
    table
}

/// Reads the tables of an array; those that are no tables, or that mean nothing, are left out.
fn read_entries<T: KeyTable>(value: &TreeValue, key: &str, title: &str, report: &mut DiagnosticReport) -> Option<Vec<T>> {
    match &value.kind {
        TreeValueKind::List(items) => Some(items.iter().filter_map(|item| read_table_value(item, title, report)).collect()),
        TreeValueKind::StandIn => None,
        _ => {
            let section = if title.starts_with('[') { format!("write {title} as the section's head, or ") } else { String::new() };
            let help = format!("{section}write {key} = [{{ … }}]");
            report.value(value.place, format!("expected an array of tables, found {}", value.found()), Some(help));
            // A single table is meant as the only entry, and may have diagnostics of its own.
            let is_table = matches!(value.kind, TreeValueKind::Table(_));
            is_table.then(|| read_table_value(value, title, report).into_iter().collect())
        }
    }
}

impl<T: KeyTable> FieldForm for Option<Flat<T>> {
    type Value = Option<T>;

    fn describe_field(_: &KeyFacts, _: &Option<T>, keys: &mut Vec<KeyDescription>) {
        T::describe(keys);
    }

    fn field_names(_: &KeyFacts) -> Vec<&'static str> {
        T::names()
    }

    fn read_field(reader: &mut TableReader<'_, '_>, _: &KeyFacts) -> Option<Option<T>> {
        T::read(reader).map(Some)
    }

    fn write_field(value: &Option<T>, _: &KeyFacts, out: &mut TomlTable) {
        if let Some(value) = value {
            value.write(out);
        }
    }
}
