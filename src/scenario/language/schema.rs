//! The JSON Schema of scenarios for editors (F-8), from the descriptions of the tables.

use alloc::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::description::{KeyDescription, TableDescription, ValueShape, one_line};
use reenact_wire::prelude::*;

/// The schema as text, which ends with a line's end.
pub(super) fn text(root: &TableDescription) -> String {
    let mut tables = SchemaTables::default();
    let mut whole = tables.table(root);
    whole.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
    whole.insert("title".into(), "A scenario of reenact".into());
    whole.insert("definitions".into(), Json::Object(tables.0.into_iter().map(|(name, table)| (name, Json::Object(table))).collect()));
    serde_json::to_string_pretty(&Json::Object(whole)).unwrap_or_default() + "\n"
}

/// The tables that were met, by name. A table is in here before its keys are described, for it may be inside of itself.
#[derive(Default)]
struct SchemaTables(BTreeMap<String, Map<String, Json>>);

impl SchemaTables {
    fn table(&mut self, table: &TableDescription) -> Map<String, Json> {
        let keys = table.keys();
        let mut out = Map::new();
        out.insert("type".into(), "object".into());
        out.insert("description".into(), one_line(table.about).into());
        out.insert("additionalProperties".into(), false.into());
        out.insert("properties".into(), Json::Object(keys.iter().map(|key| (key.name.into(), self.key(key))).collect()));
        let required: Vec<Json> = keys.iter().filter(|key| key.is_required).map(|key| key.name.into()).collect();
        if !required.is_empty() {
            out.insert("required".into(), required.into());
        }
        out
    }

    fn key(&mut self, key: &KeyDescription) -> Json {
        let default = key.default.as_ref().map(|default| format!(" By default {default}.")).unwrap_or_default();
        let unit = key.unit.map(|unit| format!(" In {unit}.")).unwrap_or_default();
        let written = written_help(&key.shape).map(|help| format!(" ({help})")).unwrap_or_default();
        let description = format!("{}{unit}{default}{written}", key.doc);
        match self.shape(&key.shape) {
            // Beside `$ref` other members do not count.
            Json::Object(members) if members.contains_key("$ref") => json!({ "allOf": [members], "description": description }),
            Json::Object(mut members) => {
                members.insert("description".into(), description.into());
                members.into()
            }
            other => other,
        }
    }

    fn shape(&mut self, shape: &ValueShape) -> Json {
        match shape {
            ValueShape::Anything => json!({}),
            ValueShape::Text => json!({ "type": "string" }),
            ValueShape::Words(words) => json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() }),
            ValueShape::Integer(least) => json!({ "type": "integer", "minimum": least }),
            ValueShape::Probability => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
            ValueShape::Boolean => json!({ "type": "boolean" }),
            ValueShape::True => json!({ "const": true }),
            ValueShape::List(item) => json!({ "type": "array", "items": self.shape(item) }),
            ValueShape::Table(table) | ValueShape::Section(table) => self.reference(table),
            ValueShape::Map(value) => json!({ "type": "object", "additionalProperties": self.shape(value) }),
            ValueShape::Either(shapes) => json!({ "anyOf": shapes.iter().map(|shape| self.shape(shape)).collect::<Vec<_>>() }),
            ValueShape::Written(_, inner) => self.shape(inner),
        }
    }

    fn reference(&mut self, table: &TableDescription) -> Json {
        if !self.0.contains_key(&table.name) {
            self.0.insert(table.name.clone(), Map::new());
            let described = self.table(table);
            self.0.insert(table.name.clone(), described);
        }
        json!({ "$ref": format!("#/definitions/{}", table.name) })
    }
}

/// How a value is written, where its kind does not tell.
fn written_help(shape: &ValueShape) -> Option<&'static str> {
    match shape {
        ValueShape::Written(form, _) => Some(if form.help.is_empty() { form.noun } else { form.help }),
        ValueShape::List(inner) | ValueShape::Map(inner) => written_help(inner),
        ValueShape::Either(shapes) => shapes.iter().find_map(written_help),
        _ => None,
    }
}
