//! Results of tools, held against those of the scenario: commands that were stopped, and parallel tool uses whose results changed places (O-20).
//!
//! A client's tools are its own. A result counts only where it has words of the scenario that it could have from nowhere else.

use super::super::run_history::RunExchange;
use super::is_telling;
use crate::prelude::*;
use crate::stores::conversation::StoredMessage;
use crate::stores::rules::{joined_words, quoted, result_texts};
use crate::stores::tool_result_text;
use crate::world::setup::RunSetup;

/// A tool use, with the result that the scenario gives it.
#[derive(Debug)]
pub(super) struct ScriptedResult {
    id: Arc<str>,
    text: String,
}

/// The results that the scenario gives to the tool uses of an answer. Those without text are left out.
pub(super) fn scripted(setup: &RunSetup, answer: &RunExchange) -> Vec<ScriptedResult> {
    let of_call = |id: &Arc<str>| {
        let outcome = setup.outcome_of(setup.scripted_id(id), None)?;
        let text = joined_words(&tool_result_text(outcome.content.as_ref()?.as_str()));
        Some(ScriptedResult { id: id.clone(), text }).filter(|result| !result.text.is_empty())
    };
    answer.calls().filter_map(|call| of_call(&call.id)).collect()
}

/// The commands that were stopped by `what`, with a result that looks like a success: the beginning of the whole one, or nothing at all.
pub(super) fn unmarked_stops(name: &str, history: &[StoredMessage], stopped: &[ScriptedResult], what: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (id, text, is_error) in result_texts(history) {
        let Some(whole) = stopped.iter().find(|scripted| scripted.id == *id) else { continue };
        let text = joined_words(&text);
        if !is_error && whole.text != text && whole.text.starts_with(&text) {
            let quoted = quoted(&text);
            found.push(format!("O-20: tool call {id} was stopped by {what}, and its result in {name} does not say so: {quoted}"));
        }
    }
    found
}

/// Two tool uses of one answer that have each other's results, or each the results of both.
pub(super) fn mixed(name: &str, history: &[StoredMessage], scripted: &[ScriptedResult]) -> Vec<String> {
    let texts: Vec<(&Arc<str>, String)> = result_texts(history).map(|(id, text, _)| (id, joined_words(&text))).collect();
    let given = |scripted: &ScriptedResult| texts.iter().rev().find(|(id, _)| **id == scripted.id).map(|(_, text)| &**text);
    let own: Vec<&ScriptedResult> = scripted.iter().filter(|scripted| is_telling(&scripted.text)).collect();
    let mut found = Vec::new();
    for (at, one) in own.iter().enumerate() {
        for other in &own[at + 1..] {
            if one.text.contains(&other.text) || other.text.contains(&one.text) {
                continue;
            }
            let (Some(of_one), Some(of_other)) = (given(one), given(other)) else { continue };
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
