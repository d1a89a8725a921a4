//! O-34, second half: what the request after a recovery shows of the answer before it. A cut, a paused or a completed answer stays in the conversation;
//! one that is asked for again with a raised cap, refused, or nudged for a missing tool use does not.
//!
//! The model's texts and tool uses are counted. Thinking is left out: it is bound to its place. After a compaction of any level nothing is known.

use super::ORACLE;
use crate::{OracleFindings, same_messages};
use reenact_engine::contract::{Block, BlockKind, Request, RequestId, Role};
use reenact_engine::emission::Transition;
use reenact_engine::key::SharedValue;
use reenact_engine::settings::Settings;
use reenact_wire::prelude::*;

/// The expectation of the next request.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Resumption {
    /// The last request, and how many parts of the model it has.
    counted: Option<(SharedValue<Request>, u32)>,
    /// How many parts of the model the last request had; `None` when the conversation was cut since.
    shown: Option<u32>,
    /// How many the next one has, and the transition that says so.
    expected: Option<(u32, Transition)>,
}

impl Resumption {
    pub(super) fn on_request(&mut self, id: RequestId, request: &SharedValue<Request>, found: &mut OracleFindings<'_>) {
        let shown = self.count(request);
        if let Some((expected, transition)) = self.expected.take()
            && shown != expected
        {
            let text =
                format!("request {id} has {shown} texts and tool uses of the model after {}, and {expected} are due", transition.as_str());
            found.add(ORACLE, text);
        }
        self.shown = Some(shown);
    }

    /// The prompt goes on after an answer of so many parts.
    pub(super) fn on_transition(&mut self, transition: Transition, parts: u32, settings: &Settings) {
        let is_kept = match transition {
            Transition::MaxOutputTokensRecovery
            | Transition::PauseTurnResume
            | Transition::StopHookBlocking
            | Transition::TokenBudgetContinuation => true,
            Transition::RefusalRetry => settings.refusal_notes,
            Transition::MaxOutputTokensEscalate => false,
            _ => return self.forget(),
        };
        self.expected = self.shown.map(|shown| (shown + if is_kept { parts } else { 0 }, transition));
    }

    /// The conversation is another one.
    pub(super) fn forget(&mut self) {
        (self.shown, self.expected) = (None, None);
    }

    /// The parts of the model in a request. Those of messages that the last one had were counted.
    fn count(&mut self, request: &SharedValue<Request>) -> u32 {
        let known = self.counted.take().filter(|(last, _)| same_messages(&last.messages, &request.messages) == last.messages.len());
        let (place, before) = known.map_or((0, 0), |(last, count)| (last.messages.len(), count));
        let said = request.messages[place..].iter().filter(|message| message.role == Role::Assistant);
        let count = before + said.flat_map(|message| &message.content).map(|block| u32::from(is_part(block))).sum::<u32>();
        self.counted = Some((request.clone(), count));
        count
    }
}

/// Whether a block is a tool use, or text that says something.
pub(super) fn is_part(block: &Block) -> bool {
    match block.kind() {
        BlockKind::Text(text) => !text.trim().is_empty(),
        BlockKind::ToolUse(_) => true,
        _ => false,
    }
}
