//! A client held to the letter (K-7): in scenarios that any client should pass, answers go back as they came, and a request that is made again is the same.
//!
//! Agents in the wild shorten and rewrite their histories, and the judge of driven clients lets them. These short scenarios give nobody a reason to.

use super::run_history::{RunExchange, exchanges};
use reenact_foreign::verdict::SessionVerdict;
use reenact_stores::conversation::StoredMessage;
use reenact_stores::rules::quoted;
use reenact_wire::block::{Block, BlockKind, Role};
use reenact_wire::prelude::*;

/// Everything that a client changed, left out or made up, a sentence each.
pub fn departures(verdict: &SessionVerdict) -> Vec<String> {
    let exchanges: Vec<RunExchange> = exchanges(verdict).into_iter().filter(RunExchange::is_of_root).collect();
    let mut found = Vec::new();
    for (at, exchange) in exchanges.iter().enumerate() {
        let before = &exchanges[..at];
        found.extend(made_up(exchange, before));
        if let Some(last) = before.last() {
            if last.is_to_be_retried() && !are_same(&last.messages, &exchange.messages) {
                found.push(format!("{} is not {} once more: its messages are others", exchange.name(), last.name()));
            }
            found.extend(left_out(exchange, last));
        }
    }
    found
}

/// Blocks that are said to be the model's and were in no whole answer.
fn made_up(exchange: &RunExchange, before: &[RunExchange]) -> Vec<String> {
    let came = || before.iter().filter(|exchange| exchange.is_complete).flat_map(RunExchange::blocks);
    let of_model = blocks_of(&exchange.messages).filter(|block| name_of(block).is_some());
    let made_up = of_model.filter(|block| !came().any(|other| says_the_same(block, other)));
    let told = |block: &Block| {
        let name = name_of(block).unwrap_or_default();
        format!("O-28: {} has {name} as the model's that no whole answer has: {}", exchange.name(), quoted(block.json().as_str()))
    };
    made_up.map(told).collect()
}

/// Texts and calls of the answer before that are not in this request.
fn left_out(exchange: &RunExchange, last: &RunExchange) -> Vec<String> {
    if !last.is_complete || last.calls().next().is_none() {
        return Vec::new();
    }
    let is_due = |block: &&Block| matches!(name_of(block), Some("a text" | "a tool call"));
    let lost = last.blocks().filter(is_due).filter(|block| !blocks_of(&exchange.messages).any(|other| says_the_same(block, other)));
    lost.map(|block| format!("O-28: {} lacks what the answer before it says: {}", exchange.name(), quoted(block.json().as_str()))).collect()
}

fn blocks_of(messages: &[StoredMessage]) -> impl Iterator<Item = &Block> {
    let of_model = messages.iter().filter(|message| message.role == Role::Assistant);
    of_model.flat_map(|message| message.blocks.iter().map(|block| &block.block))
}

/// The kinds of block that a client gives back as they came. Blank texts say nothing.
fn name_of(block: &Block) -> Option<&'static str> {
    match block.kind() {
        BlockKind::Text(text) if !text.trim().is_empty() => Some("a text"),
        BlockKind::Thinking { .. } | BlockKind::RedactedThinking => Some("thinking"),
        BlockKind::ToolUse(_) => Some("a tool call"),
        _ => None,
    }
}

/// Whether two blocks are one. The marks for the cache are the client's own.
fn says_the_same(one: &Block, other: &Block) -> bool {
    match (one.kind(), other.kind()) {
        (BlockKind::ToolUse(one), BlockKind::ToolUse(other)) => {
            let value = |input: &str| serde_json::from_str::<serde_json::Value>(input).ok();
            (&one.id, &one.name) == (&other.id, &other.name) && value(one.input.as_str()) == value(other.input.as_str())
        }
        (one, other) => one == other,
    }
}

/// Whether two requests say the same. The marks for the cache may be at other places.
fn are_same(one: &[StoredMessage], other: &[StoredMessage]) -> bool {
    let said = |messages: &[StoredMessage]| -> Vec<(Role, Vec<BlockKind>)> {
        messages.iter().map(|message| (message.role, message.blocks.iter().map(|block| block.block.kind().clone()).collect())).collect()
    };
    said(one) == said(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::json::Json;

    fn call(id: &str, input: &str) -> Block {
        Block::from(Json::trusted(format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{input}}}"#)))
    }

    #[test]
    fn k_7_blocks_are_the_same_by_what_they_say() {
        assert!(says_the_same(&call("a", r#"{"x":1,"y":2}"#), &call("a", r#"{ "y": 2, "x": 1 }"#)), "members have no order");
        assert!(!says_the_same(&call("a", r#"{"x":1}"#), &call("b", r#"{"x":1}"#)));
        assert!(!says_the_same(&call("a", r#"{"x":1}"#), &call("a", r#"{"x":2}"#)));
        let thinking =
            |signature: &str| Block::from(Json::trusted(format!(r#"{{"type":"thinking","thinking":"Hm.","signature":"{signature}"}}"#)));
        assert!(!says_the_same(&thinking("abcd"), &thinking("")));
        let marked = Block::from(Json::trusted(r#"{"type":"text","text":"Hm.","cache_control":{"type":"ephemeral"}}"#));
        assert!(says_the_same(&Block::text("Hm."), &marked), "the marks for the cache are the client's own");
    }
}
