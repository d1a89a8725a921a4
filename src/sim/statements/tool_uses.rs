//! Whether scripted tool uses are what they are meant to be: a tool that there is, an input that fits, unless the scenario says otherwise (F-10, T-2,
//! T-21).
//!
//! A tool named `Raed` is answered with an error, and a key that no schema knows is dropped by the tool: both runs look as if they had shown
//! something.

use alloc::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::evidence::did_you_mean;
use super::{PlaceKey, PlayedRun, StatementProblem, is_judged_elsewhere};
use reenact_engine::agents;
use reenact_engine::contract::{Effect, Environment};
use reenact_engine::emission::Emission;
use reenact_scenario::parse::nearest::nearest;
use reenact_scenario::script::AnswerOrigin;
use reenact_scenario::statement::{PathStep, ScriptedToolUse, tool_uses};
use reenact_scenario::types::{ToolUseSlip, TurnBlock};
use reenact_transcript::event::EventKind;
use reenact_wire::block::ToolInput;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The tool of which the engine makes its own copy for structured output: its schema is the session's.
const STRUCTURED_OUTPUT: &str = "StructuredOutput";

/// Members of a schema that may allow keys which `properties` does not list.
const OPEN: [&str; 9] =
    ["additionalProperties", "patternProperties", "unevaluatedProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];

/// The findings about one tool use.
#[derive(Clone, Debug, PartialEq)]
struct ToolUseFindings {
    slip: ToolUseSlip,
    /// Whether the tool runs all the same.
    runs: bool,
    message: String,
    help: String,
}

/// The findings of all runs about a tool use with a marked mistake.
struct MarkedToolUse {
    /// Whether it gets it wrong in some run.
    is_as_said: bool,
    /// Whether it can have a result of its own in some run.
    runs: bool,
    not_as_said: StatementProblem,
    /// The mistake in the result that the scenario gives it; `None` when it gives none.
    never_used: Option<StatementProblem>,
}

/// The mistakes in the scripted tool uses of each run.
pub(super) fn in_each(runs: &[PlayedRun<'_>]) -> Vec<StatementProblem> {
    let of_run = |(nth, run): (usize, &PlayedRun<'_>)| {
        let wrong = looked_at(run).into_iter().filter_map(|(tool_use, found)| match (tool_use.block, found) {
            (TurnBlock::Tool { slip: None, .. }, Some(ToolUseFindings { message, help, .. })) => {
                Some(StatementProblem::at(run.places, &tool_use.path, message, help))
            }
            _ => None,
        });
        let problems: Vec<StatementProblem> = wrong.chain(observables(run)).collect();
        problems.into_iter().map(move |problem| StatementProblem { run: nth, ..problem })
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

/// The tool uses of a run that can be looked at, and what is found of each.
fn looked_at<'a>(run: &PlayedRun<'a>) -> Vec<(ScriptedToolUse<'a>, Option<ToolUseFindings>)> {
    let offers = offers(run);
    let mut looked_at = Vec::new();
    for tool_use in tool_uses(&run.setup.scenario) {
        let TurnBlock::Tool { name, input, .. } = tool_use.block else { continue };
        let offered = offers.get(&tool_use.id);
        // Which tools an agent has is the engine's affair: as long as it has asked for nothing, nobody knows.
        if is_judged_elsewhere(run.places, &tool_use.path) || (offered.is_none() && depends_on_agent(run, &tool_use, name)) {
            continue;
        }
        let missing = offered.filter(|offered| !offered.contains(name));
        let is_an_agents = matches!(tool_use.place.origin, AnswerOrigin::Agent(_));
        let found = match missing {
            Some(offered) if is_an_agents => Some(unknown_tool(name, offered.iter().map(|name| &**name))),
            _ => slip_of(&run.setup.environment, name, input).or_else(|| missing.map(|_| taken_away(name))),
        };
        looked_at.push((tool_use, found));
    }
    looked_at
}

/// Tool uses that say what they get wrong, and do so in no run.
pub(super) fn marked_in_vain(runs: &[PlayedRun<'_>]) -> Vec<StatementProblem> {
    let mut marked: BTreeMap<(PlaceKey, Arc<str>), MarkedToolUse> = BTreeMap::new();
    for run in runs {
        for (tool_use, found) in looked_at(run) {
            let TurnBlock::Tool { name, slip: Some(slip), outcome, .. } = tool_use.block else { continue };
            let problem = |(message, help)| StatementProblem::at(run.places, &tool_use.path, message, help);
            let key = (run.places.key(&tool_use.path), tool_use.id.clone());
            let known = marked.entry(key).or_insert_with(|| MarkedToolUse {
                is_as_said: false,
                runs: false,
                not_as_said: problem(not_as_marked(*slip, name)),
                never_used: outcome.as_ref().map(|_| problem(never_used(*slip, name))),
            });
            known.runs |= found.as_ref().is_none_or(|found| found.runs);
            known.is_as_said |= found.is_some_and(|found| found.slip == *slip);
        }
    }
    let problem = |marked: MarkedToolUse| match (marked.is_as_said, marked.runs) {
        (false, _) => Some(marked.not_as_said),
        (true, false) => marked.never_used,
        (true, true) => None,
    };
    marked.into_values().filter_map(problem).collect()
}

fn never_used(slip: ToolUseSlip, name: &str) -> (String, String) {
    let why = match slip {
        ToolUseSlip::UnknownTool => format!("there is no tool `{name}`"),
        ToolUseSlip::InvalidInput => format!("the input of `{name}` is refused"),
    };
    (format!("{why}, so the result and the times of this tool use are never used"), String::from("keep the mark, and remove the rest"))
}

/// The tools that the request offered in answer to which a tool use came, by its scripted id. Only where these may be others than the scenario's: in
/// agents, and behind a `[[change]]`.
fn offers(run: &PlayedRun<'_>) -> BTreeMap<Arc<str>, BTreeSet<Arc<str>>> {
    let scenario = &run.setup.scenario;
    let mut offers = BTreeMap::new();
    let is_an_agents = |tool_use: &ScriptedToolUse<'_>| matches!(tool_use.place.origin, AnswerOrigin::Agent(_));
    if scenario.settings.session.changes.is_empty() && !tool_uses(scenario).iter().any(is_an_agents) {
        return offers;
    }
    let mut latest: BTreeMap<&str, Option<Json>> = BTreeMap::new();
    let mut by_request: BTreeMap<String, Option<Json>> = BTreeMap::new();
    for event in run.transcript.events.iter() {
        match &event.what {
            EventKind::Request { id, request } => {
                let tools = latest.entry(event.agent.tool_use_id().unwrap_or_default()).or_default();
                if let Some(frame) = &request.frame {
                    tools.clone_from(&frame.tools);
                }
                by_request.insert(event.agent.key(*id), tools.clone());
            }
            EventKind::Effect(Effect::Emit(Emission::Assistant(message))) => {
                let Some(tool_use) = message.block.as_tool_use() else { continue };
                let Some(tools) = by_request.get(&event.agent.key(message.id)) else { continue };
                let list = tools.as_ref().map(Json::to_value).unwrap_or_default();
                let names = list.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).map(Arc::from);
                offers.insert(run.setup.scripted_id(&tool_use.id).into(), names.collect());
            }
            _ => (),
        }
    }
    offers
}

fn taken_away(name: &str) -> ToolUseFindings {
    let message = format!("the request does not offer `{name}`: a [[change]] has taken it away");
    let help = String::from("let the [[change]] offer it; if the model should make this mistake, add `unknown = true` to the tool use");
    ToolUseFindings { slip: ToolUseSlip::UnknownTool, runs: true, message, help }
}

/// `observable` takes a member of the input that the tool's schema lacks: it would never add anything.
fn observables(run: &PlayedRun<'_>) -> Vec<StatementProblem> {
    let mut problems = Vec::new();
    for tool in &run.setup.scenario.tools {
        let schema = &tool.definition.json.to_value()["input_schema"];
        for (nth, observable) in tool.definition.observable.iter().enumerate() {
            let input = Value::Object([(observable.from.to_string(), Value::Null)].into_iter().collect());
            let name = &tool.definition.name;
            let path = [
                PathStep::Key("tool"),
                PathStep::Where("name", name.clone()),
                PathStep::Key("observable"),
                PathStep::Nth(nth),
                PathStep::Key("from"),
            ];
            if let Some(problem) = unknown_key(schema, &input).filter(|_| !is_judged_elsewhere(run.places, &path.to_vec())) {
                let message = format!("`observable` names a key that the input of `{name}` never has: {problem}");
                problems.push(StatementProblem::at(
                    run.places,
                    &path.to_vec(),
                    message,
                    String::from("name a key of the tool's `input_schema`"),
                ));
            }
        }
    }
    problems
}

fn not_as_marked(slip: ToolUseSlip, name: &str) -> (String, String) {
    match slip {
        ToolUseSlip::UnknownTool => (
            format!("tool `{name}` exists, and this use of it is marked as `unknown`"),
            String::from("remove `unknown = true`, or name another tool"),
        ),
        ToolUseSlip::InvalidInput => (
            format!("this input fits the schema of `{name}`, and is marked as `invalid`"),
            String::from("remove `invalid = true`, or write an input that does not fit"),
        ),
    }
}

/// Agents have fewer tools than the root: not those that make agents, nor the list that is the user's.
fn depends_on_agent(run: &PlayedRun<'_>, tool_use: &ScriptedToolUse<'_>, name: &str) -> bool {
    let is_the_roots = run.setup.environment.agent_tool(name).is_some() || name == "TodoWrite";
    matches!(tool_use.place.origin, AnswerOrigin::Agent(_)) && is_the_roots
}

fn slip_of(environment: &Environment, name: &str, input: &str) -> Option<ToolUseFindings> {
    if name == STRUCTURED_OUTPUT && environment.settings.session.json_schema.is_some() {
        return None;
    }
    let Some(tool) = environment.tool(name) else {
        return Some(unknown_tool(name, environment.tools.iter().map(|tool| &*tool.name)));
    };
    let checks = environment.settings.pipeline.check_inputs;
    let invalid = |problem: String, runs: bool| {
        let help = String::from("if the model should make this mistake, add `invalid = true` to the tool use");
        Some(ToolUseFindings {
            slip: ToolUseSlip::InvalidInput,
            runs,
            message: format!("this input of `{name}` does not fit its schema: {problem}"),
            help,
        })
    };
    let input = match ToolInput::read(if input.trim().is_empty() { "{}" } else { input }) {
        ToolInput::Valid(input) => input,
        ToolInput::Invalid { error, .. } => return invalid(format!("it is not a JSON object ({error})"), !checks),
    };
    if let Some(problem) = environment.validators.problems(name, &input).first() {
        let path = if problem.path.is_empty() { String::new() } else { format!("`{}`: ", problem.path) };
        return invalid(format!("{path}{}", problem.expected), !checks);
    }
    if let Some(problem) = tool.agent.as_ref().and_then(|_| agents::input_problems(&input.to_value()).first().copied()) {
        return invalid(problem.into(), false);
    }
    let definition = tool.json.to_value();
    unknown_key(&definition["input_schema"], &input.to_value()).and_then(|problem| invalid(problem, true))
}

fn unknown_tool<'a>(name: &str, here: impl Iterator<Item = &'a str>) -> ToolUseFindings {
    let known: Vec<&str> = here.collect();
    let message = format!("there is no tool `{name}`{}", did_you_mean(nearest(name, known.iter().copied())));
    let tools = if known.is_empty() { String::from("none") } else { known.join(", ") };
    let help = format!("tools here: {tools}; if the model should make this mistake, add `unknown = true` to the tool use");
    ToolUseFindings { slip: ToolUseSlip::UnknownTool, runs: false, message, help }
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
