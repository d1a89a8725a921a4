//! What the user said, what tools gave and what the host put in, from what each request adds to the one before it (K-4).

use super::Asked;
use super::settings::{plain, shorthand};
use crate::engine::settings::{HostMessage, MessagePlace, Neighbours, RequestPlace};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::latency::Latency;
use crate::scenario::types::{Prompt, Scenario, ScriptedOutcome};
use crate::wire::block::{Block, BlockKind, Message, Role};
use crate::wire::json::Json;
use crate::wire::raw::Object;

/// Reads history, prompts and tool results; the place that each request will have in the replay.
pub(super) fn follow(asked: &[Asked<'_>], scenario: &mut Scenario, notes: &mut Vec<String>) -> Vec<RequestPlace> {
    let mut steps = Steps { at: RequestPlace { prompt: 1, request: 1 }, scenario, notes };
    steps.first(&asked[0]);
    let mut places = vec![steps.at];
    for pair in asked.windows(2) {
        steps.next(&pair[0], &pair[1]);
        places.push(steps.at);
    }
    places
}

struct Steps<'a> {
    /// The request that was looked at last.
    at: RequestPlace,
    scenario: &'a mut Scenario,
    notes: &'a mut Vec<String>,
}

/// A message that a request adds, or what it adds to one.
struct Added {
    role: Role,
    content: Vec<Block>,
    /// Whether the message's beginning was sent before.
    is_rest: bool,
}

