//! Results of tools, held against those of the scenario: commands that were stopped, parallel tool uses whose results changed places (O-20), and texts
//! of results that are lost (O-24).
//!
//! A client's tools are its own. A result counts only where it has words of the scenario that it could have from nowhere else.

use serde_json::Value;

use super::super::ClientOutput;
use super::super::call_result::CallResult;
use super::super::run_history::RunExchange;
use super::is_telling;
use reenact_stores::conversation::StoredMessage;
use reenact_stores::rules::{quoted, result_texts, tells_of_stop};
use reenact_wire::block::{ToolUse, joined_text};
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// A longer text may be cut by a client.
const TEXT_CHARACTERS_MAX: usize = 200;

/// A tool use, with the result that the scenario gives it.
#[derive(Debug)]
pub(super) struct ScriptedResult {
    id: Arc<str>,
    text: String,
}

/// How the tools of an answer were stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolStop<'a> {
    /// The number of the answer.
    pub(super) answer: u32,
    /// By what.
    pub(super) what: &'static str,
    /// Whether a tool was seen to run then.
    pub(super) is_at_marker: bool,
    /// The results of the run in which nothing was done.
    pub(super) usual: &'a [CallResult],
}

/// The text of a tool's result that was seen.
#[derive(Debug)]
pub(super) struct SeenText {
    result: ScriptedResult,
    /// The request that has it; `None` for the output.
    request: Option<String>,
}

impl ScriptedResult {
    /// Whether its text says whose it is, and is short enough to be kept as it is.
    fn is_known_by_text(&self) -> bool {
        is_telling(&self.text) && self.text.chars().nth(TEXT_CHARACTERS_MAX).is_none()
    }

    /// Whether it has its text when nothing is done.
    fn has_usual(&self, usual: &[CallResult]) -> bool {
        self.is_known_by_text() && usual.iter().any(|result| result.id == self.id && result.text.contains(&self.text))
    }

    /// Whether a history has it with its text.
    fn is_in(&self, history: &[StoredMessage]) -> bool {
        result_texts(history).any(|(id, text, _)| *id == self.id && joined_words(&text).contains(&self.text))
    }

    /// Whether the output has its text, and nothing else that is printed could have it: `others` are the texts of prompts, answers and calls.
    fn is_printed(&self, output: &ClientOutput, others: &[String]) -> bool {
        let is_printed = || output.lines.iter().any(|line| line_texts(line).iter().any(|text| text.contains(&self.text)));
        others.iter().all(|other| !other.contains(&self.text)) && is_printed()
    }
}

/// The results in a history.
pub(super) fn given(history: &[StoredMessage]) -> Vec<CallResult> {
    result_texts(history).map(|(id, text, _)| CallResult { id: id.clone(), text: joined_words(&text) }).collect()
}

/// The last result of a tool call.
fn last_of<'r>(given: &'r [CallResult], id: &str) -> Option<&'r CallResult> {
    given.iter().rfind(|result| *result.id == *id)
}

/// The results that the scenario gives to the tool uses of an answer. Those without text are left out.
pub(super) fn scripted(setup: &RunSetup, answer: &RunExchange) -> Vec<ScriptedResult> {
    let of_call = |id: &Arc<str>| {
        let outcome = setup.outcome_of(setup.scripted_id(id), None)?;
        let text = joined_words(&joined_text(outcome.content.as_ref()?.as_str()));
        Some(ScriptedResult { id: id.clone(), text }).filter(|result| !result.text.is_empty())
    };
    answer.calls().filter_map(|call| of_call(&call.id)).collect()
}

/// The commands of an answer whose results look like a success after a stop. One that was seen to run has the beginning of its whole text, or nothing
/// at all. Any other lacks the text that it has when nothing is done, and tells of no stop in its place.
pub(super) fn unmarked_stops(name: &str, history: &[StoredMessage], scripted: &[ScriptedResult], stop: ToolStop<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for (id, text, is_error) in result_texts(history) {
        let Some(whole) = scripted.iter().find(|scripted| scripted.id == *id).filter(|_| !is_error) else { continue };
        let text = joined_words(&text);
        let is_cut = stop.is_at_marker && whole.text != text && whole.text.starts_with(&text);
        let is_silent = whole.has_usual(stop.usual) && !text.contains(&whole.text) && !tells_of_stop(&text);
        let (what, quoted) = (stop.what, quoted(&text));
        if is_cut {
            found.push(format!("O-20: tool call {id} was stopped by {what}, and its result in {name} does not say so: {quoted}"));
        } else if is_silent {
            found.push(format!("O-20: the result of tool call {id} in {name} has neither its text nor a word of {what}: {quoted}"));
        }
    }
    found
}

/// The texts of results that were seen in a run.
pub(super) fn seen_texts(
    scripted: Vec<ScriptedResult>,
    requests: &[&RunExchange],
    output: &ClientOutput,
    others: &[String],
) -> Vec<SeenText> {
    let seen = |result: ScriptedResult| {
        let request = requests.iter().find(|exchange| result.is_in(&exchange.messages)).map(|exchange| exchange.name());
        (request.is_some() || result.is_printed(output, others)).then_some(SeenText { result, request })
    };
    scripted.into_iter().filter(ScriptedResult::is_known_by_text).filter_map(seen).collect()
}

