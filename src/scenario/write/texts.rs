//! `[texts]` as TOML.

use super::TomlLines;
use crate::engine::texts::{ModelTexts, TextSet};

/// The section, if anything in it is not as usual.
pub(super) fn texts_section(out: &mut TomlLines, texts: &ModelTexts) {
    let ModelTexts { set, replaced } = texts;
    if texts.is_default() {
        return;
    }
    out.table("[texts]");
    let word = match set {
        TextSet::Reenact => "reenact",
        TextSet::Observed => "observed",
    };
    out.word("set", *set, word);
    replaced.iter().for_each(|(name, text)| out.text(name.key(), text));
}
