//! Which keys of the language of scenarios a case uses, held against its schema: a new key is missed until the strategies give it.

use std::collections::BTreeSet;

use serde_json::Value;

const SCHEMA: &str = include_str!("../../../scenarios/scenario.schema.json");

/// Keys that no generated scenario has, by how their paths begin, each with the reason.
const LEFT_OUT: [(&str, &str); 44] = [
    ("extends", "a file of its own"),
    ("matrix", "several runs"),
    ("tape", "answers are scripted"),
    ("thread", "belongs to a tape"),
    ("matching", "belongs to a tape"),
    ("network", "a simulated run has none"),
    ("plan", "checked by writing the plan of a run"),
    ("client", "for real clients"),
    ("drive", "for real clients"),
    ("normalise", "for real clients"),
    ("side", "for real clients"),
    ("api.models", "for real clients"),
    ("api.lenient", "what is taken all the same is no finding"),
    ("expect", "what holds in every run is asked"),
    ("rules", "for people"),
    ("title", "for people"),
    ("tools", "written as [[tool]]"),
    ("tool.description", "written as `definition`"),
    ("tool.input_schema", "written as `definition`"),
    ("tool.result_json", "the other half of `result`"),
    ("engine.preset", "its settings are drawn one by one"),
    ("engine.prices", "a file of its own"),
    ("engine.windows", "a file of its own"),
    ("workspace.dir", "a folder of its own"),
    ("limits.events", "the usual one is a finding"),
    ("limits.requests", "the usual one is a finding"),
    ("prompt.turn.text", "written as `content`"),
    ("prompt.turn.thinking", "written as `content`"),
    ("prompt.turn.tool", "written as `content`"),
    ("interrupt.turn.", "the same as those of prompts"),
    ("prompt.turn.provenance", "says where an answer comes from, and decides nothing"),
    ("hook.context", "written in `answers`"),
    ("hook.decision", "written in `answers`"),
    ("hook.fails", "written in `answers`"),
    ("hook.never_answers", "written in `answers`"),
    ("hook.reason", "written in `answers`"),
    ("hook.stop", "written in `answers`"),
    ("hook.updated_input", "written in `answers`"),
    ("permission.answer", "written in `answers`"),
    ("permission.never_answers", "written in `answers`"),
    ("permission.reason", "written in `answers`"),
    ("permission.rules", "written in `answers`"),
    ("permission.updated_input", "written in `answers`"),
    ("fault.", "the kinds are counted by themselves"),
];

/// All keys that some case should use.
pub(super) fn wanted() -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let mut keys = BTreeSet::new();
    walk(&schema, &schema, "", &mut keys);
    keys.into_iter()
        .filter(|key| !LEFT_OUT.iter().any(|(start, _)| key == start || (key.starts_with(start) && starts_a_part(key, start))))
        .collect()
}

fn starts_a_part(key: &str, start: &str) -> bool {
    start.ends_with('.') || key[start.len()..].starts_with('.')
}

/// The paths of all keys of objects, three tables deep: what is deeper is the same again.
fn walk(schema: &Value, node: &Value, path: &str, keys: &mut BTreeSet<String>) {
    if path.matches('.').count() > 2 {
        return;
    }
    if let Some(target) = node["$ref"].as_str().and_then(|name| schema.pointer(name.trim_start_matches('#'))) {
        return walk(schema, target, path, keys);
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        node[several].as_array().into_iter().flatten().for_each(|one| walk(schema, one, path, keys));
    }
    if !node["items"].is_null() {
        walk(schema, &node["items"], path, keys);
    }
    for (key, inner) in node["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        walk(schema, inner, &path, keys);
        let is_table = keys.iter().any(|known| known.starts_with(&format!("{path}.")));
        if !is_table {
            keys.insert(path);
        }
    }
}

/// The keys that a scenario uses, as it is written: a key a line, and those of tables in a line.
pub(super) fn scenario_keys(text: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut table = String::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix('[') {
            let name = header.trim_matches(['[', ']']);
            keys.insert(name.to_string());
            table = format!("{name}.");
            continue;
        }
        let Some((key, value)) = line.split_once(" = ").filter(|(key, _)| is_key(key)) else { continue };
        keys.insert(format!("{table}{key}"));
        keys.extend(inner(value).into_iter().map(|inner| format!("{table}{key}.{inner}")));
    }
    keys
}

/// The keys in a value, by their paths: those of tables in tables stand behind theirs. What is quoted has none.
fn inner(value: &str) -> Vec<String> {
    let (mut keys, mut path, mut word, mut last) = (Vec::new(), Vec::<String>::new(), String::new(), String::new());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' | '\'' => skip_text(character, &mut characters),
            '=' => {
                last = core::mem::take(&mut word);
                keys.push(path.iter().chain([&last]).filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("."));
            }
            '{' => path.push(core::mem::take(&mut last)),
            '}' => drop(path.pop()),
            _ if character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_' => word.push(character),
            ' ' => (),
            _ => word.clear(),
        }
    }
    keys
}

/// Goes on behind the quote that ends a text.
fn skip_text(quote: char, characters: &mut core::str::Chars<'_>) {
    while let Some(character) = characters.next() {
        match character {
            '\\' if quote == '"' => drop(characters.next()),
            _ if character == quote => return,
            _ => (),
        }
    }
}

fn is_key(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
