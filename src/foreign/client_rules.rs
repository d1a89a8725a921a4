//! Rules that need both the requests of a client in virtual time and its notes: nothing is lost (O-24), a cancel ends what it was pressed in (O-11), and
//! no connection outlives its prompt (O-27).

use alloc::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::client_deeds::{ClientDeeds, LEFTOVERS};
use super::lines::{ClientDeed, DeedEnd};
use super::world_events::{EventSource, WorldEvent, WorldEvents};
use reenact_engine::time::{Micros, Time};
use reenact_oracle::Violation;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_world::delivery::AnswerPart;

const LOSSES: &str = "O-24";
const ABORT: &str = "O-11";

/// A longer result may be cut by its client, so that it is not looked for.
const RESULT_CHARACTERS_MAX: usize = 2_000;

/// How long a cancelled prompt may take to come to its end.
const UNWINDING_MAX: Micros = Micros::from_millis(60_000);

/// The memory of the rules.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientRules {
    said: Vec<SaidText>,
    /// The prompts that were open at a cancel and have not ended, and its time.
    cancelled: Option<(Time, BTreeSet<u32>)>,
    /// The results of tools that have ended, until they were looked for in a request.
    results: BTreeMap<Arc<str>, Value>,
    /// The answers that were on their way when their prompt ended: the prompt, and when that was.
    outlived: BTreeMap<u32, (u32, Time)>,
    violations: Vec<Violation>,
}

/// A text of the user.
#[derive(Clone, Debug)]
struct SaidText {
    /// The number of a prompt; `None` for a message.
    prompt: Option<u32>,
    text: Arc<str>,
    is_sent: bool,
    /// Whether a request came after it.
    has_chance: bool,
}

impl ClientRules {
    /// The client notes something, which is among its deeds already, with these events under way.
    pub(super) fn on_deed(&mut self, at: Time, deed: &ClientDeed, deeds: &ClientDeeds, events: &WorldEvents) {
        match deed {
            ClientDeed::Prompt { prompt, text } => self.say(Some(*prompt), text),
            ClientDeed::Message { text } => self.say(None, text),
            ClientDeed::Cancel => self.cancelled = Some((at, deeds.open_prompts().collect())),
            ClientDeed::Terminal { prompt, how, .. } => {
                self.on_terminal(at, *prompt, *how);
                // Whose answers are under way is known where nothing else is open.
                if deeds.open_prompts().next().is_none() {
                    let under_way = events.iter().filter_map(|event| body_of(&event.source));
                    self.outlived.extend(under_way.map(|answer| (answer, (*prompt, at))));
                }
            }
            _ => (),
        }
    }

    fn say(&mut self, prompt: Option<u32>, text: &Arc<str>) {
        self.said.push(SaidText { prompt, text: text.clone(), is_sent: false, has_chance: false });
    }

    fn on_terminal(&mut self, at: Time, prompt: u32, how: DeedEnd) {
        if let Some((since, cancelled)) = &mut self.cancelled
            && cancelled.remove(&prompt)
            && at > *since + UNWINDING_MAX
        {
            let took = Micros(at.0 - since.0);
            self.found(at, ABORT, format!("prompt {prompt} ends {took} after the cancel"));
        }
        let is_lost = |said: &&SaidText| said.prompt == Some(prompt) && !said.is_sent && !said.text.trim().is_empty();
        if how == DeedEnd::Ok && self.said.iter().any(|said| is_lost(&said)) {
            self.found(at, LOSSES, format!("prompt {prompt} was answered, and its text is in no request"));
        }
    }

    /// A request is sent.
    pub(super) fn on_request(&mut self, at: Time, deeds: &ClientDeeds, name: &str, request: &Request) {
        let texts = user_texts(request);
        for said in &mut self.said {
            said.has_chance = true;
            said.is_sent = said.is_sent || texts.iter().any(|text| text.contains(&*said.text));
        }
        if let Some((since, cancelled)) = &self.cancelled
            && let Some(last) = cancelled.last()
            && at > *since
            && deeds.open_prompts().all(|open| open <= *last)
        {
            let text = format!("request {name} is sent after the cancel, and prompt {last} has not ended");
            self.cancelled = None;
            self.found(at, ABORT, text);
        }
        self.look_for_results(at, deeds.is_disturbed, name, request);
    }

