//! O-21: a stable prefix. Each request begins with the one before, compared without `cache_control`, unless an edit was announced since.
//!
//! Requests that are no part of the conversation (a summary, a line about tools) ask another model, bring other tools, or are followed by a request that goes on
//! where the one before them had ended. They are left out. A request that was too long must become another one.
//!
//! It is not asked of sessions that begin with messages, or whose host changes some: there a summary of what was given looks like another beginning.

use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, Message, Note, Request, RequestId, Role};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

pub(super) const ORACLE: &str = "O-21";

/// How many requests a compaction may make of its own before the conversation goes on where it was.
const SIDE_REQUESTS_MAX: usize = 8;

/// The latest requests that the next one may begin with, and whether an edit was announced since the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct PrefixOracle {
    sent: Vec<Arc<SentConversation>>,
    is_edited: bool,
}

#[derive(Clone, Debug)]
struct SentConversation {
    id: RequestId,
    messages: Vec<Arc<Message>>,
    model: Arc<str>,
    tools: Option<Json>,
    is_after_edit: bool,
}

impl PrefixOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        self.is_edited |= matches!(input, Input::Head { status: 400 | 413, .. });
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        self.is_edited |= match effect {
            Effect::Emit(
                Emission::CompactBoundary { .. }
                | Emission::SnipBoundary { .. }
                | Emission::MicrocompactBoundary { .. }
                | Emission::Tombstone { .. }
                | Emission::ModelFallback { .. }
                | Emission::LocalOutput { .. },
            ) => true,
            Effect::Note(Note::Compaction { ran, .. }) => *ran,
            Effect::Note(Note::Discarded { .. } | Note::LeftRunning { .. }) => true,
            _ => false,
        };
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, id: RequestId, request: &Request, found: &mut OracleFindings<'_>) {
        if !rules.given_messages.is_empty() {
            return;
        }
        let is_after_edit = core::mem::take(&mut self.is_edited);
        let (messages, model, tools) = (request.messages.clone(), request.model.clone(), request.tools.clone());
        let next = SentConversation { id, messages, model, tools, is_after_edit };
        if let Some(last) = self.sent.last() {
            if !is_after_edit && (last.model != next.model || last.tools != next.tools) {
                return;
            }
            let begun_with = self.sent.iter().rposition(|sent| difference(&sent.messages, &next.messages).is_none());
            let goes_on = begun_with.is_some_and(|at| self.sent[at + 1..].iter().all(|sent| sent.is_aside(&next)));
            if let Some(place) = difference(&last.messages, &next.messages).filter(|_| !is_after_edit && !goes_on) {
                found.add(ORACLE, format!("request {id} does not begin with request {}: block {place} is another one", last.id));
            }
            if let Some(at) = begun_with {
                self.sent.truncate(at + 1);
            }
        }
        if self.sent.len() == SIDE_REQUESTS_MAX {
            self.sent.remove(0);
        }
        self.sent.push(Arc::new(next));
    }
}

impl SentConversation {
    /// Whether this request added a last text of its own to the conversation that `next` goes on with, or was made in its place.
    fn is_aside(&self, next: &Self) -> bool {
        let ends_with_text =
            self.messages.last().is_some_and(|last| matches!(last.content.last().map(Block::kind), Some(BlockKind::Text(_))));
        let is_last = |place| place == self.messages.iter().map(|message| message.content.len()).sum::<usize>();
        self.is_after_edit || (ends_with_text && difference(&self.messages, &next.messages).is_none_or(is_last))
    }
}

/// The position of the first block of `before` that does not stand at its place in `after`, from 1.
fn difference(before: &[Arc<Message>], after: &[Arc<Message>]) -> Option<usize> {
    let same = before.iter().zip(after).take_while(|(before, after)| Arc::ptr_eq(before, after)).count();
    let known: usize = before[..same].iter().map(|message| message.content.len()).sum();
    let mut after = blocks(&after[same..]);
    blocks(&before[same..]).position(|before| after.next().is_none_or(|after| !is_same(before, after))).map(|place| known + place + 1)
}

fn blocks(messages: &[Arc<Message>]) -> impl Iterator<Item = (Role, &Block)> {
    messages.iter().flat_map(|message| message.content.iter().map(|block| (message.role, block)))
}

fn is_same((role, before): (Role, &Block), (other, after): (Role, &Block)) -> bool {
    let plain = |block: &Block| RawObject::parse(block.json().as_str()).map(|object| object.without("cache_control"));
    role == other && (before == after || plain(before).ok() == plain(after).ok())
}
