//! Words: values of an enum, and texts of a list.

use core::marker::PhantomData;

use super::super::description::ValueShape;
use super::super::keys::{KeyForm, KeyPosition};
use super::super::toml::TomlValue;
use crate::parse::reader::known_word;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::TreeValue;
use reenact_wire::prelude::*;

/// A type whose values are words.
pub(crate) trait WordValue: Clone + PartialEq + 'static {
    /// The noun for a word in messages.
    const NOUN: &'static str = "word";

    /// The words, each with its value and what it means.
    fn words() -> Vec<(&'static str, Self, &'static str)>;
}

/// One of the words of a type.
pub(crate) struct Word<T>(PhantomData<T>);

impl<T: WordValue> KeyForm for Word<T> {
    type Value = T;

    fn shape() -> ValueShape {
        ValueShape::Words(T::words().into_iter().map(|(word, _, doc)| (word, doc)).collect())
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<T> {
        let words = T::words();
        let known: Vec<&str> = words.iter().map(|(word, ..)| *word).collect();
        let word = known_word(value, report, T::NOUN, &known)?;
        words.into_iter().find(|(known, ..)| *known == word).map(|(_, meaning, _)| meaning)
    }

    fn write(value: &T) -> TomlValue {
        let word = T::words().into_iter().find(|(_, meaning, _)| meaning == value).map(|(word, ..)| word);
        word.map_or(TomlValue::Absent, TomlValue::text)
    }
}

/// Types made by `words!`: each is written as one of its words.
macro_rules! word_forms {
    ($($type:ty),+ $(,)?) => {
        $(
            impl $crate::language::forms::WordValue for $type {
                fn words() -> Vec<(&'static str, Self, &'static str)> {
                    Self::WORDS.to_vec()
                }
            }

            impl $crate::language::keys::KeyForm for $type {
                type Value = Self;

                fn shape() -> $crate::language::description::ValueShape {
                    $crate::language::forms::Word::<Self>::shape()
                }

                fn read(
                    value: &$crate::parse::tree::TreeValue,
                    at: $crate::language::keys::KeyPosition<'_>,
                    report: &mut $crate::parse::report::DiagnosticReport,
                ) -> Option<Self> {
                    $crate::language::forms::Word::<Self>::read(value, at, report)
                }

                fn write(value: &Self) -> $crate::language::toml::TomlValue {
                    $crate::language::forms::Word::<Self>::write(value)
                }
            }
        )+
    };
}

pub(crate) use word_forms;

/// Forms of a word of a type, or of one more word for no value: the form, that word, what it means.
macro_rules! optional_words {
    ($($(#[doc = $about:literal])+ $Form:ident, $word:literal, $meaning:literal;)+) => {
        $(
            $(#[doc = $about])+
            pub(crate) struct $Form<T>(PhantomData<T>);

            impl<T: WordValue> KeyForm for $Form<T> {
                type Value = Option<T>;

                fn shape() -> ValueShape {
                    let words = T::words().into_iter().map(|(word, _, doc)| (word, doc));
                    ValueShape::Words(words.chain([($word, $meaning)]).collect())
                }

                fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Option<T>> {
                    let words = T::words();
                    let known: Vec<&str> = words.iter().map(|(word, ..)| *word).chain([$word]).collect();
                    let word = known_word(value, report, T::NOUN, &known)?;
                    Some(words.into_iter().find(|(known, ..)| *known == word).map(|(_, meaning, _)| meaning))
                }

                fn write(value: &Option<T>) -> TomlValue {
                    value.as_ref().map_or(TomlValue::text($word), Word::<T>::write)
                }
            }
        )+
    };
}

optional_words! {
    /// A word of a type, or `none`.
    WordOrNone, "none", "None of them.";
    /// A word of a type, or `unknown`.
    WordOrUnknown, "unknown", "It cannot say.";
}

/// Words that are texts in the scenario.
pub(crate) trait WordList {
    /// The noun for a word in messages.
    const NOUN: &'static str;

    /// All of them.
    fn words() -> Vec<&'static str>;
}

/// One of the words of a list.
pub(crate) struct WordOf<L>(PhantomData<L>);

impl<L: WordList> KeyForm for WordOf<L> {
    type Value = String;

    fn shape() -> ValueShape {
        ValueShape::Words(L::words().into_iter().map(|word| (word, "")).collect())
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<String> {
        known_word(value, report, L::NOUN, &L::words()).map(Into::into)
    }

    fn write(value: &String) -> TomlValue {
        TomlValue::text(value)
    }
}