    /// An interrupted client may put other words in the place of a result.
    fn look_for_results(&mut self, at: Time, is_disturbed: bool, name: &str, request: &Request) {
        let blocks = request.messages.iter().flat_map(|message| &message.content);
        let given: Vec<(Arc<str>, Value)> = blocks.filter_map(|block| self.result_in(block)).collect();
        for (id, block) in given {
            let Some(result) = self.results.remove(&id) else { continue };
            let sent = strings(&block);
            let is_lost = |wanted: &String| wanted.len() <= RESULT_CHARACTERS_MAX && !sent.iter().any(|text| text.contains(&**wanted));
            if !is_disturbed && strings(&result).iter().any(is_lost) {
                self.found(at, LOSSES, format!("request {name} has another result of tool use {id} than the tool gave"));
            }
        }
    }

    /// The id and the whole block of a result that is still to be looked for.
    fn result_in(&self, block: &Block) -> Option<(Arc<str>, Value)> {
        let BlockKind::ToolResult { tool_use_id, .. } = block.kind() else { return None };
        self.results.contains_key(tool_use_id).then(|| (tool_use_id.clone(), block.json().to_value()))
    }

    /// A tool of the scenario has ended.
    pub(super) fn on_tool_end(&mut self, id: &Arc<str>, content: Value) {
        self.results.insert(id.clone(), content);
    }

    /// Events reached the client.
    pub(super) fn on_delivered(&mut self, events: &[WorldEvent]) {
        for event in events {
            let Some(answer) = body_of(&event.source) else { continue };
            if let Some((prompt, since)) = self.outlived.get(&answer).copied()
                && event.at > since
            {
                self.outlived.remove(&answer);
                self.found(event.at, LEFTOVERS, format!("prompt {prompt} has ended, and the client still reads answer {answer}"));
            }
        }
    }

    /// The run is over.
    pub(super) fn into_violations(mut self, at: Time) -> Vec<Violation> {
        let lost: Vec<Arc<str>> = self
            .said
            .iter()
            .filter(|said| said.prompt.is_none() && said.has_chance && !said.is_sent)
            .map(|said| said.text.clone())
            .collect();
        for text in lost {
            self.found(at, LOSSES, format!("the message \"{text}\" is in no later request"));
        }
        self.violations
    }

    /// Whether the notes were sent that a rule needs.
    pub(super) fn is_asked(&self, rule: &str, deeds: &ClientDeeds) -> bool {
        match rule {
            LOSSES => !self.said.is_empty(),
            ABORT => deeds.is_disturbed,
            _ => false,
        }
    }

    fn found(&mut self, at: Time, oracle: &'static str, text: String) {
        self.violations.push(Violation { at, oracle, text });
    }
}

/// The answer of which an event is a part of the body.
fn body_of(source: &EventSource) -> Option<u32> {
    match source {
        EventSource::Answer { answer, part: Some((_, AnswerPart::Event(_))) } => Some(*answer),
        _ => None,
    }
}

/// All texts in the messages of a request.
fn user_texts(request: &Request) -> Vec<Arc<str>> {
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    blocks
        .flat_map(|block| match block.kind() {
            BlockKind::Text(text) => vec![text.clone()],
            BlockKind::ToolResult { .. } => strings(&block.json().to_value()).into_iter().map(Arc::from).collect(),
            _ => Vec::new(),
        })
        .collect()
}

/// All strings in a value that are no names of kinds or ids.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(members) => {
            let is_content = |key: &str| !matches!(key, "type" | "tool_use_id" | "id" | "media_type" | "cache_control");
            members.iter().filter(|(key, _)| is_content(key)).flat_map(|(_, value)| strings(value)).collect()
        }
        _ => Vec::new(),
    }
}
