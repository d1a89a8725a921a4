//! Prompts of the user, and answers of the model.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

pub use super::closing_turns::closing_turn;
use super::tools::tool_use;
use super::values::{odd_text, some_time, text, vary, words};
use reenact_scenario::types::{ScriptedPrompt, ScriptedTurn, TurnBlock};
use reenact_wire::block::Block;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// How many answers each prompt has beside those that are about something: continuations, summaries and questions of hooks need some, too.
pub const CLOSING: usize = 4;

/// A prompt with its answers.
pub fn prompt() -> BoxedStrategy<ScriptedPrompt> {
    let at = option::weighted(0.2, some_time());
    let turns = (vec(turn(), 0..5), vec(closing_turn(), CLOSING));
    (content(), at, turns)
        .prop_map(|(content, at, (turns, closing))| ScriptedPrompt { content, at, turns: turns.into_iter().chain(closing).collect() })
        .boxed()
}

/// The content of the user's messages: mostly plain words.
pub fn content() -> BoxedStrategy<Vec<Block>> {
    let plain = || words().prop_map(|words| Block::text(&words));
    let image = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}"#;
    let image = Just(Block::from(Json::trusted(image)));
    let odd = prop_oneof![odd_text().prop_map(|text| Block::text(&text)), text().prop_map(|text| Block::text(&text)), plain(), image];
    prop_oneof![4 => plain().prop_map(|block| vec![block]), 1 => vec(odd, 1..3)].boxed()
}

/// Whether a prompt is plain words.
pub fn is_plain(content: &[Block]) -> bool {
    content.len() == 1
        && content
            .iter()
            .all(|block| block.json().as_str().bytes().all(|byte| matches!(byte, b'a'..=b'z' | b' ' | b'{' | b'}' | b'"' | b':' | b',')))
}

/// An answer about something: text, thinking, tool uses, in any order.
pub fn turn() -> BoxedStrategy<ScriptedTurn> {
    let block = prop_oneof![
        2 => text().prop_map(TurnBlock::Text),
        1 => words().prop_map(TurnBlock::Thinking),
        1 => odd_text().prop_map(TurnBlock::Text),
        6 => tool_use(),
    ];
    let reasons =
        vec!["end_turn", "max_tokens", "stop_sequence", "refusal", "pause_turn", "model_context_window_exceeded", "tool_use", "news"];
    let usual = ScriptedTurn { may: true, ..ScriptedTurn::default() };
    let whole = vary!(usual, 0.2;
        stop_reason: select(reasons).prop_map(|reason| Some(reason.into())),
        input_tokens: prop_oneof![3 => 1_u64..4_000, 1 => 4_000_u64..250_000].prop_map(Some),
        output_tokens: (1_u64..6_000).prop_map(Some),
        cleared_tokens: (1_u64..2_000).prop_map(Some),
        headers: Just(vec![(String::from("request-id"), String::from("req_1"))]),
    );
    let literal = option::weighted(0.1, literal());
    (vec(block, 1..5), whole, literal)
        .prop_map(|(content, turn, literal)| match literal {
            Some(literal) => literal,
            None => ScriptedTurn { content, ..turn },
        })
        .boxed()
}

/// An answer that is an error or a body as it stands.
fn literal() -> BoxedStrategy<ScriptedTurn> {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let bodies = vec![
        "",
        "data: [DONE]\n\n",
        error,
        "event: error\ndata: {\"type\":\"error\"}\n\n",
        "<html>",
        "data: {\"type\":\"message_stop\"}\n\n",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n",
    ];
    let body = option::weighted(0.7, select(bodies).prop_map(Arc::from));
    (select(vec![200, 400, 403, 404, 413, 429, 500, 529]), body)
        .prop_map(|(status, body)| {
            let body = if status == 200 { Some(body.unwrap_or_default()) } else { body };
            ScriptedTurn { status, body, may: true, ..ScriptedTurn::default() }
        })
        .boxed()
}

/// Whether an answer is an error or a body as it stands.
pub fn is_literal(turn: &ScriptedTurn) -> bool {
    turn.status != 200 || turn.body.is_some()
}
