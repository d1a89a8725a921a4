//! The requests and answers of a run in order, each request with all its messages.

use core::time::Duration;

use super::BoundaryAction;
use super::moment::ClientMoment;
use crate::serve::gate::{AnswerBoundary, AnswerPart};
use reenact_engine::contract::{Agent, Input, Message, RequestId};
use reenact_foreign::verdict::{ServedEnd, SessionVerdict};
use reenact_stores::conversation::StoredMessage;
use reenact_transcript::event::EventKind;
use reenact_wire::assembler::Assembler;
use reenact_wire::block::{Block, BlockKind, ToolUse};
use reenact_wire::event::{BlockDelta, EventPayload};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::whole_message::whole_message;

/// A request and its answer.
#[derive(Debug)]
pub(super) struct RunExchange {
    agent: Agent,
    id: RequestId,
    /// The how many-th request for a message it is, from 1, over all agents.
    pub(super) number: u32,
    /// All its messages, as the rules of histories take them.
    pub(super) messages: Vec<StoredMessage>,
    /// The status of its answer; `None` without a head.
    pub(super) status: Option<u16>,
    /// How its answer ended.
    pub(super) how: ServedEnd,
    /// The complete blocks of its answer.
    blocks: Vec<Block>,
    /// Whether the whole answer was sent.
    pub(super) is_complete: bool,
    /// Why the model stopped.
    pub(super) stop_reason: Option<Arc<str>>,
    /// Whether its answer ended with an error event.
    pub(super) has_error: bool,
    /// How long after the action on the client it was in.
    pub(super) after_action: Option<Duration>,
    /// The texts of its answer as far as they came, a block each.
    said: Vec<String>,
    /// The ids of the tool calls that began in its answer.
    begun: Vec<Arc<str>>,
    assembler: Assembler,
}

impl RunExchange {
    /// Whether the whole answer was sent, and the client was there for all of it. Many clients leave when they have the last event.
    pub(super) fn is_whole(&self) -> bool {
        self.is_complete && matches!(self.how, ServedEnd::Complete | ServedEnd::LeftAtEnd)
    }

    /// Whether all of its answer had been sent when the client was acted on.
    pub(super) fn was_sent_before(&self, act: &BoundaryAction) -> bool {
        match &act.at {
            ClientMoment::Start(_) => false,
            ClientMoment::Answer(AnswerBoundary { answer, before }) => {
                self.number < *answer || (self.number == *answer && *before == AnswerPart::End)
            }
            ClientMoment::Tools { answer, .. } | ClientMoment::Marker { answer } => self.number <= *answer,
            ClientMoment::Done(_) => true,
        }
    }

    /// `request 2`.
    pub(super) fn name(&self) -> String {
        format!("request {}", self.agent.key(self.id))
    }

    pub(super) fn is_of_root(&self) -> bool {
        self.agent.is_root()
    }

    /// The complete blocks of its answer.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter()
    }

    /// The tool calls of its answer.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.blocks.iter().filter_map(Block::as_tool_use)
    }

    /// The ids of the tool calls that began in its answer and did not come whole.
    pub(super) fn cut_calls(&self) -> impl Iterator<Item = &Arc<str>> {
        self.begun.iter().filter(|id| self.calls().all(|call| call.id != **id))
    }

    /// The texts of its answer as far as they came.
    pub(super) fn said(&self) -> impl Iterator<Item = &str> {
        self.said.iter().map(|text| &**text).filter(|text| !text.trim().is_empty())
    }

    /// Whether its answer was a failure after which clients ask the same again.
    pub(super) fn is_to_be_retried(&self) -> bool {
        match self.status {
            Some(200) => !self.is_complete && (self.has_error || matches!(self.how, ServedEnd::Complete | ServedEnd::Reset)),
            Some(status) => matches!(status, 408 | 409 | 429) || status >= 500,
            None => self.how == ServedEnd::Reset,
        }
    }

    /// Notes what has come of a block that may never be whole.
    fn note_part(&mut self, event: &EventPayload<'_>) {
        match event {
            EventPayload::BlockStart { kind, block, .. } => {
                let block = RawObject::parse(block).ok();
                let member = |name| block.as_ref().and_then(|block| block.string(name));
                match &**kind {
                    "text" => self.said.push(member("text").unwrap_or_default().into_owned()),
                    "tool_use" => self.begun.extend(member("id").map(|id| Arc::from(&*id))),
                    _ => (),
                }
            }
            EventPayload::BlockDelta { delta: BlockDelta::Text(text), .. } => {
                if let Some(last) = self.said.last_mut() {
                    last.push_str(text);
                }
            }
            EventPayload::Error { .. } => self.has_error = true,
            _ => (),
        }
    }

    /// The texts of its answer that say something.
    pub(super) fn texts(&self) -> impl Iterator<Item = &Arc<str>> {
        self.blocks.iter().filter_map(|block| match block.kind() {
            BlockKind::Text(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        })
    }
}

