//! The written forms of single values: numbers, texts, marks, lists.

mod json;
mod text_table;
mod times;
mod words;

use core::marker::PhantomData;

use super::description::{KeyDescription, ValueShape, WrittenForm};
use super::keys::{FieldForm, KeyFacts, KeyForm, KeyPosition};
use super::toml::{TomlTable, TomlValue};
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use reenact_engine::random::Seed;
use reenact_wire::prelude::*;

pub(crate) use self::json::{BlocksText, JsonObjectText, TextOrJson};
pub(crate) use self::text_table::TextTable;
pub(crate) use self::times::{FigureRange, duration_shape};
pub(crate) use self::words::{Word, WordList, WordOf, WordOrNone, WordOrUnknown, WordValue, word_forms};

/// The form of a seed that TOML cannot write as a number.
const SEED_TEXT: WrittenForm = WrittenForm { noun: "text with a larger number", help: "", example: "\"18446744073709551615\"" };

const SEED_HELP: &str = "a seed is a whole number from 0 to 18446744073709551615";

/// Forms of types that are written as they are shown: the type, its shape, how it is read.
macro_rules! plain_forms {
    ($($type:ty, $shape:expr, $read:expr;)+) => {
        $(
            impl KeyForm for $type {
                type Value = $type;

                fn shape() -> ValueShape {
                    $shape
                }

                fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<$type> {
                    $read(value, report)
                }

                fn write(value: &$type) -> TomlValue {
                    shown(value)
                }
            }
        )+
    };
}

plain_forms! {
    bool, ValueShape::Boolean, truth;
    u32, ValueShape::Integer(0), |value, report| whole(value, report, Self::MAX.into()).and_then(|number| number.try_into().ok());
    u64, ValueShape::Integer(0), |value, report| whole(value, report, Self::MAX);
}

fn truth(value: &TreeValue, report: &mut DiagnosticReport) -> Option<bool> {
    match value.kind {
        TreeValueKind::Boolean(value) => Some(value),
        _ => wrong(value, report, "true or false"),
    }
}

fn shown(value: &impl core::fmt::Display) -> TomlValue {
    TomlValue::Inline(value.to_string())
}

/// Forms of types that are text.
macro_rules! text_forms {
    ($($type:ty),+) => {
        $(
            impl KeyForm for $type {
                type Value = $type;

                fn shape() -> ValueShape {
                    ValueShape::Text
                }

                fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<$type> {
                    text(value, report).map(Into::into)
                }

                fn write(value: &$type) -> TomlValue {
                    TomlValue::text(value)
                }
            }
        )+
    };
}

text_forms!(String, Arc<str>);

impl<F: KeyForm> KeyForm for Option<F> {
    type Value = Option<F::Value>;

    fn shape() -> ValueShape {
        F::shape()
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Option<F::Value>> {
        F::read(value, at, report).map(Some)
    }

    fn write(value: &Option<F::Value>) -> TomlValue {
        value.as_ref().map_or(TomlValue::Absent, F::write)
    }
}

impl<F: KeyForm> KeyForm for Vec<F> {
    type Value = Vec<F::Value>;

    fn shape() -> ValueShape {
        ValueShape::List(Box::new(F::shape()))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<F::Value>> {
        match &value.kind {
            TreeValueKind::List(items) => Some(items.iter().filter_map(|item| F::read(item, at, report)).collect()),
            TreeValueKind::StandIn => None,
            _ => {
                report.mismatch(value, "an array");
                None
            }
        }
    }

    fn write(values: &Vec<F::Value>) -> TomlValue {
        TomlValue::list(values.iter().map(F::write))
    }
}

/// One text or several.
pub(crate) struct TextListOf<T>(PhantomData<T>);

impl<T: From<String> + AsRef<str>> KeyForm for TextListOf<T> {
    type Value = Vec<T>;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![ValueShape::Text, ValueShape::List(Box::new(ValueShape::Text))])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<T>> {
        let texts = match &value.kind {
            TreeValueKind::Text(text) => vec![text.clone()],
            TreeValueKind::List(_) => Vec::<String>::read(value, at, report)?,
            _ => return wrong(value, report, "text or an array of texts"),
        };
        Some(texts.into_iter().map(T::from).collect())
    }

    fn write(values: &Vec<T>) -> TomlValue {
        TomlValue::list(values.iter().map(|value| TomlValue::text(value.as_ref())))
    }
}

/// A seed: an integer, or text with one for what TOML's 63 bits cannot hold.
pub(crate) struct SeedNumber;

impl KeyForm for SeedNumber {
    type Value = Seed;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![ValueShape::Integer(0), ValueShape::Written(SEED_TEXT, Box::new(ValueShape::Text))])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Seed> {
        match &value.kind {
            TreeValueKind::Integer(..) => u64::read(value, at, report).map(Seed),
            TreeValueKind::Text(text) => {
                let number = match text.trim().strip_prefix("0x") {
                    Some(digits) => u64::from_str_radix(digits, 16),
                    None => text.trim().parse(),
                };
                understood(value, report, number.map(Seed).map_err(|_| format!("`{text}` is not a seed")), SEED_HELP)
            }
            _ => wrong(value, report, "a whole number, or text with one"),
        }
    }

    fn write(seed: &Seed) -> TomlValue {
        if i64::try_from(seed.0).is_ok() { shown(&seed.0) } else { TomlValue::text(&seed.0.to_string()) }
    }
}

/// A number from 0 to 1.
pub(crate) struct Probability;

impl KeyForm for Probability {
    type Value = f64;

