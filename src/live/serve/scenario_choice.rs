//! Which of several scenarios a request is for: by a header, by the path before `/v1`, or by its first message (K-6).

use serde_json::Value;

use super::ScenarioOfServer;
use super::message::ReceivedRequest;
use reenact_wire::block::BlockKind;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// The header that names the scenario.
pub const SCENARIO_HEADER: &str = "x-reenact-scenario";

/// The position of the scenario that a request is for.
///
/// # Errors
/// No scenario fits, or several do: the error, with advice.
pub(super) fn choose(scenarios: &[ScenarioOfServer], arrived: &ReceivedRequest) -> Result<usize, String> {
    if let [_] = scenarios {
        return Ok(0);
    }
    let incoming = &arrived.incoming;
    let named = |name: &str| scenarios.iter().position(|scenario| *scenario.name == *name);
    if let Some(name) = &arrived.scenario {
        return named(name).ok_or_else(|| format!("there is no scenario `{name}`: {}", advice(scenarios)));
    }
    if let Some(at) = by_path(scenarios, &incoming.path) {
        return Ok(at);
    }
    let before = incoming.path.split("/v1").next().unwrap_or_default().trim_matches('/');
    match (before, &*incoming.method) {
        // Who only looks around is told the same by all of them.
        ("", "GET" | "HEAD") => Ok(0),
        ("", _) => by_first_message(scenarios, &incoming.body),
        _ => Err(format!("there is no scenario at the path `{before}`: {}", advice(scenarios))),
    }
}

/// The scenario whose name the path begins with. A name may be the beginning of another: the longest counts.
fn by_path(scenarios: &[ScenarioOfServer], path: &str) -> Option<usize> {
    let is_below = |name: &str| path.strip_prefix('/').and_then(|path| path.strip_prefix(name)).is_some_and(|rest| rest.starts_with('/'));
    let named = scenarios.iter().enumerate().filter(|(_, scenario)| !scenario.name.is_empty() && is_below(&scenario.name));
    named.max_by_key(|(_, scenario)| scenario.name.len()).map(|(at, _)| at)
}

/// The scenario whose first prompt the first message has. Of several the longest prompt counts: it says the most.
fn by_first_message(scenarios: &[ScenarioOfServer], body: &[u8]) -> Result<usize, String> {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = texts(&request["messages"][0]["content"]);
    let fitting = scenarios.iter().enumerate().filter_map(|(at, scenario)| {
        let prompt = first_prompt(&scenario.setup).filter(|prompt| said.iter().any(|text| text.contains(&**prompt)))?;
        Some((prompt.len(), at))
    });
    let fitting: Vec<(usize, usize)> = fitting.collect();
    let longest = fitting.iter().map(|(length, _)| *length).max();
    match fitting.iter().filter(|(length, _)| Some(*length) == longest).collect::<Vec<_>>()[..] {
        [] => Err(format!("the first message is no scenario's first prompt: {}", advice(scenarios))),
        [(_, at)] => Ok(*at),
        _ => Err(format!("the first message is the first prompt of several scenarios: {}", advice(scenarios))),
    }
}

fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str().map(String::from)).collect(),
        _ => Vec::new(),
    }
}

/// The user's first text; `None` where a scenario has no such text.
fn first_prompt(setup: &RunSetup) -> Option<Arc<str>> {
    let blocks = &setup.scenario.prompts.first()?.content;
    let text = blocks.iter().find_map(|block| match block.kind() {
        BlockKind::Text(text) => Some(Arc::from(&**text)),
        _ => None,
    });
    text.filter(|text: &Arc<str>| !text.trim().is_empty())
}

fn advice(scenarios: &[ScenarioOfServer]) -> String {
    let names: Vec<&str> = scenarios.iter().map(|scenario| &*scenario.name).collect();
    format!("send the header `{SCENARIO_HEADER}: NAME`, or add `/NAME` to the base URL; the names are {}", names.join(", "))
}
