//! `[texts]`: the texts that the engine sends to the model (T-31). The table of texts in `engine::texts` has their names.

use crate::language::description::KeyDescription;
use crate::language::forms::word_forms;
use crate::language::keys::{FieldForm, KeyFacts, KeyTable};
use crate::language::toml::TomlTable;
use crate::parse::reader::TableReader;
use reenact_engine::texts::{ModelTexts, TextName, TextSet, parts};
use reenact_wire::prelude::*;

word_forms!(TextSet);

/// The facts of the one key that is no text.
const SET: KeyFacts = KeyFacts::new("set", "The set of the texts that are not replaced here.");

/// Those of the key of a text.
fn facts(name: TextName) -> KeyFacts {
    KeyFacts::new(name.key(), name.meaning())
}

impl KeyTable for ModelTexts {
    const ABOUT: &'static str = "`[texts]`: the texts that the engine sends to the model (T-31). Each key replaces one text; names in curly brackets are its parts.";

    fn name() -> String {
        String::from("ModelTexts")
    }

    fn describe(keys: &mut Vec<KeyDescription>) {
        <TextSet as FieldForm>::describe_field(&SET, &TextSet::default(), keys);
        for name in TextName::ALL {
            <Arc<str> as FieldForm>::describe_field(&facts(*name), &name.ours().into(), keys);
        }
    }

    fn names() -> Vec<&'static str> {
        core::iter::once(SET.name).chain(TextName::ALL.iter().map(|name| name.key())).collect()
    }

    fn read(reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let set = <TextSet as FieldForm>::read_field(reader, &SET).unwrap_or_default();
        let mut texts = Self { set, ..Self::default() };
        for name in TextName::ALL {
            let Some(text) = <Arc<str> as FieldForm>::read_field(reader, &facts(*name)) else { continue };
            if check(reader, *name, &text) {
                texts.replaced.insert(*name, text);
            }
        }
        Some(texts)
    }

    fn write(&self, out: &mut TomlTable) {
        if self.set != TextSet::default() {
            <TextSet as FieldForm>::write_field(&self.set, &SET, out);
        }
        for (name, text) in &self.replaced {
            <Arc<str> as FieldForm>::write_field(text, &facts(*name), out);
        }
    }
}

/// Whether the text can be sent: it is not blank, and has only parts that this text has.
fn check(reader: &mut TableReader<'_, '_>, name: TextName, text: &str) -> bool {
    let key = name.key();
    let Some(place) = reader.member(key).map(|member| member.value.place) else { return false };
    if text.trim().is_empty() {
        let help = format!("write the text for the model, or leave `{key}` out");
        reader.report.value(place, format!("`{key}` is blank, and the API refuses blank text"), Some(help));
        return false;
    }
    let known = parts(name.ours());
    let wrong: Vec<&str> = parts(text).into_iter().filter(|part| !known.contains(part)).collect();
    for part in &wrong {
        match known.is_empty() {
            true => reader.report.value(place, format!("`{key}` has no parts, so nothing can stand for `{{{part}}}`: remove it"), None),
            false => reader.report.unknown(place, "part", part, &format!(" of `{key}`"), &known),
        }
    }
    // Other texts may leave their parts out: what is lost then is said elsewhere, or is not the user's.
    if wrong.is_empty() && name == TextName::QueuedMessage && !parts(text).contains(&"message") {
        let help = String::from("add `{message}`");
        reader.report.value(place, format!("`{key}` has no `{{message}}`: the model would never learn what the user said"), Some(help));
        return false;
    }
    wrong.is_empty()
}
