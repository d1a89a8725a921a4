//! One table describes the keys of a section: its struct, its reader, its writer, its schema and its reference come from it.
//!
//! ```text
//! keys! { /// doc           struct, Default          engine::settings::settings! { … }   struct, serde, Default
//!   struct Limits {   ──>                                        │ callback
//!     /// doc               KeyTable: describe ──> JSON Schema, docs/scenario.md
//!     time: Micros = …;               read     <── tree with places
//!   } }                               write    ──> TOML
//! ```
//!
//! `struct Limits check f {` has `f(&Limits, reader)` look at the keys together. A line is
//! `field: Type as Form = default, fact, fact("…");`. The form says how the value is written in a file; without one the type is its own
//! form. The facts are the methods of [`KeyFacts`].

use super::description::{KeyDescription, TableDescription, ValueShape, one_line};
use super::toml::{TomlTable, TomlValue};
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use reenact_wire::prelude::*;

/// A table of keys in a scenario file.
pub(crate) trait KeyTable: Sized {
    /// The subject of the table.
    const ABOUT: &'static str;
    /// The name of the table in messages, where its path in the file reads badly.
    const TITLE: Option<&'static str> = None;

    /// Its name in the schema: the name of the Rust type.
    fn name() -> String;

    /// Adds its keys, in the order in which they are written.
    fn describe(keys: &mut Vec<KeyDescription>);

    /// The names of its keys.
    fn names() -> Vec<&'static str>;

    /// Reads it; `None` where something is missing without which it means nothing, which is then reported.
    fn read(reader: &mut TableReader<'_, '_>) -> Option<Self>;

    /// Writes the keys that do not have their default.
    fn write(&self, out: &mut TomlTable);
}

/// A value of the scenario that its file writes as other keys than the value's own fields.
pub(crate) trait ConvertedTable: Sized {
    /// The keys as they stand in the file.
    type Keys: KeyTable;
    /// As [`KeyTable::TITLE`].
    const TITLE: Option<&'static str> = None;

    /// The value. What is wrong with the keys together is reported here; `None` where they mean nothing.
    fn from_keys(keys: Self::Keys, reader: &mut TableReader<'_, '_>) -> Option<Self>;

    /// The keys that read back as this value.
    fn to_keys(&self) -> Self::Keys;
}

impl<T: ConvertedTable> KeyTable for T {
    const ABOUT: &'static str = T::Keys::ABOUT;
    const TITLE: Option<&'static str> = T::TITLE;

    fn name() -> String {
        T::Keys::name()
    }

    fn describe(keys: &mut Vec<KeyDescription>) {
        T::Keys::describe(keys);
    }

    fn names() -> Vec<&'static str> {
        T::Keys::names()
    }

    fn read(reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let keys = T::Keys::read(reader)?;
        T::from_keys(keys, reader)
    }

    fn write(&self, out: &mut TomlTable) {
        self.to_keys().write(out);
    }
}

/// The written form of one key's value.
pub(crate) trait KeyForm {
    /// The type of the read value.
    type Value;

    /// The shape of the value.
    fn shape() -> ValueShape;

    /// Reads the value; `None` where it is wrong, which is then reported.
    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self::Value>;

    /// The value as TOML.
    fn write(value: &Self::Value) -> TomlValue;
}

/// Where a value stands, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPosition<'a> {
    /// The name of the table in messages; empty for the file itself.
    pub(crate) table: &'a str,
    /// The key in it.
    pub(crate) key: &'a str,
}

/// How one field of a table is written: under one key, under several, or under none.
pub(crate) trait FieldForm {
    /// The field's type.
    type Value;

    /// Adds its keys.
    fn describe_field(facts: &KeyFacts, usual: &Self::Value, keys: &mut Vec<KeyDescription>);

    /// The names of its keys.
    fn field_names(facts: &KeyFacts) -> Vec<&'static str>;

    /// Reads it; `None` where it is not there or wrong.
    fn read_field(reader: &mut TableReader<'_, '_>, facts: &KeyFacts) -> Option<Self::Value>;

    /// Writes it.
    fn write_field(value: &Self::Value, facts: &KeyFacts, out: &mut TomlTable);
}

impl<F: KeyForm> FieldForm for F {
    type Value = F::Value;

    fn describe_field(facts: &KeyFacts, usual: &F::Value, keys: &mut Vec<KeyDescription>) {
        let default = match F::write(usual) {
            TomlValue::Absent => None,
            value => Some(value.inline()),
        };
        keys.push(KeyDescription::new::<F>(facts, default));
    }

