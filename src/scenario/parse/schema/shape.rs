//! What may stand at a place, as far as the parser was seen to take it.

use crate::prelude::*;

/// The kinds of values that a key or an entry takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shape {
    pub(super) text: Texts,
    /// Whether an integer is taken, and from which on.
    pub(super) integer: Option<Option<i64>>,
    pub(super) float: bool,
    /// Whether `true` is taken, and `false`.
    pub(super) boolean: (bool, bool),
    /// An array of these.
    pub(super) list: Option<Box<Shape>>,
    /// A table that the parser reads key by key, by its name.
    pub(super) table: Option<String>,
    /// A table with any keys, of these.
    pub(super) free_table: Option<Box<Shape>>,
    /// What the parser says would be right.
    pub(super) help: Option<String>,
}

/// The texts that are taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Texts {
    #[default]
    None,
    Free,
    Words(Vec<String>),
    WordsAndMore(Vec<String>),
}

/// A table that the parser reads key by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TableShape {
    pub(super) keys: Vec<(&'static str, Shape)>,
    pub(super) required: Vec<&'static str>,
}

impl Shape {
    /// Whether no scalar is refused, which is to say that the parser does not look.
    pub(super) fn is_anything(&self) -> bool {
        self.text == Texts::Free && self.integer.is_some() && self.float && self.boolean == (true, true)
    }
}
