//! Messages before the first prompt, and answers that came too late for it.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::question_parts::permission_answer;
use super::tools::{NAMES, input, is_wrong};
use super::values::{text, words};
use reenact_engine::settings::OrphanedPermission;
use reenact_wire::block::{Block, Message};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// Messages from before, and what a person answered about a tool use that was not run (S-3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPast {
    /// The messages.
    pub messages: Vec<Arc<Message>>,
    /// The answer.
    pub orphaned: Option<OrphanedPermission>,
}

/// A few rounds, whole or broken off.
pub fn past() -> BoxedStrategy<SessionPast> {
    let round = (words(), option::of((tool(), text())), words());
    let end = prop_oneof![3 => Just(None), 2 => (tool(), option::of(permission_answer())).prop_map(Some)];
    (vec(round, 1..4), end)
        .prop_map(|(rounds, end)| {
            let mut past = SessionPast::default();
            for (number, (question, tool, answer)) in (1..).zip(rounds) {
                past.messages.push(user(Block::text(&question)));
                if let Some((tool_use, result)) = tool {
                    let id = format!("toolu_h{number}");
                    past.messages.push(assistant(tool_use_block(&id, tool_use)));
                    past.messages.push(user(Block::tool_result(&id, &Json::from_value(&*result), false)));
                }
                past.messages.push(assistant(Block::text(&answer)));
            }
            if let Some((tool_use, answer)) = end {
                past.messages.push(user(Block::text("and then?")));
                past.messages.push(assistant(tool_use_block("toolu_open", tool_use)));
                past.orphaned = answer.map(|answer| OrphanedPermission { tool_use_id: "toolu_open".into(), answer });
            }
            past
        })
        .boxed()
}

fn tool() -> BoxedStrategy<(&'static str, Arc<str>)> {
    let of = |name: &'static str| input(name).prop_map(move |input| (name, input));
    prop_oneof![of(NAMES[0]), of(NAMES[2]), of(NAMES[4])].boxed()
}

fn tool_use_block(id: &str, (name, input): (&str, Arc<str>)) -> Block {
    let input = if is_wrong(name, &input) { "{}" } else { &*input };
    Block::from(Json::trusted(format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)))
}

fn user(block: Block) -> Arc<Message> {
    Arc::new(Message::user(vec![block]))
}

fn assistant(block: Block) -> Arc<Message> {
    Arc::new(Message::assistant(vec![block]))
}