    fn field_names(facts: &KeyFacts) -> Vec<&'static str> {
        vec![facts.name]
    }

    fn read_field(reader: &mut TableReader<'_, '_>, facts: &KeyFacts) -> Option<F::Value> {
        let Some(member) = reader.member(facts.name) else {
            if let Some(such_as) = facts.required {
                let message = format!("{} needs `{}`{such_as}", reader.title(), facts.name);
                reader.lacks(&[facts.name], message, facts.help.map(Into::into));
            }
            return None;
        };
        let title = String::from(reader.title());
        read_value::<F>(&member.value, &title, facts, reader.report)
    }

    fn write_field(value: &F::Value, facts: &KeyFacts, out: &mut TomlTable) {
        out.put(facts.name, F::write(value));
    }
}

/// Reads a value that is there, within the bounds of its key; `None` where it is wrong, which is then reported.
pub(crate) fn read_value<F: KeyForm>(value: &TreeValue, table: &str, facts: &KeyFacts, report: &mut DiagnosticReport) -> Option<F::Value> {
    if let Some(problem) = facts.problem(&value.kind) {
        report.value(value.place, problem, facts.help.map(Into::into));
        return None;
    }
    F::read(value, KeyPosition { table, key: facts.name }, report)
}

/// The facts that a table gives about one key beside its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyFacts {
    /// The key.
    pub(crate) name: &'static str,
    /// A second key that says the same in another form.
    pub(crate) other: Option<&'static str>,
    /// The meaning of the key, as it stands in the source: a line each, with the space before it.
    pub(crate) doc: &'static str,
    /// The unit of a number.
    pub(crate) unit: Option<&'static str>,
    /// A value, as TOML.
    pub(crate) example: Option<&'static str>,
    /// The advice about a wrong value.
    help: Option<&'static str>,
    /// That it must be there, and what a message adds to that.
    pub(crate) required: Option<&'static str>,
    /// That 0 is wrong, and why.
    pub(crate) least: Option<&'static str>,
    not_blank: Option<&'static str>,
    checked: Option<fn(&str) -> Option<String>>,
}

impl KeyFacts {
    /// Of a key nothing is known but what it means.
    pub(crate) const fn new(name: &'static str, doc: &'static str) -> Self {
        Self { name, other: None, doc, unit: None, example: None, help: None, required: None, least: None, not_blank: None, checked: None }
    }

    /// The key, where it is not the field's name.
    pub(crate) const fn key(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// A second key for the same field.
    pub(crate) const fn or_key(self, other: &'static str) -> Self {
        Self { other: Some(other), ..self }
    }

    /// Sets the unit of a number.
    pub(crate) const fn unit(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// A value, as TOML, for the reference.
    pub(crate) const fn example(self, example: &'static str) -> Self {
        Self { example: Some(example), ..self }
    }

    /// Sets the advice about a missing or wrong value.
    pub(crate) const fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    /// The table needs it.
    pub(crate) const fn required(self) -> Self {
        self.required_such_as("")
    }

    /// The table needs it; the message about a missing one ends with this.
    pub(crate) const fn required_such_as(self, such_as: &'static str) -> Self {
        Self { required: Some(such_as), ..self }
    }

    /// 0 is wrong, for this reason.
    pub(crate) const fn above_zero(self, reason: &'static str) -> Self {
        Self { least: Some(reason), ..self }
    }

    /// Blank text is wrong, for this reason.
    pub(crate) const fn not_blank(self, reason: &'static str) -> Self {
        Self { not_blank: Some(reason), ..self }
    }

    /// Text is wrong where this finds a problem.
    pub(crate) const fn checked(self, check: fn(&str) -> Option<String>) -> Self {
        Self { checked: Some(check), ..self }
    }

    /// The mistake in a value of the right kind.
    fn problem(&self, kind: &TreeValueKind) -> Option<String> {
        match kind {
            TreeValueKind::Integer(digits, _) if digits.bytes().all(|digit| matches!(digit, b'0' | b'_')) => self.least.map(Into::into),
            TreeValueKind::Text(text) if text.trim().is_empty() && self.not_blank.is_some() => self.not_blank.map(Into::into),
            TreeValueKind::Text(text) => self.checked.and_then(|check| check(text)),
            _ => None,
        }
    }
}

impl TableDescription {
    /// That of a type.
    pub(crate) fn new<T: KeyTable>() -> Self {
        Self { name: T::name(), about: T::ABOUT, title: T::TITLE, keys: T::describe }
    }
}

impl KeyDescription {
    /// The description of a key, from its facts, its form and its default.
    pub(crate) fn new<F: KeyForm>(facts: &KeyFacts, default: Option<String>) -> Self {
        let shape = if facts.least.is_some() { F::shape().above_zero() } else { F::shape() };
        let example = facts.example.map_or_else(|| shape.example(default.as_deref()), Into::into);
        Self {
            name: facts.name,
            doc: one_line(facts.doc),
            shape,
            default,
            is_required: facts.required.is_some(),
            unit: facts.unit,
            #[cfg(test)]
            problems: super::tests::reference::problems::<F>(facts, &example),
            example,
        }
    }
}

/// A struct whose fields are keys of a table, with their docs and defaults. See the top of this file.
macro_rules! keys {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derive:path),* $(,)?)])?
        $vis:vis struct $Name:ident $(check $check:path)? {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty $(as $form:ty)? = $default:expr $(, $fact:ident $(($($argument:expr),*))?)*;
            )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq $($(, $derive)*)?)]
        $vis struct $Name {
            $($(#[doc = $doc])+ $vis $field: $type,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        $crate::language::keys::describe_keys! {
            $Name $(check $check)? [$($about)+] {
                $([$($doc)+] $field: $type $(as $form)? $(, $fact $(($($argument),*))?)*;)*
            }
        }
    };
}

