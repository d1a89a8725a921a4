//! The user's messages, the tools' results and the host's messages, from the additions of each request (K-4).

use super::settings::{plain, shorthand};
use super::{RecordedAnswer, UnderstoodExchange};
use crate::latency::Latency;
use crate::types::{Scenario, ScriptedOutcome, ScriptedPrompt};
use reenact_engine::settings::{HostMessage, MessagePlace, NeighbourMerging, RequestPlace};
use reenact_engine::time::Micros;
use reenact_wire::block::{Block, BlockKind, Message, Role};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// Reads history, prompts and tool results; the place that each request will have in the replay.
pub(super) fn follow(asked: &[UnderstoodExchange<'_>], scenario: &mut Scenario, notes: &mut Vec<String>) -> Vec<RequestPlace> {
    let mut steps = DerivedSteps { at: RequestPlace { prompt: 1, request: 1 }, scenario, notes };
    steps.first(&asked[0]);
    let mut places = vec![steps.at];
    for pair in asked.windows(2) {
        steps.next(&pair[0], &pair[1]);
        places.push(steps.at);
    }
    places
}

struct DerivedSteps<'a> {
    /// The request that was looked at last.
    at: RequestPlace,
    scenario: &'a mut Scenario,
    notes: &'a mut Vec<String>,
}

/// A message that a request adds, or what it adds to one.
struct AddedMessage {
    role: Role,
    content: Vec<Block>,
    /// Whether the message's beginning was sent before.
    is_rest: bool,
}