/// Whether a history has one of the texts.
pub(super) fn has_any(history: &[StoredMessage], seen: &[SeenText]) -> bool {
    seen.iter().any(|seen| seen.result.is_in(history))
}

/// The results in a history whose text was seen elsewhere, and is not in them. `None` where it has none that could be compared.
pub(super) fn lost_texts(name: &str, history: &[StoredMessage], seen: &[SeenText]) -> Option<Vec<String>> {
    let given = given(history);
    let is_elsewhere = |seen: &&SeenText| seen.request.as_deref() != Some(name);
    let compared: Vec<(&SeenText, &CallResult)> =
        seen.iter().filter(is_elsewhere).filter_map(|seen| Some((seen, last_of(&given, &seen.result.id)?))).collect();
    let lost = |(SeenText { result, request }, given): &(&SeenText, &CallResult)| {
        let (id, text, origin) = (&result.id, quoted(&result.text), request.as_deref().unwrap_or("the output"));
        format!("O-24: the text {text} of tool call {id} is lost: {origin} has it, and its result in {name} is {}", quoted(&given.text))
    };
    // What a command had printed when it was stopped need not be kept by who says so.
    let is_excused = |seen: &SeenText, given: &CallResult| seen.request.is_none() && tells_of_stop(&given.text);
    let is_lost = |(seen, given): &&(&SeenText, &CallResult)| !seen.result.is_in(history) && !is_excused(seen, given);
    (!compared.is_empty()).then(|| compared.iter().filter(is_lost).map(lost).collect())
}

/// Tool calls whose command prints their text for certain, and whose results lack it. Another call of the same answer and the same tool has its own,
/// so the client's tool does what the scenario says. `None` where there is no such call.
pub(super) fn unprinted(name: &str, history: &[StoredMessage], calls: &[&ToolUse], scripted: &[ScriptedResult]) -> Option<Vec<String>> {
    let tool = |result: &ScriptedResult| calls.iter().find(|call| call.id == result.id).map(|call| &call.name);
    let has_neighbour = |result: &&ScriptedResult| {
        let is_neighbour = |other: &ScriptedResult| other.id != result.id && tool(other) == tool(result) && other.is_in(history);
        scripted.iter().any(|other| other.is_known_by_text() && is_neighbour(other))
    };
    let is_printed = |result: &&ScriptedResult| calls.iter().any(|call| call.id == result.id && prints(call, &result.text));
    let printed: Vec<&ScriptedResult> =
        scripted.iter().filter(|result| result.is_known_by_text()).filter(is_printed).filter(has_neighbour).collect();
    let lost = |result: &&ScriptedResult| {
        let (id, given, _) = result_texts(history).filter(|(id, _, is_error)| **id == result.id && !is_error).last()?;
        let (text, is_lost) = (quoted(&result.text), !result.is_in(history) && !tells_of_stop(&given));
        is_lost.then(|| format!("O-24: the text {text} that tool call {id} prints is not in its result in {name}: {}", quoted(&given)))
    };
    (!printed.is_empty()).then(|| printed.iter().filter_map(lost).collect())
}

/// Whether a part of a call's command is `echo` and this text.
fn prints(call: &ToolUse, text: &str) -> bool {
    let is_echo = |part: &str| part.trim().strip_prefix("echo ").is_some_and(|said| said.trim_matches(['"', '\'', ' ']) == text);
    input_texts(call).iter().any(|command| command.split(';').any(is_echo))
}

/// The texts in the input of a call, with single blanks.
pub(super) fn input_texts(call: &ToolUse) -> Vec<String> {
    serde_json::from_str(call.input.as_str()).map(|input| strings(&input)).unwrap_or_default()
}

/// The texts in a printed line: those of JSON, or the line.
fn line_texts(line: &str) -> Vec<String> {
    serde_json::from_str(line).map_or_else(|_| vec![joined_words(line)], |line| strings(&line))
}

/// All texts in a value, with single blanks.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![joined_words(text)],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Two tool uses of one answer that have each other's results, or each the results of both.
pub(super) fn mixed(name: &str, history: &[StoredMessage], scripted: &[ScriptedResult]) -> Vec<String> {
    let given = given(history);
    let text = |scripted: &ScriptedResult| last_of(&given, &scripted.id).map(|result| &*result.text);
    let own: Vec<&ScriptedResult> = scripted.iter().filter(|scripted| is_telling(&scripted.text)).collect();
    let mut found = Vec::new();
    for (at, one) in own.iter().enumerate() {
        for other in &own[at + 1..] {
            if one.text.contains(&other.text) || other.text.contains(&one.text) {
                continue;
            }
            let (Some(of_one), Some(of_other)) = (text(one), text(other)) else { continue };
            let has_both = |text: &str| text.contains(&one.text) && text.contains(&other.text);
            if of_one == other.text && of_other == one.text {
                found.push(format!("O-20: tool calls {} and {} have each other's results in {name}", one.id, other.id));
            } else if has_both(of_one) && has_both(of_other) {
                found.push(format!("O-20: tool calls {} and {} have the results of both in {name}", one.id, other.id));
            }
        }
    }
    found
}
