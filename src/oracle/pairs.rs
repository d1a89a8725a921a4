//! O-1: in every request, each tool use has exactly one result, in what the API joins to the next user message, before anything else in it, in
//! the order that the settings ask for (T-8); no result without its use.
//!
//! All but the order is the API's own rule, so the API's own check is asked. O-10 leaves it out: a problem of results is reported once.

use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Message, RequestId, Role};
use reenact_engine::settings::ResultOrder;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;
use reenact_wire::validate::{self, SettledMessages};

pub(super) const ORACLE: &str = "O-1";

/// The results as they were emitted, answer by answer, where requests have them in that order. A model may use an id again in a later answer.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct PairOracle {
    emitted: Vec<OfAnswer>,
    /// The part of the conversation in which all was right with the request before.
    settled: SettledMessages,
}

/// The results of one answer's tool uses.
#[derive(Clone, Debug, Hash)]
struct OfAnswer {
    request: RequestId,
    ids: Vec<Arc<str>>,
}

impl PairOracle {
    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect) {
        match effect {
            Effect::Emit(Emission::User(message)) if rules.settings.result_order == ResultOrder::Emission => {
                let Some(id) = result_id(&message.block).cloned() else { return };
                match self.emitted.iter_mut().find(|of| of.request == message.run.request) {
                    Some(of) => of.ids.push(id),
                    None => self.emitted.push(OfAnswer { request: message.run.request, ids: vec![id] }),
                }
            }
            // Older results keep their place; that their order was right was seen when they were new.
            Effect::Finished { .. } => self.emitted.clear(),
            _ => (),
        }
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, id: RequestId, messages: &[Arc<Message>], found: &mut OracleFindings<'_>) {
        if messages.len() > 1 {
            found.ask(ORACLE);
        }
        let known = found.violations.len();
        let start = self.settled.start_in(messages);
        if let Some(refusal) = validate::pairs(messages, start) {
            return found.add(ORACLE, format!("the API refuses request {id}: {}", refusal.message));
        }
        // Each use has its one result: what is left to see is their order.
        let mut emitted = &*self.emitted;
        for turns in ApiTurns::from_messages(&messages[start..]).0.windows(2).rev() {
            let results = &turns[1].1;
            let (wanted, order) = match rules.settings.result_order {
                ResultOrder::ToolUse if is_as_asked(&turns[0].1, results) => continue,
                ResultOrder::ToolUse => (asked(&turns[0].1).collect(), "their tool uses"),
                ResultOrder::Emission => (as_emitted(&mut emitted, results), "their emission"),
            };
            if let Some(orders) = other_order(results, &wanted) {
                found.add(ORACLE, format!("request {id} has its results in another order than {order}: {orders}"));
            }
        }
        if found.violations.len() == known {
            self.settled.settle(messages, start);
        }
    }
}

/// Whether a turn has the results of the model's turn before it in the order of their tool uses.
fn is_as_asked(asked_in: &[&Block], answered: &[&Block]) -> bool {
    let place = |result: &Arc<str>| asked(asked_in).position(|tool_use| tool_use == result);
    answered.iter().filter_map(|block| result_id(block)).filter_map(place).is_sorted()
}

/// The tool uses of a turn of the model.
fn asked<'a>(turn: &[&'a Block]) -> impl Iterator<Item = &'a Arc<str>> {
    turn.iter().filter_map(|block| block.as_tool_use()).map(|tool_use| &tool_use.id)
}

/// The order of the results and the one that is wanted, where they are two.
fn other_order(answered: &[&Block], wanted: &[&Arc<str>]) -> Option<String> {
    let place = |result: &&Arc<str>| wanted.iter().position(|id| id == result);
    let got: Vec<&Arc<str>> = answered.iter().filter_map(|block| result_id(block)).filter(|result| place(result).is_some()).collect();
    let mut in_order = got.clone();
    in_order.sort_by_key(place);
    let list = |ids: &[&Arc<str>]| ids.iter().map(|id| &***id).collect::<Vec<_>>().join(", ");
    (got != in_order).then(|| format!("\"{}\" in place of \"{}\"", list(&got), list(&in_order)))
}

/// The results of a turn as they were emitted. It is the last turn that was not looked at yet: it has the results of the last answer with these ids.
/// `emitted` is what is left for the turns before.
fn as_emitted<'a>(emitted: &mut &'a [OfAnswer], answered: &[&Block]) -> Vec<&'a Arc<str>> {
    let results: Vec<&Arc<str>> = answered.iter().filter_map(|block| result_id(block)).collect();
    let has_all = |of: &OfAnswer| results.iter().all(|id| of.ids.contains(id));
    // What is of an earlier prompt was seen when it was new.
    let Some(at) = emitted.iter().rposition(has_all).filter(|_| !results.is_empty()) else { return Vec::new() };
    let of = &emitted[at];
    *emitted = &emitted[..at];
    of.ids.iter().collect()
}

/// A conversation as the API reads it: neighbours of the same role are one turn.
struct ApiTurns<'a>(Vec<(Role, Vec<&'a Block>)>);

impl<'a> ApiTurns<'a> {
    fn from_messages(messages: &'a [Arc<Message>]) -> Self {
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

/// The id of the tool use that a result is for.
pub(super) fn result_id(block: &Block) -> Option<&Arc<str>> {
    match block.kind() {
        BlockKind::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    }
}
