//! The JSON Schema of scenarios (F-8): it is the one that the parser gives, it takes what the parser takes, and it refuses misspelt keys.
//!
//! `cargo xtask schema` writes it anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use reenact::scenario::parse;
use serde_json::{Map, Value as Json, json};
use toml::de::{DeTable, DeValue};

const COMMITTED: &str = include_str!("../scenarios/scenario.schema.json");

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(COMMITTED).unwrap()).unwrap()
}

/// Every scenario of the repository, bases included, with its text.
fn shipped() -> Vec<(PathBuf, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                files.push((path.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

fn of_toml(text: &str) -> Json {
    let table = DeTable::parse(text).unwrap_or_else(|error| panic!("{error}"));
    Json::Object(of_table(table.get_ref()))
}

fn of_table(table: &DeTable<'_>) -> Map<String, Json> {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), of_value(value.get_ref()))).collect()
}

fn of_value(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::from(&**text),
        DeValue::Integer(number) => Json::from(i64::from_str_radix(number.as_str(), number.radix()).unwrap()),
        DeValue::Float(number) => Json::from(number.as_str().parse::<f64>().unwrap()),
        DeValue::Boolean(value) => Json::from(*value),
        DeValue::Datetime(date) => Json::from(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| of_value(item.get_ref())).collect(),
        DeValue::Table(table) => Json::Object(of_table(table)),
    }
}

/// A scenario as TOML in one line a key.
fn to_toml(scenario: &Json) -> String {
    let members = scenario.as_object().unwrap().iter();
    members.map(|(key, value)| format!("{} = {}\n", Json::from(key.as_str()), inline(value))).collect()
}

fn inline(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{} = {}", Json::from(key.as_str()), inline(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// A change to the member of a table that has this key.
type Change<'c> = &'c dyn Fn(&Map<String, Json>, &str) -> Map<String, Json>;

/// Every scenario that comes about by one change to a table inside of `scenario`; a key is changed once beside the same others.
fn changed(scenario: &Json, seen: &mut BTreeSet<String>, change: Change<'_>) -> Vec<Json> {
    changed_at(scenario, "", seen, change)
}

fn changed_at(value: &Json, path: &str, seen: &mut BTreeSet<String>, change: Change<'_>) -> Vec<Json> {
    match value {
        Json::Array(items) => {
            let of_item = |(at, item): (usize, &Json)| {
                let with = |new: Json| {
                    let mut items = items.clone();
                    items[at] = new;
                    Json::Array(items)
                };
                changed_at(item, path, seen, change).into_iter().map(with).collect::<Vec<_>>()
            };
            items.iter().enumerate().flat_map(of_item).collect()
        }
        Json::Object(members) => {
            let keys: Vec<&str> = members.keys().map(String::as_str).collect();
            let mut all = Vec::new();
            for (key, inner) in members {
                if seen.insert(format!("{path}.{key} beside {}", keys.join(" "))) {
                    all.push(Json::Object(change(members, key)));
                }
                all.extend(changed_at(inner, &format!("{path}.{key}"), seen, change).into_iter().map(|new| {
                    let mut members = members.clone();
                    members.insert(key.clone(), new);
                    Json::Object(members)
                }));
            }
            all
        }
        _ => Vec::new(),
    }
}

fn is_taken(scenario: &Json) -> bool {
    parse::scenario("x.toml", &to_toml(scenario), &[]).is_ok()
}

/// The shipped scenarios that one can read without looking for other files.
fn alone() -> Vec<Json> {
    shipped().iter().map(|(_, text)| of_toml(text)).filter(is_taken).collect()
}

#[test]
fn f_8_the_committed_schema_is_the_parsers() {
    assert_eq!(COMMITTED, reenact::scenario::language::json_schema(), "it is out of date: cargo xtask schema");
}

#[test]
fn f_8_the_committed_reference_is_the_parsers() {
    let committed = include_str!("../docs/scenario.md");
    assert_eq!(committed, reenact::scenario::language::reference_page(), "it is out of date: cargo xtask schema");
}

#[test]
fn f_8_every_shipped_scenario_is_as_the_schema_says() {
    let validator = validator();
    for (path, text) in shipped() {
        let scenario = of_toml(&text);
        let problems: Vec<String> = validator.iter_errors(&scenario).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{}: {}", path.display(), problems.join("\n"));
    }
}

#[test]
fn f_8_a_misspelt_key_is_refused_wherever_the_parser_refuses_it() {
    let validator = validator();
    let misspelt = |members: &Map<String, Json>, key: &str| {
        members.iter().map(|(other, value)| (if other == key { format!("{key}x") } else { other.clone() }, value.clone())).collect()
    };
    let (mut refused, mut taken) = (0, 0);
    let mut seen = BTreeSet::new();
    for scenario in alone() {
        for wrong in changed(&scenario, &mut seen, &misspelt) {
            let faults = parse::scenario("x.toml", &to_toml(&wrong), &[]).map_or_else(|faults| faults.to_string(), |_| String::new());
            let parser_takes_it = faults.is_empty();
            // Without a key that something else needs there is more wrong than the spelling, so only what is taken must agree as a whole.
            assert!(!parser_takes_it || validator.is_valid(&wrong), "the parser takes this and the schema does not:\n{}", to_toml(&wrong));
            if faults.contains("unknown key") {
                assert!(!validator.is_valid(&wrong), "the parser refuses this and the schema does not: {faults}");
                refused += 1;
            }
            taken += usize::from(parser_takes_it);
        }
    }
    assert!(refused > 100 && taken > 10, "{refused} refused, {taken} taken: both must be seen");
}

#[test]
fn f_8_the_schema_refuses_nothing_that_the_parser_takes() {
    let validator = validator();
    for value in [json!("x"), json!("1s"), json!(1), json!(0.5), json!(true), json!([]), json!({}), json!([{}])] {
        let other = |members: &Map<String, Json>, key: &str| {
            let mut members = members.clone();
            members.insert(key.into(), value.clone());
            members
        };
        let mut seen = BTreeSet::new();
        for changed in alone().iter().flat_map(|scenario| changed(scenario, &mut seen, &other)) {
            // Read before sections are, and not looked into by the schema.
            let is_outside = changed.get("extends").is_some() || changed.get("matrix").is_some();
            assert!(
                is_outside || validator.is_valid(&changed) || !is_taken(&changed),
                "the parser takes this and the schema does not:\n{}",
                to_toml(&changed)
            );
        }
    }
}

#[test]
fn f_8_values_of_the_wrong_kind_are_refused() {
    let validator = validator();
    let hello = |more: Json| {
        let mut scenario = json!({ "prompt": [{ "text": "a", "turn": [{ "text": "b" }] }] });
        scenario.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        validator.is_valid(&scenario)
    };
    assert!(hello(json!({ "seed": 7, "engine": { "emission_order": "eager", "retry": { "max_retries": 0 } } })));
    assert!(!hello(json!({ "seed": 0.5 })));
    assert!(!hello(json!({ "engine": { "emission_order": "lazy" } })));
    assert!(!hello(json!({ "engine": { "max_batch_tools": 0 } })));
    assert!(!hello(json!({ "engine": { "retry": { "max_retries": "many" } } })));
    assert!(!hello(json!({ "tools": ["Raed"] })));
    assert!(!hello(json!({ "fault": { "status": 529 } })));
    assert!(hello(json!({ "fault": [{ "status": 529, "headers": { "x-any": "1" } }] })));
    assert!(!hello(json!({ "fault": [{ "status": 529, "headers": { "x-any": 1 } }] })));
    assert!(!hello(json!({ "tool": [{ "safe": true }] })), "a tool needs its name");
    assert!(hello(json!({ "tool": [{ "name": "Look", "input_schema": { "any": [{ "thing": 1 }] }, "hangs": true }] })));
    assert!(!hello(json!({ "tool": [{ "name": "Look", "hangs": false }] })));
}

/// Each key has its meaning written down, by its table.
#[test]
fn f_10_each_key_is_a_statement_a_name_an_expectation_or_a_setting() {
    let mut rows: std::collections::BTreeMap<&str, BTreeSet<&str>> = std::collections::BTreeMap::new();
    for line in include_str!("../src/scenario/statements.md").lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        rows.entry(cells[0].trim_matches('`')).or_default().extend(cells[1].split(", ").map(|key| key.trim_matches('`')));
    }
    let schema: Json = serde_json::from_str(COMMITTED).unwrap();
    let (mut missing, mut seen) = (BTreeSet::new(), BTreeSet::new());
    keys(&schema, (&schema, "top"), &mut seen, &mut |table, key| {
        let known = rows.get(table).is_some_and(|keys| keys.contains(key) || keys.iter().any(|key| key.starts_with("all ")));
        if !known {
            missing.insert(format!("{table}: {key}"));
        }
    });
    assert!(missing.is_empty(), "src/scenario/statements.md has no row for {missing:#?}");
    assert!(seen.len() > 20, "only {} parts of the schema were looked at", seen.len());
}

/// Tells of each key of a part of the schema, with the table that it stands in.
fn keys<'a>(
    schema: &'a Json,
    (part, table): (&'a Json, &'a str),
    seen: &mut BTreeSet<(String, &'a str)>,
    tell: &mut impl FnMut(&str, &str),
) {
    if let Some(name) = part["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        if seen.insert((name.into(), table)) {
            keys(schema, (&schema["definitions"][name], table), seen, tell);
        }
        return;
    }
    let several = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|word| part[word].as_array()).flatten();
    for inner in several.chain([&part["items"], &part["additionalProperties"]]).filter(|inner| inner.is_object()) {
        keys(schema, (inner, table), seen, tell);
    }
    for (key, inner) in part["properties"].as_object().into_iter().flatten().filter(|(key, _)| !matches!(key.as_str(), "p50" | "p99")) {
        tell(table, key);
        let below = match (table, key.as_str()) {
            ("top", key) | (_, key @ ("when" | "asks" | "expect")) => key,
            (_, "turn" | "synthesis") => "turn",
            ("turn", "tool") => "tool use",
            (table, _) => table,
        };
        seen.insert((key.clone(), table));
        keys(schema, (inner, below), seen, tell);
    }
}
