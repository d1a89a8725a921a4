//! O-21: a stable prefix. Each request begins with the one before, compared without `cache_control`, unless an edit was announced since. An edit of the
//! cache, once sent, is sent again (C-2). After the user has cleared the conversation nothing of it is sent (S-3).
//!
//! Requests that are no part of the conversation (a summary, a line about tools) are known by their texts, ask another model, bring other tools, or are followed
//! by a request that goes on where the one before them had ended. They are left out. A request that was too long must become another one.
//!
//! It is not asked of sessions that begin with messages, or whose host changes some: there a summary of what was given looks like another beginning.

use super::command_prompts::{CommandKind, CommandPrompts};
use super::request_kind::{RequestKind, SentRequest, asking_message};
use super::{OracleFindings, OracleRules, same_messages};
use reenact_engine::contract::{Effect, Emission, Input, Message, Note, Request, RequestId, Role, Terminal};
use reenact_engine::key::SharedValue;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

pub(super) const ORACLE: &str = "O-21";

/// The member of a request that asks the API to clear old results.
const CACHE_EDIT: &str = "context_management";

/// How many requests a compaction may make of its own before the conversation goes on where it was.
const SIDE_REQUESTS_MAX: usize = 8;

/// The latest requests that the next one may begin with, and whether an edit was announced since the last one.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct PrefixOracle {
    sent: Vec<SentConversation>,
    is_edited: bool,
    commands: CommandPrompts,
    /// The user has cleared the conversation, and nothing was asked since.
    is_cleared: bool,
    /// The last request that asked the API to clear old results.
    cache_edit: Option<RequestId>,
}

#[derive(Clone, Debug, Hash)]
struct SentConversation {
    id: RequestId,
    request: SharedValue<Request>,
    is_after_edit: bool,
}

impl PrefixOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        self.is_edited |= self.commands.begins_by(input) || matches!(input, Input::Head { status: 400 | 413, .. });
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        if let Effect::Emit(Emission::CompactBoundary { .. } | Emission::LocalOutput { .. } | Emission::ModelFallback { .. }) = effect {
            self.cache_edit = None;
        }
        let ended = self.commands.ended_by(effect);
        self.is_edited |= ended.is_some();
        let is_well = matches!(effect, Effect::Finished { terminal: Terminal::Completed, .. });
        self.is_cleared |= is_well && ended == Some(CommandKind::Clear);
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

    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let SentRequest { id, request, kind } = sent;
        if kind != RequestKind::Ordinary {
            return;
        }
        if core::mem::take(&mut self.is_cleared) && may_clear(rules) {
            found.ask(ORACLE);
            if request.messages.iter().any(|message| message.role == Role::Assistant) {
                found.add(ORACLE, format!("request {id} holds words of the model from before the conversation was cleared"));
            }
        }
        if rules.settings.session.changes.is_empty() {
            self.check_cache_edit(id, request, found);
        }
        if !rules.given_messages.is_empty() {
            return;
        }
        let is_after_edit = core::mem::take(&mut self.is_edited);
        let next = SentConversation { id, request: request.clone(), is_after_edit };
        if let Some(last) = self.sent.last() {
            if !is_after_edit && (last.request.model != request.model || last.request.tools != request.tools) {
                return;
            }
            found.ask(ORACLE);
            let begun_with = self.sent.iter().rposition(|sent| sent.difference(&next).is_none());
            let goes_on = begun_with.is_some_and(|at| self.sent[at + 1..].iter().all(|sent| sent.is_aside(&next)));
            if !is_after_edit && !goes_on {
                let place = last.difference(&next).unwrap_or_default();
                found.add(ORACLE, format!("request {id} does not begin with request {}: block {place} is another one", last.id));
            }
            if let Some(at) = begun_with {
                self.sent.truncate(at + 1);
            }
        }
        if self.sent.len() == SIDE_REQUESTS_MAX {
            self.sent.remove(0);
        }
        self.sent.push(next);
    }
}

impl PrefixOracle {
    /// C-2: an edit of the cache is sent with each later request, or the cache is lost.
    fn check_cache_edit(&mut self, id: RequestId, request: &Request, found: &mut OracleFindings<'_>) {
        let extra = request.extra.as_str();
        let has_edit = extra.contains(CACHE_EDIT) && RawObject::parse(extra).is_ok_and(|members| members.get(CACHE_EDIT).is_some());
        let before = if has_edit { self.cache_edit.replace(id) } else { self.cache_edit.take() };
        let Some(before) = before else { return };
        found.ask(ORACLE);
        if !has_edit {
            found.add(ORACLE, format!("request {id} has no edit of the cache, and request {before} had one"));
        }
    }
}

/// Whether `/clear` is a command of the engine, and nobody else puts messages into the conversation.
fn may_clear(rules: &OracleRules) -> bool {
    let session = &rules.settings.session;
    let is_own = session.commands.iter().any(|command| &*command.name == "clear");
    session.slash_commands && !is_own && session.host_messages.is_empty() && session.orphaned_permission.is_none()
}

impl SentConversation {
    /// The position of the first block that does not stand at its place in `next`, from 1.
    fn difference(&self, next: &Self) -> Option<usize> {
        let (before, after) = (&self.request.messages, &next.request.messages);
        let same = same_messages(before, after);
        let known: usize = before[..same].iter().map(|message| message.content.len()).sum();
        let mut after = blocks(&after[same..]);
        blocks(&before[same..]).position(|before| after.next().is_none_or(|after| !is_same(before, after))).map(|place| known + place + 1)
    }

    /// Whether this request added a last text of its own to the conversation that `next` goes on with, or was made in its place.
    fn is_aside(&self, next: &Self) -> bool {
        let until = asking_message(&self.request).map_or(0, |place| place + 1);
        let messages = &self.request.messages[..until];
        let ends_with_text = messages.last().is_some_and(|last| matches!(last.content.last().map(Block::kind), Some(BlockKind::Text(_))));
        let is_last = |place| place == messages.iter().map(|message| message.content.len()).sum::<usize>();
        self.is_after_edit || (ends_with_text && self.difference(next).is_none_or(is_last))
    }
}

fn blocks(messages: &[Arc<Message>]) -> impl Iterator<Item = (Role, &Block)> {
    messages.iter().flat_map(|message| message.content.iter().map(|block| (message.role, block)))
}

fn is_same((role, before): (Role, &Block), (other, after): (Role, &Block)) -> bool {
    let plain = |block: &Block| RawObject::parse(block.json().as_str()).map(|object| object.without("cache_control"));
    role == other && (before == after || plain(before).ok() == plain(after).ok())
}