/// Makes a struct that exists a [`KeyTable`].
macro_rules! describe_keys {
    (
        $Name:ident $(check $check:path)? [$($about:literal)+] {
            $(
                [$($doc:literal)+] $field:ident: $type:ty $(as $form:ty)? $(, $fact:ident $(($($argument:expr),*))?)*;
            )*
        }
    ) => {
        impl $crate::language::keys::KeyTable for $Name {
            const ABOUT: &'static str = concat!($($about, "\n"),+);

            fn name() -> String {
                stringify!($Name).into()
            }

            fn describe(keys: &mut Vec<$crate::language::description::KeyDescription>) {
                let usual = Self::default();
                $(
                    <$crate::language::keys::form!($type $(, $form)?) as $crate::language::keys::FieldForm>::describe_field(
                        &$crate::language::keys::facts!($field [$($doc)+] $(, $fact $(($($argument),*))?)*),
                        &usual.$field,
                        keys,
                    );
                )*
            }

            fn names() -> Vec<&'static str> {
                let mut names = Vec::new();
                $(
                    names.extend(
                        <$crate::language::keys::form!($type $(, $form)?) as $crate::language::keys::FieldForm>::field_names(
                            &$crate::language::keys::facts!($field [$($doc)+] $(, $fact $(($($argument),*))?)*),
                        ),
                    );
                )*
                names
            }

            fn read(reader: &mut $crate::parse::reader::TableReader<'_, '_>) -> Option<Self> {
                let mut table = Self::default();
                $(
                    let facts = $crate::language::keys::facts!($field [$($doc)+] $(, $fact $(($($argument),*))?)*);
                    let read = <$crate::language::keys::form!($type $(, $form)?) as $crate::language::keys::FieldForm>::read_field(reader, &facts);
                    if let Some(value) = read {
                        table.$field = value;
                    }
                )*
                $($check(&table, reader);)?
                Some(table)
            }

            fn write(&self, out: &mut $crate::language::toml::TomlTable) {
                let usual = Self::default();
                $(
                    if self.$field != usual.$field {
                        let facts = $crate::language::keys::facts!($field [$($doc)+] $(, $fact $(($($argument),*))?)*);
                        <$crate::language::keys::form!($type $(, $form)?) as $crate::language::keys::FieldForm>::write_field(&self.$field, &facts, out);
                    }
                )*
            }
        }
    };
}

/// The facts of one line.
macro_rules! facts {
    ($field:ident [$($doc:literal)+] $(, $fact:ident $(($($argument:expr),*))?)*) => {
        $crate::language::keys::KeyFacts::new(stringify!($field), concat!($($doc, "\n"),+))$(.$fact($($($argument),*)?))*
    };
}

/// The form of one line: the one that is given, else the type itself.
macro_rules! form {
    ($type:ty) => {
        $type
    };
    ($type:ty, $form:ty) => {
        $form
    };
}

pub(crate) use describe_keys;
pub(crate) use facts;
pub(crate) use form;
pub(crate) use keys;
