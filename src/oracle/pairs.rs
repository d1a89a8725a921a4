//! O-1: in every request, each tool use has exactly one result, in the next user message, in the order that the settings ask for
//! (T-8); no result without its use.

use super::{Findings, Rules};
use crate::engine::contract::{Effect, Emission, Message, RequestId, Role};
use crate::engine::settings::ResultOrder;
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind};

pub(super) const ORACLE: &str = "O-1";

/// The results as they were emitted, where requests have them in that order.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    emitted: Vec<Arc<str>>,
}

impl Pairs {
    pub(super) fn on_effect(&mut self, rules: &Rules, effect: &Effect) {
        match effect {
            Effect::Emit(Emission::User(message)) if rules.result_order == ResultOrder::Emission => {
                self.emitted.extend(result_id(&message.block).cloned());
            }
            // Older results keep their place; that their order was right was seen when they were new.
            Effect::Finished { .. } => self.emitted.clear(),
            _ => (),
        }
    }

    pub(super) fn on_request(&self, rules: &Rules, id: RequestId, messages: &[Arc<Message>], found: &mut Findings<'_>) {
        let mut asked: &[Block] = &[];
        for message in messages {
            let results = match message.role {
                Role::User => &*message.content,
                _ => &[],
            };
            self.check(rules, id, asked, results, found);
            asked = if message.role == Role::Assistant { &message.content } else { &[] };
        }
        self.check(rules, id, asked, &[], found);
    }

    /// One answer of the model and the user message behind it.
    fn check(&self, rules: &Rules, id: RequestId, asked: &[Block], answered: &[Block], found: &mut Findings<'_>) {
        let uses = || asked.iter().filter_map(Block::as_tool_use).map(|tool_use| &tool_use.id);
        let results = || answered.iter().filter_map(result_id);
        if uses().eq(results()) && rules.result_order == ResultOrder::ToolUse {
            return;
        }
        for tool_use in uses() {
            match results().filter(|result| *result == tool_use).count() {
                1 => (),
                0 => found.add(ORACLE, format!("request {id} has tool use {tool_use} without a result in the next user message")),
                count => found.add(ORACLE, format!("request {id} has {count} results of tool use {tool_use}")),
            }
        }
        for result in results().filter(|result| !uses().any(|tool_use| tool_use == *result)) {
            found.add(ORACLE, format!("request {id} has a result of {result}, which the answer before it does not ask for"));
        }
        let place = |result: &Arc<str>| match rules.result_order {
            ResultOrder::ToolUse => uses().position(|tool_use| tool_use == result),
            ResultOrder::Emission => self.emitted.iter().position(|emitted| emitted == result),
        };
        let places: Vec<usize> = results().filter_map(place).collect();
        if !places.is_sorted() {
            let order = match rules.result_order {
                ResultOrder::ToolUse => "their tool uses",
                ResultOrder::Emission => "their emission",
            };
            found.add(ORACLE, format!("request {id} has its results in another order than {order}"));
        }
    }
}

fn result_id(block: &Block) -> Option<&Arc<str>> {
    match block.kind() {
        BlockKind::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    }
}
