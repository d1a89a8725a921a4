//! O-5, of a summary: it holds words of the attempt that came whole, and none of an attempt before it that was cut (C-4).

use crate::OracleFindings;
use crate::discarded_attempts::ORACLE;
use reenact_engine::contract::{EventPayload, Input, RequestId};
use reenact_wire::event::BlockDelta;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// Fewer words may stand in both by chance.
const CHARACTERS_MIN: usize = 20;

/// The attempts at the request for a summary that was made last.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SummarySourceOracle {
    /// With the text of each.
    attempts: Vec<(RequestId, String)>,
    /// Whether the last answer was cut off by a limit on its length.
    is_cut_off: bool,
}

impl SummarySourceOracle {
    pub(super) fn on_summary_request(&mut self, id: RequestId) {
        let is_of_now = |(attempt, _): &(RequestId, String)| (attempt.prompt, attempt.turn) == (id.prompt, id.turn);
        self.attempts.retain(is_of_now);
        self.attempts.push((id, String::new()));
        self.is_cut_off = false;
    }

    pub(super) fn is_about(&self, id: RequestId) -> bool {
        self.attempts.iter().any(|(attempt, _)| *attempt == id)
    }

    pub(super) fn on_input(&mut self, input: &Input) {
        let (Input::Stream { id, .. } | Input::Body { id, .. }) = input else { return };
        let Some((_, text)) = self.attempts.iter_mut().find(|(attempt, _)| attempt == id) else { return };
        match input {
            Input::Stream { event, .. } => match event.payload() {
                EventPayload::BlockStart { block, .. } => {
                    text.push_str(&RawObject::parse(block).ok().and_then(|block| block.string("text")).unwrap_or_default())
                }
                EventPayload::BlockDelta { delta: BlockDelta::Text(more), .. } => text.push_str(more),
                EventPayload::MessageDelta(delta) => {
                    self.is_cut_off |= matches!(delta.stop_reason.as_deref(), Some("max_tokens" | "model_context_window_exceeded"));
                }
                _ => (),
            },
            Input::Body { body, .. } => text.push_str(body),
            _ => (),
        }
    }

    /// The summary is in the conversation.
    pub(super) fn on_summary(&mut self, summary: &str, found: &mut OracleFindings<'_>) {
        let mut attempts = core::mem::take(&mut self.attempts);
        let Some((id, whole)) = attempts.pop() else { return };
        if core::mem::take(&mut self.is_cut_off) {
            found.add(super::ORACLE, format!("the answer to request {id} is the summary, and a limit on its length cut it off"));
        }
        let cut = attempts.iter().map(|(id, text)| (id, text.trim())).filter(|(_, text)| text.chars().count() >= CHARACTERS_MIN);
        for (id, text) in cut {
            found.ask(ORACLE);
            if summary.contains(text) && !whole.contains(text) {
                found.add(ORACLE, format!("the summary holds words of attempt {id}, which was cut: {text}"));
            }
        }
    }
}