impl Steps<'_> {
    /// All before the last message of the user is history; what follows it is the host's.
    fn first(&mut self, asked: &Asked<'_>) {
        let messages = &asked.request.messages;
        let last_user = messages.iter().rposition(|message| message.role == Role::User);
        let said = last_user.unwrap_or(messages.len());
        for message in &messages[..said] {
            let message = Message { role: message.role, content: self.plain(&message.content) };
            self.scenario.history.push(Arc::new(message));
        }
        let Some(last_user) = last_user else { return self.prompt(&[]) };
        self.prompt(&messages[last_user].content);
        for message in &messages[last_user + 1..] {
            self.host(message.role, MessagePlace::After, &message.content);
        }
    }

    /// What a request adds: the answer before it, results, what the user says next. The same conversation again adds nothing.
    fn next(&mut self, before: &Asked<'_>, now: &Asked<'_>) {
        let added = added(before, now);
        if let Some(parent) = now.exchange.parent.filter(|parent| *parent != before.exchange.id) {
            let (id, before) = (now.exchange.id, before.exchange.id);
            self.notes
                .push(format!("Exchange {id} goes on from exchange {parent} and not from {before}; the scenario goes on from the last."));
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
        self.note_changes(before, echo, now);
        let ids: Vec<&str> = answered.blocks.iter().filter_map(|block| Some(&*block.as_tool_use()?.id)).collect();
        let is_paused = matches!(answered.stop_reason.as_deref(), Some("pause_turn" | "compaction"));
        match (ids.is_empty(), rest.is_empty()) {
            (false, _) => self.results(&ids, rest, latency(before, now).as_ref(), now.exchange.id),
            (true, true) if is_paused => self.at.request += 1,
            (true, _) => self.new_prompt(rest),
        }
    }

    /// A replay sends what was answered; where the client did not, the two differ.
    fn note_changes(&mut self, before: &Asked<'_>, echo: &[Added], now: &Asked<'_>) {
        let Some(answered) = &before.answered else { return };
        let sent: Vec<Block> = echo.iter().flat_map(|added| added.content.iter().cloned()).collect();
        let (id, of) = (now.exchange.id, before.exchange.id);
        if sent.is_empty() && !answered.blocks.is_empty() && answered.stop_reason.as_deref() != Some("refusal") {
            self.notes.push(format!("Exchange {id} leaves out the answer of exchange {of}; a replay keeps it."));
        } else if let Some(place) = super::settings::first_change(&answered.blocks, &sent) {
            self.notes
                .push(format!("Exchange {id} sends the answer of exchange {of} back changed (at {place}); a replay sends it as it was."));
        }
    }

    /// The results of an answer's tools, and what the host said beside them.
    fn results(&mut self, ids: &[&str], rest: &[Added], latency: Option<&Latency>, id: u32) {
        self.at.request += 1;
        let is_result = |block: &&Block| result_of(block).is_some_and(|id| ids.contains(&id));
        let mut missing = ids.to_vec();
        let holds_results = |added: &Added| added.role == Role::User && added.content.iter().any(|block| is_result(&block));
        let first = rest.iter().position(holds_results).unwrap_or(0);
        for (index, added) in rest.iter().enumerate() {
            let (results, others): (Vec<&Block>, Vec<&Block>) = match added.role {
                Role::User => added.content.iter().partition(is_result),
                Role::Assistant | Role::System => (Vec::new(), added.content.iter().collect()),
            };
            let holds_some = !results.is_empty();
            for block in results {
                missing.retain(|id| Some(*id) != result_of(block));
                self.result(block, latency);
            }
            let others: Vec<Block> = others.into_iter().cloned().collect();
            let place = match () {
                () if index < first => MessagePlace::Before,
                () if holds_some || (index == first && added.role == Role::User) => MessagePlace::Beside,
                () => MessagePlace::After,
            };
            self.host(added.role, place, &others);
        }
        if !missing.is_empty() {
            self.notes.push(format!("Exchange {id} has no result for {}; a replay sends one.", missing.join(", ")));
        }
    }

    fn result(&mut self, block: &Block, latency: Option<&Latency>) {
        let BlockKind::ToolResult { tool_use_id, is_error } = block.kind() else { return };
        let content = Object::parse(block.json().as_str()).ok().and_then(|block| block.get("content").map(Json::trusted));
        let content = Some(content.map_or_else(|| Json::of(""), shorthand));
        let outcome = ScriptedOutcome { content, is_error: *is_error, latency: latency.cloned(), ..ScriptedOutcome::default() };
        self.scenario.results.entry(tool_use_id.clone()).or_insert(outcome);
    }

    /// What the user says next; the other messages are the host's. Without a message of the user the model is asked to go on.
    fn new_prompt(&mut self, rest: &[Added]) {
        self.at = RequestPlace { prompt: self.at.prompt + 1, request: 1 };
        let first = rest.iter().position(|added| added.role == Role::User);
        let joins = first.is_some_and(|first| rest[first].is_rest) && self.scenario.settings.neighbours != Neighbours::Joined;
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
        self.scenario.prompts.push(Prompt { content, ..Prompt::default() });
    }

    fn host(&mut self, role: Role, place: MessagePlace, content: &[Block]) {
        if !content.is_empty() {
            let message = Arc::new(Message { role, content: self.plain(content) });
            self.scenario.settings.session.host_messages.push(HostMessage { at: self.at, place, message });
        }
    }

    fn plain(&self, content: &[Block]) -> Vec<Block> {
        content.iter().map(|block| plain(block, self.scenario.settings.cache_breakpoints)).collect()
    }
}

/// What a request adds to the conversation of the one before it: messages, and the rest of one that has grown.
fn added(before: &Asked<'_>, now: &Asked<'_>) -> Vec<Added> {
    let mut known: usize = before.request.messages.iter().map(|message| message.content.len()).sum();
    let mut added = Vec::new();
    for message in &now.request.messages {
        let skipped = known.min(message.content.len());
        known -= skipped;
        if skipped < message.content.len() {
            added.push(Added { role: message.role, content: message.content[skipped..].to_vec(), is_rest: skipped > 0 });
        }
    }
    added
}

/// How many of the added messages are the answer that came before: the first ones of the model, up to as many blocks as it had.
fn echoed(before: &Asked<'_>, added: &[Added]) -> usize {
    let Some(answered) = &before.answered else { return 0 };
    let mut left = answered.blocks.len();
    let is_answer = |added: &&Added| {
        let is_answer = added.role == Role::Assistant && left > 0;
        left = left.saturating_sub(added.content.len());
        is_answer
    };
    added.iter().take_while(is_answer).count()
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
fn latency(before: &Asked<'_>, now: &Asked<'_>) -> Option<Latency> {
    let ended = before.exchange.at? + before.exchange.answer.end_at?;
    let span = now.exchange.at? - ended;
    (span > Micros::ZERO).then_some(Latency::Fixed(span))
}
