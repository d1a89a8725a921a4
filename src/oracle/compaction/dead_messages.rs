//! O-12, of messages that are taken out of the conversation (C-1): the next request lacks something, and no later one brings it back.
//!
//! The texts and the tool uses that are gone are those that the request before the edit had and the one after it lacks. They are no longer asked about once somebody says them
//! again, or where something else has edited the conversation meanwhile.

use super::ORACLE;
use crate::command_prompts::has_command;
use crate::request_kind::{RequestKind, SentRequest};
use crate::{OracleFindings, OracleRules};
use reenact_engine::contract::{Block, Effect, Emission, Input, Note, Request, RequestId};
use reenact_engine::emission::CompactionLevel;
use reenact_engine::key::SharedValue;
use reenact_engine::settings::CommandAction;
use reenact_wire::block::{BlockKind, Message};
use reenact_wire::prelude::*;

/// So long a text is said twice by hardly anybody by chance, in bytes.
const TELLING: usize = 16;

/// The texts that were taken out of one agent's conversation.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct DeadMessageOracle {
    /// The last request of the conversation.
    last: Option<(RequestId, SharedValue<Request>)>,
    /// The prompt and the turn of the first one after the last compaction: an answer before it may be in the summary alone.
    first: Option<(u32, u32)>,
    /// Messages were taken out since then.
    edit: Option<EditSinceRequest>,
    gone: Vec<Arc<str>>,
    /// The ids of the tool uses that are gone.
    gone_uses: Vec<Arc<str>>,
    /// The prompts that have not been asked about yet, each with its number.
    waiting: Vec<(u32, Arc<[Block]>)>,
}

/// The facts about the edit.
#[derive(Clone, Copy, Debug, Hash)]
struct EditSinceRequest {
    /// One of the messages is an answer that the last request holds.
    is_in_request: bool,
}

