//! O-12, third part: a compaction keeps an answer whole or not at all (C-7).
//!
//! An answer comes out as several messages, one for each block. The requests after a compaction show all of its texts and tool uses, or none. That a
//! tool use is not parted from its result is O-1's. Thinking is left out of this: another model does not get it. So is a text that two
//! answers share, because a request does not say whose it is.

use alloc::collections::{BTreeMap, BTreeSet};

use super::ORACLE;
use crate::request_kind::{RequestKind, SentRequest};
use crate::{OracleFindings, OracleRules};
use reenact_engine::contract::{Block, BlockKind, Effect, Emission, Note, RequestId, Role};
use reenact_engine::settings::BrokenStreamPolicy;
use reenact_wire::prelude::*;

/// The answers to one agent, as they came out.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct WholeAnswerOracle {
    answers: Vec<Arc<EmittedParts>>,
    /// Whether the conversation was cut since the last request.
    is_cut: bool,
}

#[derive(Clone, Debug, Hash)]
struct EmittedParts {
    id: RequestId,
    parts: Vec<EmittedPart>,
}

/// The mark by which a request shows a block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum EmittedPart {
    Text(Arc<str>),
    /// The id of a tool use: consumers get a copy with more fields than requests have.
    ToolUse(Arc<str>),
}

impl EmittedPart {
    fn read(block: &Block) -> Option<Self> {
        match block.kind() {
            BlockKind::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()).map(|text| Self::Text(text.into())),
            BlockKind::ToolUse(tool_use) => Some(Self::ToolUse(tool_use.id.clone())),
            _ => None,
        }
    }
}

impl WholeAnswerOracle {
    pub(super) fn on_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Emit(Emission::Assistant(message)) if message.error.is_none() => {
                let Some(part) = EmittedPart::read(&message.block) else { return };
                match self.answers.last_mut().filter(|last| last.id == message.id) {
                    Some(last) => Arc::make_mut(last).parts.push(part),
                    None => self.answers.push(Arc::new(EmittedParts { id: message.id, parts: vec![part] })),
                }
            }
            Effect::Emit(Emission::CompactBoundary { .. } | Emission::SnipBoundary { .. })
            | Effect::Note(Note::Compaction { ran: true, .. }) => self.is_cut = true,
            _ => (),
        }
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let SentRequest { id, request, kind } = sent;
        let is_cut = self.is_cut || kind == RequestKind::Summary;
        self.is_cut &= kind != RequestKind::Ordinary;
        // By cause, a broken answer is kept in part on purpose.
        if !is_cut || rules.settings.retry.broken_streams != BrokenStreamPolicy::ByBlock {
            return;
        }
        let said = request.messages.iter().filter(|message| message.role == Role::Assistant);
        let shown: BTreeSet<EmittedPart> = said.flat_map(|message| &message.content).filter_map(EmittedPart::read).collect();
        let shared = self.shared_parts();
        let given = rules.given_messages.iter().flat_map(|message| &message.content);
        let given: BTreeSet<EmittedPart> = given.filter_map(EmittedPart::read).collect();
        let is_of_one = |part: &EmittedPart| !shared.contains(part) && !given.contains(part);
        for answer in &self.answers {
            let is_shown = answer.parts.iter().any(|part| shown.contains(part) && is_of_one(part));
            if is_shown {
                found.ask(ORACLE);
            }
            if is_shown && !answer.parts.iter().all(|part| shown.contains(part)) {
                found.add(ORACLE, format!("request {id} has a part of answer {} alone after a compaction", answer.id));
            }
        }
    }

    /// The parts that more than one answer has.
    fn shared_parts(&self) -> BTreeSet<&EmittedPart> {
        let mut seen: BTreeMap<&EmittedPart, usize> = BTreeMap::new();
        let parts = self.answers.iter().enumerate().flat_map(|(nth, answer)| answer.parts.iter().map(move |part| (part, nth)));
        parts.filter_map(|(part, nth)| (*seen.entry(part).or_insert(nth) != nth).then_some(part)).collect()
    }
}