    fn shape() -> ValueShape {
        ValueShape::Probability
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<f64> {
        let number = match &value.kind {
            TreeValueKind::Integer(digits, 10) | TreeValueKind::Float(digits) => digits.replace('_', "").parse::<f64>().ok(),
            TreeValueKind::StandIn => return None,
            _ => None,
        };
        let known = number.filter(|number| (0.0..=1.0).contains(number));
        if known.is_none() {
            report.mismatch(value, "a number from 0 to 1");
        }
        known
    }

    fn write(value: &f64) -> TomlValue {
        TomlValue::Inline(format!("{value:?}"))
    }
}

/// A mark: only true can be written, and leaving it out says the opposite.
pub(crate) struct TrueMark;

impl KeyForm for TrueMark {
    type Value = bool;

    fn shape() -> ValueShape {
        ValueShape::True
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<bool> {
        let set = bool::read(value, at, report)?;
        if !set {
            report.value(value.place, format!("`{}` can only be true; leave it out otherwise", at.key), None);
        }
        set.then_some(true)
    }

    fn write(value: &bool) -> TomlValue {
        if *value { shown(value) } else { TomlValue::Absent }
    }
}

/// The name of a model. The API refuses one without a letter (N-6).
pub(crate) struct ModelName;

impl KeyForm for ModelName {
    type Value = Arc<str>;

    fn shape() -> ValueShape {
        let form = WrittenForm { noun: "the name of a model", help: "", example: "\"claude-haiku-4-5\"" };
        ValueShape::Written(form, Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Arc<str>> {
        let model = Arc::<str>::read(value, at, report)?;
        if model.trim().is_empty() {
            report.value(value.place, format!("`{}` is the name of a model; leave it out for the usual one", at.key), None);
            return None;
        }
        Some(model)
    }

    fn write(value: &Arc<str>) -> TomlValue {
        TomlValue::text(value)
    }
}

/// Text that is read by a function and written by `Display`.
pub(crate) trait ReadableText: Sized {
    /// The form of the text, for messages.
    const HELP: &'static str;
    /// A value, as TOML.
    const EXAMPLE: &'static str;

    /// Reads it.
    ///
    /// # Errors
    /// The mistake, without its place.
    fn from_text(text: &str) -> Result<Self, String>;

    /// A text that reads back as the same value.
    fn to_text(&self) -> String;
}

/// The form of a [`ReadableText`].
pub(crate) struct Readable<T>(PhantomData<T>);

impl<T: ReadableText> KeyForm for Readable<T> {
    type Value = T;

    fn shape() -> ValueShape {
        ValueShape::Written(WrittenForm { noun: T::HELP, help: "", example: T::EXAMPLE }, Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<T> {
        let TreeValueKind::Text(text) = &value.kind else {
            if !matches!(value.kind, TreeValueKind::StandIn) {
                let help = format!("write it as text: {} = {}", at.key, T::EXAMPLE);
                report.value(value.place, format!("expected text, found {}", value.found()), Some(help));
            }
            return None;
        };
        T::from_text(text).map_err(|problem| report.value(value.place, problem, None)).ok()
    }

    fn write(value: &T) -> TomlValue {
        TomlValue::text(&value.to_text())
    }
}

/// A field of the struct that is written in another table, or nowhere.
pub(crate) struct NoKey<T>(PhantomData<T>);

impl<T> FieldForm for NoKey<T> {
    type Value = T;

    fn describe_field(_: &KeyFacts, _: &T, _: &mut Vec<KeyDescription>) {}

    fn field_names(_: &KeyFacts) -> Vec<&'static str> {
        Vec::new()
    }

    fn read_field(_: &mut TableReader<'_, '_>, _: &KeyFacts) -> Option<T> {
        None
    }

    fn write_field(_: &T, _: &KeyFacts, _: &mut TomlTable) {}
}

fn text<'a>(value: &'a TreeValue, report: &mut DiagnosticReport) -> Option<&'a str> {
    match &value.kind {
        TreeValueKind::Text(text) => Some(text),
        _ => wrong(value, report, "text"),
    }
}

/// A whole number from 0 to `highest`.
fn whole(value: &TreeValue, report: &mut DiagnosticReport, highest: u64) -> Option<u64> {
    let TreeValueKind::Integer(digits, radix) = &value.kind else { return wrong(value, report, "a whole number") };
    let number = u64::from_str_radix(digits, *radix).ok().filter(|number| *number <= highest);
    if number.is_none() {
        report.value(value.place, format!("expected a whole number from 0 to {highest}, found {digits}"), None);
    }
    number
}

fn wrong<T>(value: &TreeValue, report: &mut DiagnosticReport, wanted: &str) -> Option<T> {
    if !matches!(value.kind, TreeValueKind::StandIn) {
        report.mismatch(value, wanted);
    }
    None
}

/// Passes on what was understood, or says what was not.
fn understood<T>(value: &TreeValue, report: &mut DiagnosticReport, result: Result<T, String>, help: &str) -> Option<T> {
    result.map_err(|message| report.value(value.place, message, Some(help.into()))).ok()
}

/// A number of bytes, not 0.
pub(crate) struct ChunkSize;

impl KeyForm for ChunkSize {
    type Value = u32;

    fn shape() -> ValueShape {
        ValueShape::Integer(1)
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<u32> {
        let size = u32::read(value, at, report)?;
        if size == 0 {
            report.value(value.place, "each part has at least 1 byte".into(), None);
        }
        Some(size)
    }

    fn write(value: &u32) -> TomlValue {
        TomlValue::Inline(value.to_string())
    }
}
