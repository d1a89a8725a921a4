//! The files of the shipped presets.

use crate::language::forms::WordList;
use reenact_wire::prelude::*;

/// The shipped presets: their names, and their texts.
pub(super) const FILES: [(&str, &str); 1] = [("claude-code-2.1.329", include_str!("claude-code-2.1.329.toml"))];

/// The names of the shipped presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The file of a preset; `None` where no preset has this name.
pub fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names, for a key that takes one.
pub(crate) struct PresetNames;

impl WordList for PresetNames {
    const NOUN: &'static str = "preset";

    fn words() -> Vec<&'static str> {
        names().collect()
    }
}
