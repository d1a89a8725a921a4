//! Inputs of tools held against their JSON Schemas (T-21), by a library that needs the standard library and so stands outside the pure rooms.
//!
//! A tool's schema is compiled when its first input is validated: most runs use few of the tools that they declare. A schema that the
//! library does not understand (it refers to another document, say) allows everything: what is wrong with it is the tool's affair and
//! not the model's.

use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

use reenact_engine::schema::{SchemaProblem, Validate, Validators};
use reenact_engine::settings::{Environment, ToolDefinition};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// Gives an environment the validator that follows from its tools' definitions.
pub fn attach(environment: &mut Environment) {
    let schemas: Vec<ToolSchema> = environment.tools.iter().filter_map(ToolSchema::compile).collect();
    if !schemas.is_empty() {
        environment.validators = Validators::new(ToolSchemas(schemas));
    }
}

/// The schemas of an environment's tools.
#[derive(Debug)]
struct ToolSchemas(Vec<ToolSchema>);

/// One tool's schema.
struct ToolSchema {
    tool: Arc<str>,
    /// The tool's definition, whose member `input_schema` it is.
    definition: Json,
    compiled: OnceLock<Option<Validator>>,
}

impl core::fmt::Debug for ToolSchema {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Schema").field("tool", &self.tool).finish_non_exhaustive()
    }
}

impl ToolSchema {
    fn compile(tool: &ToolDefinition) -> Option<Self> {
        let has_one = tool.json.as_str().contains("\"input_schema\"");
        has_one.then(|| Self { tool: tool.name.clone(), definition: tool.json.clone(), compiled: OnceLock::new() })
    }

    fn validator(&self) -> Option<&Validator> {
        let compile = || jsonschema::validator_for(self.definition.to_value().get("input_schema")?).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

impl Validate for ToolSchemas {
    fn problems(&self, tool: &str, input: &Json) -> Vec<SchemaProblem> {
        let Some(validator) = self.0.iter().find(|schema| &*schema.tool == tool).and_then(ToolSchema::validator) else { return Vec::new() };
        validator.iter_errors(&input.to_value()).flat_map(|error| problems_of(&error)).collect()
    }
}

/// An error of the library in words for a model: where, what was expected, what is there.
fn problems_of(error: &ValidationError<'_>) -> Vec<SchemaProblem> {
    use ValidationErrorKind as Kind;
    let path = path_of(error);
    let found = value_words(error.instance());
    let at = |path: String, expected: String| vec![SchemaProblem { path, expected }];
    let here = |expected: String| at(path.clone(), format!("expected {expected}, found {found}"));
    match error.kind() {
        Kind::Required { property } => at(member(&path, property.as_str().unwrap_or_default()), "required, and missing".into()),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(|name| SchemaProblem { path: member(&path, name), expected: "there is no such member".into() }).collect()
        }
        Kind::Type { kind } => here(types(kind)),
        Kind::Enum { options } => here(format!("one of {}", list(options))),
        Kind::Constant { expected_value } => here(expected_value.to_string()),
        Kind::Minimum { limit } => here(format!("at least {limit}")),
        Kind::Maximum { limit } => here(format!("at most {limit}")),
        Kind::ExclusiveMinimum { limit } => here(format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => here(format!("less than {limit}")),
        Kind::MinLength { limit } => here(format!("at least {limit} characters")),
        Kind::MaxLength { limit } => here(format!("at most {limit} characters")),
        Kind::MinItems { limit } => here(format!("at least {limit} items")),
        Kind::MaxItems { limit } => here(format!("at most {limit} items")),
        Kind::Pattern { pattern } => here(format!("text that matches {pattern}")),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => here("one of the forms that the schema allows".into()),
        Kind::OneOfMultipleValid { .. } => here("exactly one of the forms that the schema allows".into()),
        _ => at(path.clone(), error.masked().to_string()),
    }
}

/// `edits[1].old_string`.
fn path_of(error: &ValidationError<'_>) -> String {
    let mut path = String::new();
    for segment in error.instance_path() {
        path = match segment {
            jsonschema::paths::LocationSegment::Property(name) => member(&path, &name),
            jsonschema::paths::LocationSegment::Index(index) => format!("{path}[{index}]"),
        };
    }
    path
}

fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => with_article(*one).into(),
        TypeKind::Multiple(several) => several.iter().map(with_article).collect::<Vec<_>>().join(" or "),
    }
}

