//! O-8, of a terminal's reason: what it names has come to pass in the prompt. An engine that says "the money is spent" too early loses work just
//! as one that says it too late wastes money.
//!
//! Aborts are those of O-23, limits on turns and money those of O-13 and O-32.

use super::OracleFindings;
use super::command_prompts::has_command;
use super::prompt_results::PromptResultOracle;
use super::request_kind::{RequestKind, SentRequest};
use super::terminal::ORACLE;
use reenact_engine::contract::{AnswerEnd, Effect, Emission, EventPayload, HookSubject, Input, Note, RequestId, Terminal};
use reenact_wire::prelude::*;
use reenact_wire::whole_message::whole_message;

/// The stop reason of an answer that waits for its tools.
const FOR_TOOLS: &str = "tool_use";

/// The complaint about a prompt that ends well inside an answer.
pub(super) const OPEN_ANSWER: &str = "the answer to its last request had not come to its end";

/// The complaint about a prompt that ends well and leaves tool uses of its last answer alone.
const UNANSWERED: &str = "its last answer had asked for tools, which were not answered";

/// The causes of a terminal that were seen in the prompt that is open.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct TerminalCauseOracle {
    is_stopped_by_stop_hook: bool,
    is_stopped_by_tool_hook: bool,
    /// An attempt failed: refused, cut, or closed by the engine.
    has_failed: bool,
    last: Option<LastAnswer>,
    results: PromptResultOracle,
}

/// The answer to the last request of the conversation.
#[derive(Clone, Debug, Hash)]
struct LastAnswer {
    id: RequestId,
    /// It came to its end.
    is_whole: bool,
    /// The model stopped for its tools.
    asks_for_tools: bool,
    /// The blocks of tool uses that have begun and not ended.
    open_uses: Vec<u32>,
    tool_uses: usize,
    /// The results that came out.
    results: usize,
}

impl TerminalCauseOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        match input {
            Input::HookEnded { hook, outcome } if outcome.stop.is_some() => match hook.subject {
                HookSubject::Tool(_) => self.is_stopped_by_tool_hook = true,
                HookSubject::Stop(_) => self.is_stopped_by_stop_hook = true,
                HookSubject::Compaction(_) => (),
            },
            Input::Head { status, .. } => self.has_failed |= *status != 200,
            Input::Stream { id, event } => self.on_event(*id, event.payload()),
            Input::Body { id, body } => {
                let message = whole_message(body);
                self.has_failed |= message.is_err();
                self.on_whole(*id);
                if let (Ok(message), Some(last)) = (message, self.answer(*id)) {
                    last.asks_for_tools = message.stop_reason.as_deref() == Some(FOR_TOOLS);
                    last.tool_uses = message.blocks.iter().filter(|block| block.as_tool_use().is_some()).count();
                }
            }
            // Some engines take an answer for whole that lacks its last event, and others do not.
            Input::End { id, how: AnswerEnd::Complete } => {
                self.has_failed |= self.answer(*id).is_some_and(|last| !last.is_whole);
                self.on_whole(*id);
            }
            Input::End { .. } => self.has_failed = true,
            // A command may fail without any request.
            Input::Prompt { content, .. } | Input::Interrupt { content, .. } => self.has_failed |= has_command(content),
            _ => (),
        }
    }

    fn on_event(&mut self, id: RequestId, event: &EventPayload<'_>) {
        match event {
            EventPayload::MessageStop => self.on_whole(id),
            EventPayload::Error { .. } => self.has_failed = true,
            EventPayload::BlockStart { index, kind, .. } if *kind == "tool_use" => {
                self.answer(id).into_iter().for_each(|last| last.open_uses.push(*index));
            }
            // A tool use without its end is none.
            EventPayload::BlockStop { index } => {
                if let Some(last) = self.answer(id) {
                    last.tool_uses += last.open_uses.extract_if(.., |open| open == index).count();
                }
            }
            EventPayload::MessageDelta(delta) => {
                let asks_for_tools = delta.stop_reason.as_deref() == Some(FOR_TOOLS);
                self.answer(id).into_iter().for_each(|last| last.asks_for_tools |= asks_for_tools);
            }
            _ => (),
        }
    }

    fn on_whole(&mut self, id: RequestId) {
        self.answer(id).into_iter().for_each(|last| last.is_whole = true);
    }

    fn answer(&mut self, id: RequestId) -> Option<&mut LastAnswer> {
        self.last.as_mut().filter(|last| last.id == id)
    }

    pub(super) fn on_request(&mut self, sent: SentRequest<'_>) {
        if sent.kind == RequestKind::Ordinary {
            self.results.on_request();
            self.last =
                Some(LastAnswer { id: sent.id, is_whole: false, asks_for_tools: false, open_uses: Vec::new(), tool_uses: 0, results: 0 });
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        self.results.on_effect(effect, found);
        match effect {
            Effect::CloseRequest { .. } | Effect::Note(Note::Compaction { ran: false, .. }) => self.has_failed = true,
            // A part of an answer that broke off may be kept, and be all there is of it.
            Effect::Emit(Emission::Answered { id, .. }) if self.has_failed => self.on_whole(*id),
            Effect::Emit(Emission::User(message)) => self.answer(message.run.request).into_iter().for_each(|last| last.results += 1),
            Effect::Finished { prompt, terminal } => {
                if let Some(missing) = self.missing_cause(*prompt, terminal) {
                    found.add(ORACLE, format!("prompt {prompt} ended with {}, and {missing}", terminal.as_str()));
                }
                *self = Self { results: core::mem::take(&mut self.results), ..Self::default() };
            }
            _ => (),
        }
    }

    /// In words that follow "and".
    fn missing_cause(&self, prompt: u32, terminal: &Terminal) -> Option<&'static str> {
        let (has_cause, missing) = match terminal {
            Terminal::StopHookPrevented => (self.is_stopped_by_stop_hook, "no stop hook had ended it"),
            Terminal::HookStopped => (self.is_stopped_by_tool_hook, "no hook of a tool had ended it"),
            Terminal::ModelError | Terminal::PromptTooLong | Terminal::ImageError => (self.has_failed, "every answer was good"),
            Terminal::Completed => {
                let last = self.last.as_ref().filter(|last| last.id.prompt == prompt);
                match last {
                    Some(last) if !last.is_whole => (false, OPEN_ANSWER),
                    Some(last) => (!last.asks_for_tools || last.results >= last.tool_uses, UNANSWERED),
                    None => return None,
                }
            }
            _ => return None,
        };
        (!has_cause).then_some(missing)
    }
}