impl DerivedSteps<'_> {
    /// All before the last message of the user is history; what follows it is the host's. An engine closes what a history leaves open: from the first
    /// tool use on that the client left open it is the host's, too.
    fn first(&mut self, asked: &UnderstoodExchange<'_>) {
        let messages = &asked.request.messages;
        let last_user = messages.iter().rposition(|message| message.role == Role::User);
        let said = last_user.unwrap_or(messages.len());
        let (closed, open) = messages[..said].split_at(first_open(messages).min(said));
        for message in closed {
            let message = Message { role: message.role, content: self.plain(&message.content) };
            self.scenario.history.push(Arc::new(message));
        }
        open.iter().for_each(|message| self.host(message.role, MessagePlace::Before, &message.content));
        let Some(last_user) = last_user else { return self.prompt(&[]) };
        self.prompt(&messages[last_user].content);
        for message in &messages[last_user + 1..] {
            self.host(message.role, MessagePlace::After, &message.content);
        }
    }

    /// Adds the new parts of a request: the answer before it, results, the user's next message. The same conversation again adds nothing.
    fn next(&mut self, before: &UnderstoodExchange<'_>, now: &UnderstoodExchange<'_>) {
        let added = added(before, now);
        if let Some(parent) = now.exchange.parent.filter(|parent| *parent != before.exchange.id) {
            let (id, before) = (now.exchange.id, before.exchange.id);
            self.notes.push(format!(
                "Exchange {id} continues from exchange {parent} and not from {before}; the scenario continues from the last."
            ));
        }
        let (echo, rest) = added.split_at(echoed(before, &added));
        let Some(answered) = &before.answered else {
            // An attempt again, or what the user said after a failure.
            if !added.is_empty() {
                self.new_prompt(rest);
            }
            return;
        };
        if added.is_empty() {
            self.at.request += 1;
            return;
        }
        let sent = self.changed_echo(before, echo, now);
        let ids: Vec<&str> = answered.blocks.iter().filter_map(|block| Some(&*block.as_tool_use()?.id)).collect();
        let is_paused = matches!(answered.stop_reason.as_deref(), Some("pause_turn" | "compaction"));
        let at = match ids.is_empty() && !(rest.is_empty() && is_paused) {
            true => RequestPlace { prompt: self.at.prompt + 1, request: 1 },
            false => RequestPlace { request: self.at.request + 1, ..self.at },
        };
        // The messages stand in the order in which they are inserted: an answer comes before its continuation.
        for (nth, content) in sent.iter().enumerate() {
            // The engine keeps no refusal, so there is nothing to take the place of.
            let place = if nth == 0 && !is_refused(answered) { MessagePlace::Instead } else { MessagePlace::Before };
            self.add_host_message(at, Role::Assistant, place, content);
        }
        match (ids.is_empty(), rest.is_empty()) {
            (false, _) => self.results(&ids, rest, latency(before, now).as_ref(), now.exchange.id),
            (true, true) if is_paused => self.at.request += 1,
            (true, _) => self.new_prompt(rest),
        }
    }

    /// The client's form of an answer in place of the engine's, by message; nothing where both are the same.
    fn changed_echo(&mut self, before: &UnderstoodExchange<'_>, echo: &[AddedMessage], now: &UnderstoodExchange<'_>) -> Vec<Vec<Block>> {
        let Some(answered) = &before.answered else { return Vec::new() };
        let sent: Vec<Block> = echo.iter().flat_map(|added| added.content.iter().cloned()).collect();
        let (id, of) = (now.exchange.id, before.exchange.id);
        if sent.is_empty() {
            if !answered.blocks.is_empty() && !is_refused(answered) {
                self.notes.push(format!("Exchange {id} leaves out the answer of exchange {of}; a replay keeps it."));
            }
            return Vec::new();
        }
        if is_refused(answered) {
            self.notes.push(format!("Exchange {id} sends the refusal of exchange {of} back, and so does a replay."));
        } else if let Some(place) = super::settings::first_change(&answered.blocks, &sent) {
            self.notes.push(format!("Exchange {id} sends the answer of exchange {of} back changed (at {place}), and so does a replay."));
        } else {
            return Vec::new();
        }
        echo.iter().map(|added| added.content.clone()).collect()
    }

    /// The results of an answer's tools, and the host's messages beside them.
    fn results(&mut self, ids: &[&str], rest: &[AddedMessage], latency: Option<&Latency>, id: u32) {
        self.at.request += 1;
        let is_result = |block: &&Block| result_of(block).is_some_and(|id| ids.contains(&id));
        let given: Vec<&str> = rest.iter().flat_map(|added| &added.content).filter_map(result_of).filter(|id| ids.contains(id)).collect();
        // A replay gives each result once, in the order of the tool uses: what the client did otherwise takes its place.
        let mut otherwise: Vec<Block> = Vec::new();
        let is_known_otherwise = |block: &Block| {
            let known = result_of(block).filter(|id| ids.contains(id)).and_then(|id| self.scenario.results.get(id));
            known.is_some_and(|known| {
                outcome(block, None).is_some_and(|now| (&known.content, known.is_error) != (&now.content, now.is_error))
            })
        };
        // Ids that begin anew with each answer have results that differ; a scenario has one for each.
        let is_reused = rest.iter().filter(|added| added.role == Role::User).flat_map(|added| &added.content).any(is_known_otherwise);
        let is_otherwise = given != ids || is_reused;
        let holds_results = |added: &AddedMessage| added.role == Role::User && added.content.iter().any(|block| is_result(&block));
        let first = rest.iter().position(holds_results).unwrap_or(0);
        for (index, added) in rest.iter().enumerate() {
            let (results, others): (Vec<&Block>, Vec<&Block>) = match added.role {
                Role::User => added.content.iter().partition(is_result),
                Role::Assistant | Role::System => (Vec::new(), added.content.iter().collect()),
            };
            let holds_some = !results.is_empty();
            results.into_iter().for_each(|block| self.result(block, latency));
            if is_otherwise && added.role == Role::User && (holds_some || index <= first) {
                otherwise.extend(added.content.iter().cloned());
                continue;
            }
            let others: Vec<Block> = others.into_iter().cloned().collect();
            let place = match () {
                () if index < first => MessagePlace::Before,
                () if holds_some || (index == first && added.role == Role::User) => MessagePlace::Beside,
                () => MessagePlace::After,
            };
            self.host(added.role, place, &others);
        }
        if is_otherwise {
            self.notes.push(match is_reused {
                true => format!("Exchange {id} has results for ids that tool uses before it had, and so has a replay."),
                false => format!("Exchange {id} does not have one result for each tool use in their order, and neither has a replay."),
            });
            self.host(Role::User, MessagePlace::Instead, &otherwise);
        }
    }

    fn result(&mut self, block: &Block, latency: Option<&Latency>) {
        if let (BlockKind::ToolResult { tool_use_id, .. }, Some(outcome)) = (block.kind(), outcome(block, latency)) {
            self.scenario.results.entry(tool_use_id.clone()).or_insert(outcome);
        }
    }

    /// The user's next prompt; the other messages are the host's. Without a message of the user the model is asked to continue.
    fn new_prompt(&mut self, rest: &[AddedMessage]) {
        self.at = RequestPlace { prompt: self.at.prompt + 1, request: 1 };
        let first = rest.iter().position(|added| added.role == Role::User);
        let joins = first.is_some_and(|first| rest[first].is_rest) && self.scenario.settings.neighbours != NeighbourMerging::Joined;
        let said = first.filter(|_| !joins);
        self.prompt(said.map_or(&[], |said| &rest[said].content));
        for (index, added) in rest.iter().enumerate().filter(|(index, _)| Some(*index) != said) {
            let place = match () {
                () if joins && Some(index) == first => MessagePlace::Beside,
                () if said.is_some_and(|said| index < said) => MessagePlace::Before,
                () => MessagePlace::After,
            };
            self.host(added.role, place, &added.content);
        }
    }

    fn prompt(&mut self, content: &[Block]) {
        let content = self.plain(content);
        self.scenario.settings.session.slash_commands &= !begins_with_slash(&content);
        self.scenario.prompts.push(ScriptedPrompt { content, ..ScriptedPrompt::default() });
    }

    fn host(&mut self, role: Role, place: MessagePlace, content: &[Block]) {
        self.add_host_message(self.at, role, place, content);
    }

    fn add_host_message(&mut self, at: RequestPlace, role: Role, place: MessagePlace, content: &[Block]) {
        if !content.is_empty() {
            let message = Arc::new(Message { role, content: self.plain(content) });
            self.scenario.settings.session.host_messages.push(HostMessage { at, place, message });
        }
    }

    fn plain(&self, content: &[Block]) -> Vec<Block> {
        content.iter().map(|block| plain(block, self.scenario.settings.cache_breakpoints)).collect()
    }
}

