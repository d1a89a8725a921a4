//! What may stand at a place, as far as the parser was seen to take it.

use crate::prelude::*;

/// The kinds of values that a key or an entry takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ValueShape {
    pub(super) text: TextShape,
    /// Whether an integer is taken, and from which on.
    pub(super) integer: Option<Option<i64>>,
    pub(super) float: bool,
    /// Whether `true` is taken, and `false`.
    pub(super) boolean: (bool, bool),
    /// An array of these.
    pub(super) list: Option<Box<ValueShape>>,
    /// A table that the parser reads key by key, by its name.
    pub(super) table: Option<String>,
    /// A table with any keys, of these.
    pub(super) free_table: Option<Box<ValueShape>>,
    /// What the parser says would be right.
    pub(super) help: Option<String>,
}

/// The texts that are taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum TextShape {
    #[default]
    None,
    Free,
    Words(Vec<String>),
    WordsAndMore(Vec<String>),
}

/// A table that the parser reads key by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TableShape {
    pub(super) keys: Vec<(&'static str, ValueShape)>,
    pub(super) required: Vec<&'static str>,
}

impl ValueShape {
    /// Whether no scalar is refused, which is to say that the parser does not look.
    pub(super) fn is_anything(&self) -> bool {
        self.text == TextShape::Free && self.integer.is_some() && self.float && self.boolean == (true, true)
    }
}