fn with_article(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

/// The value that is there: small values themselves, of others their kind.
fn value_words(value: &Value) -> String {
    const SHOWN_CHARACTERS_MAX: usize = 40;
    match value {
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".into(),
        Value::String(text) if text.chars().count() > SHOWN_CHARACTERS_MAX => format!("a string of {} characters", text.chars().count()),
        Value::String(_) => format!("the string {value}"),
        small => small.to_string(),
    }
}

fn list(options: &Value) -> String {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    options.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(schema: &str, input: &str) -> Vec<String> {
        let json = Json::trusted(format!(r#"{{"name":"T","input_schema":{schema}}}"#));
        let mut environment = Environment { tools: vec![ToolDefinition::new("T", None, json)], ..Environment::default() };
        attach(&mut environment);
        let problems = environment.validators.problems("T", &Json::trusted(input));
        problems.into_iter().map(|SchemaProblem { path, expected }| format!("{path}: {expected}")).collect()
    }

    const EDITS: &str = r#"{"type":"object","properties":{"file_path":{"type":"string"},"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{"old":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["old"],"additionalProperties":false}},"mode":{"enum":["a","b"]},"either":{"type":["string","null"]}},"required":["file_path"]}"#;

    #[test]
    fn t_21_each_problem_has_its_path_and_what_was_expected() {
        let table: [(&str, &[&str]); 9] = [
            (r#"{"file_path":"/w/a","edits":[{"old":"x"}],"mode":"a","either":null}"#, &[]),
            ("{}", &["file_path: required, and missing"]),
            (r#"{"file_path":5}"#, &["file_path: expected a string, found 5"]),
            (r#"{"file_path":"a","edits":[]}"#, &["edits: expected at least 1 items, found an array of 0"]),
            (
                r#"{"file_path":"a","edits":[{"old":"x"},{"new":"y"}]}"#,
                &["edits[1].new: there is no such member", "edits[1].old: required, and missing"],
            ),
            (r#"{"file_path":"a","edits":[{"old":"x","n":0}]}"#, &["edits[0].n: expected at least 1, found 0"]),
            (r#"{"file_path":"a","mode":"c"}"#, &[r#"mode: expected one of "a", "b", found the string "c""#]),
            (r#"{"file_path":"a","either":1}"#, &["either: expected null or a string, found 1"]),
            (
                r#"{"edits":5,"mode":1}"#,
                &["edits: expected an array, found 5", "file_path: required, and missing", r#"mode: expected one of "a", "b", found 1"#],
            ),
        ];
        for (input, expected) in table {
            assert_eq!(problems(EDITS, input), expected, "{input}");
        }
    }

    #[test]
    fn t_21_what_cannot_be_validated_is_allowed() {
        for schema in ["{}", r#"{"$ref":"https://example.com/x.json"}"#, r#"{"type":"nonsense"}"#, "5", "true"] {
            assert_eq!(problems(schema, r#"{"a":1}"#), [] as [&str; 0], "{schema}");
        }
        let mut environment = Environment { tools: vec![ToolDefinition::new("T", None, Json::trusted("{}"))], ..Environment::default() };
        attach(&mut environment);
        assert_eq!(environment.validators.problems("T", &Json::trusted("{}")), []);
        assert_eq!(environment.validators.problems("U", &Json::trusted("{}")), []);
    }
}
