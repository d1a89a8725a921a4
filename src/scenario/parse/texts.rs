//! `[texts]`: what the engine says to the model (T-31).

use super::reader::TableReader;
use super::tree::TreeMember;
use crate::engine::texts::{ModelTexts, TextName, TextSet, parts};
use crate::prelude::*;

/// Reads the set and the texts that take the place of some of it.
pub(super) fn texts(reader: &mut TableReader<'_, '_>) -> ModelTexts {
    let sets = [("reenact", TextSet::Reenact), ("observed", TextSet::Observed)];
    let set = reader.choice("set", &sets).unwrap_or_default();
    let mut texts = ModelTexts { set, ..ModelTexts::default() };
    for name in TextName::ALL {
        let (Some(member), Some(text)) = (reader.member(name.key()), reader.get::<Arc<str>>(name.key())) else { continue };
        if check(reader, member, *name, &text) {
            texts.replaced.insert(*name, text);
        }
    }
    texts
}

/// Whether the text can be said: it is not blank, and has no part that this text has not.
fn check(reader: &mut TableReader<'_, '_>, member: &TreeMember, name: TextName, text: &str) -> bool {
    let (key, place) = (name.key(), member.value.place);
    if text.trim().is_empty() {
        let help = format!("write what the model is to read, or leave `{key}` out");
        reader.report.value(place, format!("`{key}` is blank, and the API refuses blank text"), Some(help));
        return false;
    }
    let known = parts(name.ours());
    let unknown = parts(text).into_iter().filter(|part| !known.contains(part));
    let wrong: Vec<&str> = unknown.collect();
    for part in &wrong {
        match known.is_empty() {
            true => reader.report.value(place, format!("`{key}` has no parts, so there is nothing to put in for `{{{part}}}`"), None),
            false => reader.report.unknown(place, "part", part, &format!(" of `{key}`"), &known),
        }
    }
    wrong.is_empty()
}