/// The exchanges of a run.
pub(super) fn exchanges(verdict: &SessionVerdict) -> Vec<RunExchange> {
    let mut exchanges: Vec<RunExchange> = Vec::new();
    let mut last: Vec<(Agent, Vec<Arc<Message>>)> = Vec::new();
    for event in verdict.transcript.events.iter() {
        match &event.what {
            EventKind::Request { id, request } => {
                let at = last.iter().position(|(agent, _)| *agent == event.agent).unwrap_or_else(|| {
                    last.push((event.agent.clone(), Vec::new()));
                    last.len() - 1
                });
                let messages = &mut last[at].1;
                messages.truncate(request.kept);
                messages.extend(request.added.iter().cloned());
                let name = format!("request {}", event.agent.key(*id));
                exchanges.push(RunExchange {
                    agent: event.agent.clone(),
                    id: *id,
                    number: 0,
                    messages: StoredMessage::of_request(&name, messages),
                    status: None,
                    how: ServedEnd::ServerGone,
                    blocks: Vec::new(),
                    is_complete: false,
                    stop_reason: None,
                    has_error: false,
                    after_action: None,
                    said: Vec::new(),
                    begun: Vec::new(),
                    assembler: Assembler::new(),
                });
            }
            EventKind::Input(Input::Stream { id, event: sent }) => {
                if let Some(exchange) = find(&mut exchanges, &event.agent, *id) {
                    exchange.note_part(sent.payload());
                    let blocks = exchange.assembler.on_event(sent, &mut Vec::new()).into_blocks();
                    exchange.blocks.extend(blocks);
                    (exchange.is_complete, exchange.stop_reason) =
                        (exchange.assembler.is_complete(), exchange.assembler.stop_reason().cloned());
                }
            }
            EventKind::Input(Input::Body { id, body }) => {
                if let (Some(exchange), Ok(message)) = (find(&mut exchanges, &event.agent, *id), whole_message(body)) {
                    (exchange.is_complete, exchange.stop_reason, exchange.blocks) = (true, message.stop_reason, message.blocks);
                    exchange.said = exchange.texts().map(|text| String::from(&**text)).collect();
                }
            }
            _ => (),
        }
    }
    let asked = verdict.asked.iter().filter_map(|asked| Some((asked.message.as_ref()?, asked)));
    for (number, (message, asked)) in (1..).zip(asked) {
        if let Some(exchange) = find(&mut exchanges, &message.agent, message.id) {
            (exchange.number, exchange.status, exchange.how) = (number, asked.status, asked.how);
            exchange.after_action = asked.after_action;
        }
    }
    exchanges
}

fn find<'e>(exchanges: &'e mut [RunExchange], agent: &Agent, id: RequestId) -> Option<&'e mut RunExchange> {
    exchanges.iter_mut().rfind(|exchange| (&exchange.agent, exchange.id) == (agent, id))
}
