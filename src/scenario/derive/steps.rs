//! What the user said and what tools gave, from what each request adds to the one that it extends (K-4).

use alloc::collections::BTreeMap;

use super::Asked;
use super::settings::{shorthand, without_member};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::latency::Latency;
use crate::scenario::tape::End;
use crate::scenario::types::{Prompt, Scenario, ScriptedOutcome};
use crate::wire::block::{Block, BlockKind, Message, Role};
use crate::wire::json::Json;
use crate::wire::raw::Object;

/// Reads history, prompts and tool results.
pub(super) fn follow(asked: &[Asked<'_>], scenario: &mut Scenario, notes: &mut Vec<String>) {
    let mut steps = Steps { cached: scenario.settings.cache_breakpoints, scenario, notes };
    steps.first(&asked[0]);
    let by_id: BTreeMap<u32, &Asked<'_>> = asked.iter().map(|asked| (asked.exchange.id, asked)).collect();
    for pair in asked.windows(2) {
        let (before, now) = (&pair[0], &pair[1]);
        let parent = now.exchange.parent.and_then(|id| by_id.get(&id).copied()).unwrap_or(before);
        if parent.exchange.id != before.exchange.id {
            let (id, parent, before) = (now.exchange.id, parent.exchange.id, before.exchange.id);
            steps
                .notes
                .push(format!("Exchange {id} goes on from exchange {parent} and not from {before}; the scenario goes on from the last."));
        }
        steps.next(parent, now);
    }
}

struct Steps<'a> {
    scenario: &'a mut Scenario,
    notes: &'a mut Vec<String>,
    cached: bool,
}

impl Steps<'_> {
    /// All but the last user message of the first request is history.
    fn first(&mut self, asked: &Asked<'_>) {
        let messages = &asked.request.messages;
        let last_user = messages.iter().rposition(|message| message.role == Role::User);
        let Some(last_user) = last_user else {
            self.notes.push(String::from("The first request has no user message."));
            self.prompt(&[Block::text(super::NOT_RECORDED)]);
            return;
        };
        for message in &messages[..last_user] {
            if message.role == Role::System {
                self.notes.push(String::from("A system message in the midst of the history was left out."));
                continue;
            }
            let content = message.content.iter().map(|block| self.plain(block)).collect();
            self.scenario.history.push(Arc::new(Message { role: message.role, content }));
        }
        if messages.windows(2).any(|pair| pair[0].role == pair[1].role) {
            self.notes.push(String::from(
                "The first request has messages of one role in a row; an engine that joins them sends another request.",
            ));
        }
        if last_user + 1 < messages.len() {
            self.notes.push(String::from("The first request ends with words put into the model's mouth, which were left out."));
        }
        self.prompt(&messages[last_user].content);
    }

    /// What a request adds: echoes of answers, results, and what the user says next. The same conversation again adds nothing.
    fn next(&mut self, parent: &Asked<'_>, now: &Asked<'_>) {
        let known: usize = parent.request.messages.iter().map(|message| message.content.len()).sum();
        let added = now.request.messages.iter().flat_map(|message| message.content.iter().map(|block| (message.role, block))).skip(known);
        let latency = latency(parent, now);
        let (mut answers, mut said, mut has_results) = (0, Vec::new(), false);
        let mut last_role = Role::User;
        for (role, block) in added {
            if role == Role::Assistant {
                answers += usize::from(last_role != Role::Assistant);
            } else if let BlockKind::ToolResult { tool_use_id, is_error } = block.kind() {
                has_results = true;
                let content = Object::parse(block.json().as_str()).ok().and_then(|block| block.get("content").map(Json::trusted));
                let content = Some(content.map_or_else(|| Json::of(""), shorthand));
                let outcome = ScriptedOutcome { content, is_error: *is_error, latency: latency.clone(), ..ScriptedOutcome::default() };
                self.scenario.results.insert(tool_use_id.clone(), outcome);
            } else {
                said.push(block.clone());
            }
            last_role = role;
        }
        let id = now.exchange.id;
        if answers > 1 {
            self.notes.push(format!("Before exchange {id} there were {answers} answers of which the recording holds one."));
        }
        let answer = &parent.exchange.answer;
        if answers == 0 && (has_results || !said.is_empty()) && answer.status == 200 && answer.end == End::Complete {
            let parent = parent.exchange.id;
            self.notes
                .push(format!("Exchange {id} leaves out the answer of exchange {parent}; an engine that keeps it sends another request."));
        }
        if has_results && !said.is_empty() {
            self.notes.push(format!("Exchange {id} holds other content beside tool results, which was left out."));
        } else if !said.is_empty() {
            self.prompt(&said);
        }
    }

    fn prompt(&mut self, content: &[Block]) {
        let content = content.iter().map(|block| self.plain(block)).collect();
        self.scenario.prompts.push(Prompt { content, ..Prompt::default() });
    }

    /// A block without the breakpoint that the engine sets itself. Plain text is written the usual way, whatever the order of its members was,
    /// so that it reads as text in the scenario's file; requests compare as values, so this is no difference.
    fn plain(&self, block: &Block) -> Block {
        let json = if self.cached { without_member(block.json().as_str(), "cache_control") } else { block.json().clone() };
        match (block.kind(), Object::parse(json.as_str())) {
            (BlockKind::Text(text), Ok(object)) if object.members().count() == 2 && !text.contains('\u{fffd}') => Block::text(text),
            _ => Block::from(json),
        }
    }
}

/// From the end of an answer to the next request: no tool took longer.
fn latency(parent: &Asked<'_>, now: &Asked<'_>) -> Option<Latency> {
    let ended = parent.exchange.at? + parent.exchange.answer.end_at?;
    let span = now.exchange.at? - ended;
    (span > Micros::ZERO).then_some(Latency::Fixed(span))
}
