//! Answers go back as they came: no text twice, and no tool call that never came whole (O-28).

use super::super::run_history::RunExchange;
use super::is_telling;
use reenact_stores::conversation::StoredMessage;
use reenact_stores::rules::quoted;
use reenact_wire::block::{BlockKind, Role};
use reenact_wire::prelude::*;

/// The problems of a history that a client sends or keeps, by all answers that it was given. `name` is that of the history.
pub(super) fn problems(name: &str, history: &[StoredMessage], answers: &[&RunExchange]) -> Vec<String> {
    doubled_texts(name, history, answers).into_iter().chain(cut_calls(name, history, answers)).collect()
}

fn doubled_texts(name: &str, history: &[StoredMessage], answers: &[&RunExchange]) -> Vec<String> {
    let of_model = history.iter().filter(|message| message.role == Role::Assistant).flat_map(StoredMessage::texts);
    let kept = of_model.map(joined_words).collect::<Vec<_>>().join("\n");
    let came: Vec<String> = answers.iter().flat_map(|answer| answer.said()).map(joined_words).collect();
    let mut parts: Vec<&String> = came.iter().filter(|part| is_telling(part)).collect();
    parts.sort_unstable();
    parts.dedup();
    let count = |text: &str, part: &str| text.matches(part).count();
    let problem = |part: &&String| {
        let (most, got) = (came.iter().map(|text| count(text, part)).sum::<usize>(), count(&kept, part));
        (got > most).then(|| format!("O-28: {name} has the text {} {got} times, and it came {}", quoted(part), times(most)))
    };
    parts.iter().filter_map(problem).collect()
}

fn times(count: usize) -> String {
    if count == 1 { String::from("once") } else { format!("{count} times") }
}

fn cut_calls(name: &str, history: &[StoredMessage], answers: &[&RunExchange]) -> Vec<String> {
    let is_whole = |id: &Arc<str>| answers.iter().flat_map(|answer| answer.calls()).any(|call| call.id == *id);
    let cut: Vec<&Arc<str>> = answers.iter().flat_map(|answer| answer.cut_calls()).filter(|id| !is_whole(id)).collect();
    let blocks = history.iter().filter(|message| message.role == Role::Assistant).flat_map(|message| &message.blocks);
    let problem = |kind: &BlockKind| match kind {
        BlockKind::ToolUse(call) if cut.contains(&&call.id) => {
            let input = quoted(call.input.as_str());
            Some(format!("O-28: tool call {} broke off before it was whole, and {name} has it with the input {input}", call.id))
        }
        _ => None,
    };
    blocks.filter_map(|block| problem(block.block.kind())).collect()
}