/// A result as a scenario has it.
fn outcome(block: &Block, latency: Option<&Latency>) -> Option<ScriptedOutcome> {
    let BlockKind::ToolResult { is_error, .. } = block.kind() else { return None };
    let content = RawObject::parse(block.json().as_str()).ok().and_then(|block| block.get("content").map(Json::trusted));
    let content = Some(content.map_or_else(|| Json::from_value(""), shorthand));
    Some(ScriptedOutcome { content, is_error: *is_error, latency: latency.cloned(), ..ScriptedOutcome::default() })
}

/// The messages that a request adds to the conversation of the one before it, and the rest of one that has grown.
fn added(before: &UnderstoodExchange<'_>, now: &UnderstoodExchange<'_>) -> Vec<AddedMessage> {
    let mut known: usize = before.request.messages.iter().map(|message| message.content.len()).sum();
    let mut added = Vec::new();
    for message in &now.request.messages {
        let skipped = known.min(message.content.len());
        known -= skipped;
        if skipped < message.content.len() {
            added.push(AddedMessage { role: message.role, content: message.content[skipped..].to_vec(), is_rest: skipped > 0 });
        }
    }
    added
}

/// How many of the added messages are the answer that came before: the first ones of the model, up to as many blocks as it had.
fn echoed(before: &UnderstoodExchange<'_>, added: &[AddedMessage]) -> usize {
    let Some(answered) = &before.answered else { return 0 };
    let mut left = answered.blocks.len();
    let is_answer = |added: &&AddedMessage| {
        let is_answer = added.role == Role::Assistant && left > 0;
        left = left.saturating_sub(added.content.len());
        is_answer
    };
    added.iter().take_while(is_answer).count()
}

/// The first answer with a tool use that has no result before the next answer; otherwise the end.
fn first_open(messages: &[Arc<Message>]) -> usize {
    let is_open = |(index, message): (usize, &Arc<Message>)| {
        let next = messages[index + 1..].iter().take_while(|next| next.role != Role::Assistant);
        let given: Vec<&str> = next.flat_map(|next| &next.content).filter_map(result_of).collect();
        message.content.iter().filter_map(Block::as_tool_use).any(|tool_use| !given.contains(&&*tool_use.id))
    };
    messages.iter().enumerate().position(is_open).unwrap_or(messages.len())
}

fn is_refused(answered: &RecordedAnswer) -> bool {
    answered.stop_reason.as_deref() == Some("refusal")
}

fn result_of(block: &Block) -> Option<&str> {
    match block.kind() {
        BlockKind::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    }
}

/// Whether the engine would take it for a command.
fn begins_with_slash(content: &[Block]) -> bool {
    matches!(content, [block] if matches!(block.kind(), BlockKind::Text(text) if text.trim_start().starts_with('/')))
}

/// From the end of an answer to the next request: no tool took longer.
fn latency(before: &UnderstoodExchange<'_>, now: &UnderstoodExchange<'_>) -> Option<Latency> {
    let ended = before.exchange.at? + before.exchange.answer.end_at?;
    let span = now.exchange.at? - ended;
    (span > Micros::ZERO).then_some(Latency::Fixed(span))
}
