//! The results of a call: blocks with their names, and the answer with all that is known of it.

use super::{ApiCall, CallCause, CallState, CallVerdict, CompletedAnswer};
use crate::agent_effects::AgentEffects;
use crate::contract::RequestId;
use crate::emission::{AssistantMessage, Note};
use crate::retry::AttemptFailure;
use crate::retry::broken_stream::{StreamBreak, StreamProgress};
use crate::settings::{Environment, Settings};
use crate::time::Time;
use reenact_wire::block::Block;
use reenact_wire::order::OrderViolation;
use reenact_wire::prelude::*;
use reenact_wire::usage::cleared_input_tokens;
use reenact_wire::whole_message::whole_message;

impl ApiCall {
    /// an answer that comes whole gives the same blocks as a streamed one.
    pub(super) fn on_whole_answer(&mut self, env: &Environment, now: Time, body: &str, effects: &mut AgentEffects) -> CallVerdict {
        if body.trim().is_empty() {
            let failure = AttemptFailure::new("empty_answer", "the answer has status 200 and no content");
            return self.fail(env, now, failure.broken_by(StreamBreak::Empty), effects);
        }
        match whole_message(body) {
            Ok(whole) => {
                self.usage = whole.usage;
                self.refusal_category = category(body, "/stop_details/category");
                self.cleared_input_tokens = cleared_input_tokens(body);
                let blocks = messages(self.id, &whole.id, &whole.model, whole.blocks);
                self.ended(now, blocks, whole.stop_reason, effects)
            }
            Err(problem) => self.fail(env, now, AttemptFailure::new("unreadable_answer", &problem.to_string()), effects),
        }
    }

    pub(super) fn ended(
        &mut self,
        now: Time,
        blocks: Vec<Arc<AssistantMessage>>,
        stop_reason: Option<Arc<str>>,
        effects: &mut AgentEffects,
    ) -> CallVerdict {
        self.to(CallCause::WholeAnswer, CallState::Ended);
        self.history.overloads = 0;
        self.disarm(effects);
        self.report(now, "ok", effects);
        CallVerdict::Ended(self.completed(now, blocks, stop_reason))
    }

    /// The answer with all that is known of it.
    pub(super) fn completed(&self, now: Time, blocks: Vec<Arc<AssistantMessage>>, stop_reason: Option<Arc<str>>) -> CompletedAnswer {
        CompletedAnswer {
            blocks,
            stop_reason,
            model: self.request.model.clone(),
            usage: self.usage,
            refusal_category: self.refusal_category.clone(),
            cleared_input_tokens: self.cleared_input_tokens,
            took: now.since(*self.since),
            is_part: false,
        }
    }

    /// How far the stream came, if there is one.
    pub(super) fn progress(&self) -> StreamProgress {
        match &self.state {
            CallState::Streaming { progress, .. } => *progress,
            _ => StreamProgress::default(),
        }
    }
}

/// Blocks that came together, from index 0 on.
pub(super) fn messages(id: RequestId, api_id: &str, model: &str, blocks: Vec<Block>) -> Vec<Arc<AssistantMessage>> {
    (0..).zip(blocks).map(|(index, block)| Arc::new(message(id, api_id, model, index, block))).collect()
}

/// the uuid says where the block comes from.
pub(super) fn message(id: RequestId, api_id: &str, model: &str, index: u32, block: Block) -> AssistantMessage {
    let uuid = format!("p{}.r{}.a{}.b{index}", id.prompt, id.turn, id.attempt);
    AssistantMessage { uuid: uuid.into(), id, api_id: api_id.into(), model: model.into(), block, error: None }
}

/// A block as the conversation keeps it (N-3).
pub(super) fn as_sent(block: Block, settings: &Settings) -> Block {
    if settings.unparsed_inputs { block.with_unparsed_input() } else { block }
}

/// The text at `pointer`; refusals are rare, so nothing is kept parsed for them.
pub(super) fn category(json: &str, pointer: &str) -> Option<Arc<str>> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    value.pointer(pointer)?.as_str().map(Arc::from)
}

pub(super) fn defect(id: RequestId, violation: &OrderViolation) -> Note {
    Note::Defect { id, name: violation.name().into(), text: "".into() }
}
