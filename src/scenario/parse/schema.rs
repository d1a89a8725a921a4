//! A JSON Schema of scenarios for editors (F-8), found by asking the parser.
//!
//! Which keys there are and what they take is nowhere listed: sections are functions that ask for what they know. So the parser is shown
//! many small scenarios, each with one key set to one kind of value, alone and beside every other key of its table; what it asks for and what
//! it refuses makes the schema. A key that is added to the parser is thereby in the schema, and a schema that was not made anew is told from
//! the parser by a test.

mod crawl;
mod probe;
mod shape;

use alloc::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use self::crawl::SchemaCrawl;
use self::shape::{TableShape, TextShape, ValueShape};
use crate::prelude::*;

/// The schema as text, which ends with a line's end.
pub fn schema() -> String {
    let (root, tables) = SchemaCrawl::of_scenarios();
    let text = serde_json::to_string_pretty(&document(&root, &tables)).unwrap_or_default();
    text + "\n"
}

/// What is written about a table by its name.
fn document(root: &str, tables: &BTreeMap<String, TableShape>) -> Json {
    let mut whole = tables.get(root).map(|table| of_table(table, root)).unwrap_or_default();
    let named = tables.iter().filter(|(name, _)| *name != root);
    let definitions: Map<String, Json> = named.map(|(name, table)| (name.clone(), Json::Object(of_table(table, root)))).collect();
    whole.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
    whole.insert("title".into(), "A scenario of reenact".into());
    whole.insert("definitions".into(), Json::Object(definitions));
    // Both are used up before sections are read, and the parser does not look into them there.
    if let Some(Json::Object(properties)) = whole.get_mut("properties") {
        properties.insert("extends".into(), json!({ "type": "string", "description": "the scenario that this one stands on" }));
        let about = "keys with arrays of values; each combination is a run";
        properties.insert("matrix".into(), json!({ "type": "object", "description": about }));
    }
    Json::Object(whole)
}

fn of_table(table: &TableShape, root: &str) -> Map<String, Json> {
    let properties: Map<String, Json> = table.keys.iter().map(|(key, shape)| ((*key).into(), of_shape(shape, root))).collect();
    let mut out = Map::new();
    out.insert("type".into(), "object".into());
    out.insert("additionalProperties".into(), false.into());
    out.insert("properties".into(), Json::Object(properties));
    if !table.required.is_empty() {
        out.insert("required".into(), table.required.clone().into());
    }
    out
}

/// One alternative stands as it is, several under `anyOf`; no restriction is the empty schema.
fn of_shape(shape: &ValueShape, root: &str) -> Json {
    if shape.is_anything() {
        return json!({});
    }
    let mut alternatives: Vec<Json> = Vec::new();
    match &shape.text {
        TextShape::None => (),
        TextShape::Free => alternatives.push(json!({ "type": "string" })),
        TextShape::Words(words) => alternatives.push(json!({ "enum": words })),
        TextShape::WordsAndMore(words) => alternatives.extend([json!({ "enum": words }), json!({ "type": "string" })]),
    }
    match (shape.integer, shape.float) {
        (_, true) => alternatives.push(json!({ "type": "number" })),
        (Some(Some(least)), false) => alternatives.push(json!({ "type": "integer", "minimum": least })),
        (Some(None), false) => alternatives.push(json!({ "type": "integer" })),
        (None, false) => (),
    }
    match shape.boolean {
        (true, true) => alternatives.push(json!({ "type": "boolean" })),
        (true, false) => alternatives.push(json!({ "const": true })),
        (false, true) => alternatives.push(json!({ "const": false })),
        (false, false) => (),
    }
    if let Some(item) = &shape.list {
        alternatives.push(json!({ "type": "array", "items": of_shape(item, root) }));
    }
    if let Some(name) = &shape.table {
        alternatives.push(json!({ "$ref": if name == root { "#".into() } else { format!("#/definitions/{name}") } }));
    }
    if let Some(value) = &shape.free_table {
        alternatives.push(json!({ "type": "object", "additionalProperties": of_shape(value, root) }));
    }
    let mut out = match alternatives.len() {
        1 => alternatives.remove(0),
        _ => json!({ "anyOf": alternatives }),
    };
    if let (Some(help), Json::Object(members)) = (&shape.help, &mut out)
        && !members.contains_key("$ref")
    {
        members.insert("description".into(), help.as_str().into());
    }
    out
}
