//! O-1: in every request, each tool use has exactly one result, in what the API joins to the next user message, before anything else in it, in
//! the order that the settings ask for (T-8); no result without its use.
//!
//! All but the order is the API's own rule, so the API's own check is asked. O-10 leaves it out: what is wrong with results is told once.

use super::{Findings, Rules};
use crate::engine::contract::{Effect, Emission, Message, RequestId, Role};
use crate::engine::settings::ResultOrder;
use crate::prelude::*;
use crate::wire::block::{Block, BlockKind};
use crate::wire::validate;

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
        if let Some(refusal) = validate::pairs(messages) {
            return found.add(ORACLE, format!("the API refuses request {id}: {}", refusal.message));
        }
        // Each use has its one result: what is left to see is their order.
        for turns in Turns::of(messages).0.windows(2) {
            if !self.is_in_order(rules, &turns[0].1, &turns[1].1) {
                let order = match rules.result_order {
                    ResultOrder::ToolUse => "their tool uses",
                    ResultOrder::Emission => "their emission",
                };
                found.add(ORACLE, format!("request {id} has its results in another order than {order}"));
            }
        }
    }

    /// One turn of the model and the turn behind it.
    fn is_in_order(&self, rules: &Rules, asked: &[&Block], answered: &[&Block]) -> bool {
        let uses = || asked.iter().filter_map(|block| block.as_tool_use()).map(|tool_use| &tool_use.id);
        let place = |result: &Arc<str>| match rules.result_order {
            ResultOrder::ToolUse => uses().position(|tool_use| tool_use == result),
            ResultOrder::Emission => self.emitted.iter().position(|emitted| emitted == result),
        };
        answered.iter().filter_map(|block| result_id(block)).filter_map(place).is_sorted()
    }
}

/// A conversation as the API reads it: neighbours of the same role are one turn.
struct Turns<'a>(Vec<(Role, Vec<&'a Block>)>);

impl<'a> Turns<'a> {
    fn of(messages: &'a [Arc<Message>]) -> Self {
        let mut turns: Vec<(Role, Vec<&Block>)> = Vec::new();
        for message in messages {
            match turns.last_mut().filter(|(role, _)| *role == message.role) {
                Some((_, blocks)) => blocks.extend(&message.content),
                None => turns.push((message.role, message.content.iter().collect())),
            }
        }
        Self(turns)
    }
}

fn result_id(block: &Block) -> Option<&Arc<str>> {
    match block.kind() {
        BlockKind::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    }
}
