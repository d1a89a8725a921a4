//! Whether scripted tool uses are what they are meant to be: a tool that there is, an input that fits, unless the scenario says otherwise (F-10, T-2, T-21).
//!
//! A tool named `Raed` is answered with an error, and a key that no schema knows is dropped by the tool: both runs look as if they had shown something.

use alloc::collections::BTreeMap;

use serde_json::{Map, Value};

use super::evidence::did_you_mean;
use super::{Key, PlayedRun, Problem, is_judged_elsewhere};
use crate::engine::contract::Environment;
use crate::prelude::*;
use crate::scenario::parse::nearest::nearest;
use crate::scenario::script::Origin;
use crate::scenario::statement::{ScriptedToolUse, Step, tool_uses};
use crate::scenario::types::{Slip, TurnBlock};
use crate::wire::block::ToolInput;

/// The tool of which the engine makes its own copy for structured output: its schema is the session's.
const STRUCTURED_OUTPUT: &str = "StructuredOutput";

/// Members of a schema that may allow keys which `properties` does not list.
const OPEN: [&str; 9] =
    ["additionalProperties", "patternProperties", "unevaluatedProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];

/// What is found of one tool use.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    slip: Slip,
    message: String,
    help: String,
}

/// What is wrong with the scripted tool uses of a file. One that says what it gets wrong must do so in some run.
pub(super) fn problems(runs: &[PlayedRun<'_>]) -> Vec<Problem> {
    let mut wrong = Vec::new();
    let mut marked: BTreeMap<(Key, Arc<str>), (bool, Problem)> = BTreeMap::new();
    for run in runs {
        for tool_use in tool_uses(&run.setup.scenario) {
            let TurnBlock::Tool { name, input, slip, .. } = tool_use.block else { continue };
            if is_judged_elsewhere(run.places, &tool_use.path) || depends_on_agent(run, &tool_use, name) {
                continue;
            }
            let found = slip_of(&run.setup.environment, name, input);
            match (slip, found) {
                (None, Some(Found { message, help, .. })) => wrong.push(Problem::at(run.places, &tool_use.path, message, help)),
                (None, None) => (),
                (Some(slip), found) => {
                    let as_said = found.is_some_and(|found| found.slip == *slip);
                    let (message, help) = not_as_marked(*slip, name);
                    let problem = Problem::at(run.places, &tool_use.path, message, help);
                    let key = (run.places.key(&tool_use.path), tool_use.id.clone());
                    marked.entry(key).or_insert((false, problem)).0 |= as_said;
                }
            }
        }
    }
    wrong.extend(runs.iter().flat_map(observables));
    wrong.extend(marked.into_values().filter(|(as_said, _)| !as_said).map(|(_, problem)| problem));
    wrong
}

/// `observable` takes a member of the input that the tool's schema lacks: it would never add anything.
fn observables(run: &PlayedRun<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for tool in &run.setup.scenario.tools {
        let schema = &tool.definition.json.to_value()["input_schema"];
        for (nth, observable) in tool.definition.observable.iter().enumerate() {
            let input = Value::Object([(observable.from.to_string(), Value::Null)].into_iter().collect());
            let name = &tool.definition.name;
            let path = [Step::Key("tool"), Step::Where("name", name.clone()), Step::Key("observable"), Step::Nth(nth), Step::Key("from")];
            if let Some(problem) = unknown_key(schema, &input).filter(|_| !is_judged_elsewhere(run.places, &path.to_vec())) {
                let message = format!("`observable` takes what the input of `{name}` never holds: {problem}");
                problems.push(Problem::at(run.places, &path.to_vec(), message, String::from("name a key of the tool's `input_schema`")));
            }
        }
    }
    problems
}

fn not_as_marked(slip: Slip, name: &str) -> (String, String) {
    match slip {
        Slip::UnknownTool => (
            format!("there is a tool `{name}`, and this use of it is marked as `unknown`"),
            String::from("remove `unknown = true`, or name another tool"),
        ),
        Slip::InvalidInput => (
            format!("this input fits the schema of `{name}`, and is marked as `invalid`"),
            String::from("remove `invalid = true`, or write an input that does not fit"),
        ),
    }
}

/// Agents have fewer tools than the root, and which is the engine's affair: those that make agents, and the list that is the user's.
fn depends_on_agent(run: &PlayedRun<'_>, tool_use: &ScriptedToolUse<'_>, name: &str) -> bool {
    let is_the_roots = run.setup.environment.tool(name).is_some_and(|tool| tool.agent.is_some()) || name == "TodoWrite";
    matches!(tool_use.place.origin, Origin::Agent(_)) && is_the_roots
}

fn slip_of(environment: &Environment, name: &str, input: &str) -> Option<Found> {
    if name == STRUCTURED_OUTPUT && environment.settings.session.json_schema.is_some() {
        return None;
    }
    let Some(tool) = environment.tool(name) else {
        let known: Vec<&str> = environment.tools.iter().map(|tool| &*tool.name).collect();
        let near = nearest(name, known.iter().copied());
        let message = format!("there is no tool `{name}`{}", did_you_mean(near));
        let tools = if known.is_empty() { String::from("none") } else { known.join(", ") };
        let help = format!("tools here: {tools}; if the model is to get this wrong, add `unknown = true` to the tool use");
        return Some(Found { slip: Slip::UnknownTool, message, help });
    };
    let invalid = |problem: String| {
        let help = String::from("if the model is to get this wrong, add `invalid = true` to the tool use");
        Some(Found { slip: Slip::InvalidInput, message: format!("this input of `{name}` does not fit its schema: {problem}"), help })
    };
    let input = match ToolInput::read(if input.trim().is_empty() { "{}" } else { input }) {
        ToolInput::Valid(input) => input,
        ToolInput::Invalid { error, .. } => return invalid(format!("it is no JSON object ({error})")),
    };
    if let Some(problem) = environment.validators.problems(name, &input).first() {
        let path = if problem.path.is_empty() { String::new() } else { format!("`{}`: ", problem.path) };
        return invalid(format!("{path}{}", problem.expected));
    }
    let definition = tool.json.to_value();
    unknown_key(&definition["input_schema"], &input.to_value()).and_then(invalid)
}

/// The first key that the schema lacks, where it lists all that it has.
fn unknown_key(schema: &Value, input: &Value) -> Option<String> {
    match (schema, input) {
        (Value::Object(schema), Value::Object(members)) => {
            let properties = schema.get("properties").and_then(Value::as_object)?;
            let is_open = OPEN.iter().any(|key| schema.get(*key).is_some_and(|value| *value != Value::Bool(false)));
            members.iter().find_map(|(key, value)| match properties.get(key) {
                Some(schema) => unknown_key(schema, value),
                None => (!is_open).then(|| no_such_key(key, properties)),
            })
        }
        (Value::Object(schema), Value::Array(items)) => items.iter().find_map(|item| unknown_key(schema.get("items")?, item)),
        _ => None,
    }
}

fn no_such_key(key: &str, properties: &Map<String, Value>) -> String {
    let near = nearest(key, properties.keys().map(String::as_str));
    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
    format!("it has no key `{key}`{}", if near.is_some() { did_you_mean(near) } else { format!("; keys there: {}", known.join(", ")) })
}