impl DeadMessageOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        match input {
            Input::Prompt { prompt, content } | Input::Interrupt { prompt, content } => self.waiting.push((*prompt, content.clone())),
            Input::HookEnded { outcome, .. } => {
                let said = [&outcome.reason, &outcome.context, &outcome.stop].into_iter().flatten();
                said.for_each(|text| self.is_said_again(text));
            }
            _ => (),
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect) {
        match effect {
            Effect::Emit(Emission::QueuedCommand { prompt, .. }) | Effect::Finished { prompt, .. } => self.begin(rules, *prompt),
            Effect::Note(Note::Compaction { ran: true, level, .. }) if *level != CompactionLevel::Snip => self.edit = None,
            Effect::Emit(emission) => self.on_emission(emission),
            _ => (),
        }
    }

    fn on_emission(&mut self, emission: &Emission) {
        match emission {
            Emission::SnipBoundary { names, .. } => {
                let last = self.last.as_ref().map(|(id, _)| (id.prompt, id.turn));
                let held = self.first.zip(last).map(|(first, last)| first..last);
                let is_earlier = |name: &Arc<str>| held.as_ref().zip(answer_of(name)).is_some_and(|(held, answer)| held.contains(&answer));
                self.edit = Some(EditSinceRequest { is_in_request: names.iter().any(is_earlier) });
            }
            Emission::CompactBoundary { .. } | Emission::LocalOutput { .. } => (self.last, self.first, self.edit) = (None, None, None),
            Emission::Assistant(message) => {
                text(&message.block).into_iter().for_each(|text| self.is_said_again(text));
                self.gone_uses.retain(|gone| use_id(&message.block) != Some(gone));
            }
            Emission::Hidden { text, .. } | Emission::HookContext { text, .. } | Emission::Interrupted { text, .. } => {
                self.is_said_again(text);
            }
            _ => (),
        }
    }

    /// The model is asked about a prompt of the user. A command stands for a text of its own.
    fn begin(&mut self, rules: &OracleRules, prompt: u32) {
        let Some(at) = self.waiting.iter().position(|(waiting, _)| *waiting == prompt) else { return };
        let (_, content) = self.waiting.remove(at);
        content.iter().filter_map(text).for_each(|text| self.is_said_again(text));
        if !has_command(&content) {
            return;
        }
        for command in &rules.settings.session.commands {
            if let CommandAction::Ask(text) = &command.does {
                self.gone.retain(|gone| !text.split("$ARGUMENTS").all(|part| gone.contains(part.trim())));
            }
        }
    }

    /// An engine may put words of its own around what others say.
    fn is_said_again(&mut self, said: &str) {
        let is_within = |gone: &str| said.trim().len() >= TELLING && gone.contains(said.trim());
        self.gone.retain(|gone| !said.contains(&**gone) && !is_within(gone));
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        if !rules.keeps_own_words() {
            return;
        }
        self.begin(rules, sent.id.prompt);
        self.gone.retain(|gone| {
            found.ask(ORACLE);
            let is_back = texts(sent.request).any(|text| *text == **gone);
            if is_back {
                found.add(ORACLE, format!("request {} holds what was taken out of the conversation: {gone}", sent.id));
            }
            !is_back
        });
        self.gone_uses.retain(|gone| {
            found.ask(ORACLE);
            let is_back = use_ids(sent.request).any(|id| id == gone);
            if is_back {
                found.add(ORACLE, format!("request {} holds tool use {gone}, which was taken out of the conversation", sent.id));
            }
            !is_back
        });
        if sent.kind != RequestKind::Ordinary {
            return;
        }
        self.first.get_or_insert((sent.id.prompt, sent.id.turn));
        let last = self.last.replace((sent.id, sent.request.clone()));
        if let (Some(edit), Some((id, before))) = (self.edit.take(), last) {
            self.compare((id, &before), sent, edit, found);
        }
    }

    /// The first request after messages were taken out beside the last one before.
    fn compare(
        &mut self,
        (id, before): (RequestId, &Request),
        sent: SentRequest<'_>,
        edit: EditSinceRequest,
        found: &mut OracleFindings<'_>,
    ) {
        found.ask(ORACLE);
        if edit.is_in_request && is_continued(before, sent.request) {
            found.add(ORACLE, format!("request {} holds all of request {id}, and messages were taken out between them", sent.id));
        }
        let new: Vec<&str> = texts(sent.request).collect();
        let gone = texts(before).filter(|text| text.trim().len() >= TELLING && !new.contains(text));
        self.gone.extend(gone.map(Arc::from));
        self.gone_uses.extend(use_ids(before).filter(|id| !use_ids(sent.request).any(|new| new == *id)).cloned());
    }
}

/// Whether a request of texts alone is the beginning of another one.
fn is_continued(before: &Request, new: &Request) -> bool {
    let blocks =
        |request| messages_of(request).flat_map(|message: &Message| message.content.iter().map(|block| (message.role, text(block))));
    let mut new = blocks(new);
    blocks(before).all(|(role, text)| text.is_some() && new.next() == Some((role, text)))
}

fn messages_of(request: &Request) -> impl Iterator<Item = &Message> {
    request.messages.iter().map(|message| &**message)
}

fn texts(request: &Request) -> impl Iterator<Item = &str> {
    request.messages.iter().flat_map(|message| &message.content).filter_map(text)
}

fn use_ids(request: &Request) -> impl Iterator<Item = &Arc<str>> {
    request.messages.iter().flat_map(|message| &message.content).filter_map(use_id)
}

fn use_id(block: &Block) -> Option<&Arc<str>> {
    block.as_tool_use().map(|tool_use| &tool_use.id)
}

fn text(block: &Block) -> Option<&str> {
    match block.kind() {
        BlockKind::Text(text) => Some(text),
        _ => None,
    }
}

/// The prompt and the turn of an answer with such a name: `p1.r2.a1`.
fn answer_of(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.split('.');
    let mut number = |letter| parts.next()?.strip_prefix(letter)?.parse().ok();
    Some((number('p')?, number('r')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_1_an_answer_is_known_by_its_name() {
        assert_eq!(answer_of("p1.r2.a1"), Some((1, 2)));
        assert_eq!(answer_of("p3.r4.a1.results"), Some((3, 4)));
        assert_eq!(answer_of("p1"), None);
        assert_eq!(answer_of("host1"), None);
    }
}
