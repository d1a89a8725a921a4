//! The API's rules for tools: names that differ, input schemas that are objects, and what it can compile where a tool is `strict` (N-6).
//!
//! The texts are the API's own, as recorded. It refuses some schemas within these limits, too ("Schema is too complex for compilation"):
//! how it measures that is not published, so no client can know, and they are taken here.

use core::ops::AddAssign;

use serde_json::{Map, Value};

use super::super::json::Json;
use super::super::raw_json::{RawObject, elements};
use super::Refusal;
use crate::prelude::*;

/// How many tools may be strict.
const STRICT_MAX: usize = 20;

/// How many parameters of strict tools may be left out.
const OPTIONAL_MAX: usize = 24;

/// How many parameters of strict tools may have one type or another.
const UNIONS_MAX: usize = 16;

/// The tools of a list; `None` for what is no list.
pub(super) fn listed(tools: &Json) -> Option<Vec<RawObject<'_>>> {
    let list = elements(tools.as_str()).ok()?;
    Some(list.into_iter().filter_map(|tool| RawObject::parse(tool).ok()).collect())
}

/// The refusal of the tools, if there is one.
pub(super) fn refusal(tools: &[RawObject<'_>]) -> Option<Refusal> {
    let custom = || (0..).zip(tools).filter(|(_, tool)| tool.string("type").is_none_or(|kind| kind == "custom"));
    let shape = custom().find_map(|(index, tool): (usize, _)| shape_refusal(index, tool.present("input_schema")));
    let name = || custom().find_map(|(index, tool): (usize, _)| name_refusal(index, tool.string("name").as_deref()));
    shape.or_else(name).or_else(|| twice_named(tools)).or_else(|| {
        let strict = custom().filter(|(_, tool)| tool.get("strict") == Some("true"));
        strict_refusal(strict.filter_map(|(index, tool)| Some((index, serde_json::from_str(tool.get("input_schema")?).ok()?))).collect())
    })
}

/// A name is 1 to 128 letters, digits, `_` and `-`.
fn name_refusal(index: usize, name: Option<&str>) -> Option<Refusal> {
    let Some(name) = name else { return Some(Refusal::invalid("tool_name", format!("tools.{index}.custom.name: Field required"))) }; // plausible
    let is_name = (1..=128).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let text = format!("tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'");
    (!is_name).then(|| Refusal::invalid("tool_name", text)) // plausible
}

fn twice_named(tools: &[RawObject<'_>]) -> Option<Refusal> {
    let mut names: Vec<Cow<'_, str>> = tools.iter().filter_map(|tool| tool.string("name")).collect();
    names.sort_unstable();
    let is_twice = names.windows(2).any(|pair| pair[0] == pair[1]);
    is_twice.then(|| Refusal::invalid("tool_names", "tools: Tool names must be unique.")) // plausible
}

/// An input is an object, and its schema says so at its top.
fn shape_refusal(index: usize, schema: Option<&str>) -> Option<Refusal> {
    let wrong = |problem: &str| Some(Refusal::invalid("input_schema", format!("tools.{index}.custom.input_schema{problem}")));
    let Some(schema) = schema else { return wrong(": Field required") }; // plausible
    let Ok(schema) = RawObject::parse(schema) else { return wrong(": Input does not match the expected shape.") };
    match (schema.present("type"), schema.string("type").as_deref()) {
        (None, _) => wrong(".type: Field required"),
        (Some(_), Some("object")) => None,
        (Some(_), _) => wrong(".type: Input should be 'object'"),
    }
}

/// The schemas of strict tools, each with its tool's place: they are compiled, and not all can be.
fn strict_refusal(schemas: Vec<(usize, Value)>) -> Option<Refusal> {
    let refusal = |text: String| Some(Refusal::invalid("strict_schema", text));
    let count = schemas.len();
    if count > STRICT_MAX {
        return refusal(format!(
            "Too many strict tools ({count}). The maximum number of strict tools supported is {STRICT_MAX}. Try reducing the number of tools \
             marked as strict."
        ));
    }
    for (index, schema) in &schemas {
        if has_boolean_property(schema) {
            return refusal(format!("tools.{index}.custom: For 'object' type, property 'properties' is not supported"));
        }
        if let Some(circle) = circle(schema) {
            return refusal(format!(
                "tools.{index}.custom: Invalid schema: Circular reference detected in schema definitions: {}. Self-referencing or \
                 mutually-referencing definitions are not supported.",
                circle.join(" -> ")
            ));
        }
    }
    let mut total = ParameterCosts::default();
    schemas.iter().for_each(|(_, schema)| total += parameters(schema));
    match total {
        ParameterCosts { optional: count @ OPTIONAL_TOO_MANY.., .. } => refusal(format!(
            "Schemas contains too many optional parameters ({count}), which would make grammar compilation inefficient. Reduce the number of \
             optional parameters in your tool schemas (limit: {OPTIONAL_MAX})."
        )),
        ParameterCosts { unions: count @ UNIONS_TOO_MANY.., .. } => refusal(format!(
            "Schemas contains too many parameters with union types ({count} parameters with type arrays or anyOf). This causes exponential \
             compilation cost. Reduce the number of nullable or union-typed parameters (limit: {UNIONS_MAX} parameters with unions)."
        )),
        ParameterCosts { .. } => None,
    }
}

const OPTIONAL_TOO_MANY: usize = OPTIONAL_MAX + 1;
const UNIONS_TOO_MANY: usize = UNIONS_MAX + 1;

/// How many parameters are costly to compile.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct ParameterCosts {
    optional: usize,
    unions: usize,
}

impl AddAssign for ParameterCosts {
    fn add_assign(&mut self, other: Self) {
        self.optional += other.optional;
        self.unions += other.unions;
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// Those of a schema, and of all that are in it.
fn parameters(schema: &Value) -> ParameterCosts {
    let mut total = ParameterCosts::default();
    if let Some(properties) = properties(schema) {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        total.optional = properties.keys().filter(|name| !is_required(name)).count();
        let is_union = |schema: &&Value| schema.get("type").is_some_and(Value::is_array) || schema.get("anyOf").is_some();
        total.unions = properties.values().filter(is_union).count();
    }
    subschemas(schema).for_each(|schema| total += parameters(schema));
    total
}

fn has_boolean_property(schema: &Value) -> bool {
    properties(schema).is_some_and(|properties| properties.values().any(Value::is_boolean)) || subschemas(schema).any(has_boolean_property)
}

/// The schemas one level further in.
fn subschemas(schema: &Value) -> impl Iterator<Item = &Value> {
    let named = ["properties", "$defs", "definitions"].into_iter().filter_map(|key| schema.get(key)?.as_object()).flat_map(Map::values);
    let listed = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    named.chain(listed).chain(["items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key)))
}

/// The names of definitions that lead from one back to itself: `[Node, Node]`.
fn circle(schema: &Value) -> Option<Vec<&str>> {
    let definitions = ["$defs", "definitions"].into_iter().find_map(|key| schema.get(key)?.as_object())?;
    definitions.keys().find_map(|name| path_back(definitions, &mut vec![name]))
}

/// Goes on from the last name of a path until it comes to the first again. `None` when it does not.
fn path_back<'a>(definitions: &'a Map<String, Value>, path: &mut Vec<&'a str>) -> Option<Vec<&'a str>> {
    let mut names = Vec::new();
    references(definitions.get(*path.last()?)?, &mut names);
    for name in names {
        if name == path[0] {
            path.push(name);
            return Some(core::mem::take(path));
        }
        if !path.contains(&name) {
            path.push(name);
            let found = path_back(definitions, path);
            if found.is_some() {
                return found;
            }
            path.pop();
        }
    }
    None
}

/// The definitions that a schema refers to.
fn references<'a>(schema: &'a Value, names: &mut Vec<&'a str>) {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit_once('/'));
    names.extend(reference.map(|(_, name)| name));
    subschemas(schema).for_each(|schema| references(schema, names));
}
