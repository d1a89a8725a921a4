//! O-8, of a terminal's reason: what it names has come to pass in the prompt. An engine that says "the money is spent" too early loses work just
//! as one that says it too late wastes money.
//!
//! Aborts are those of O-23, limits on turns and money those of O-13 and O-32.

use super::OracleFindings;
use super::command_prompts::has_command;
use super::request_kind::{RequestKind, SentRequest};
use super::terminal::ORACLE;
use reenact_engine::contract::{AnswerEnd, Effect, EventPayload, HookSubject, Input, Note, RequestId, Terminal};
use reenact_wire::prelude::*;
use reenact_wire::whole_message::whole_message;

/// The complaint about a prompt that ends well inside an answer.
pub(super) const OPEN_ANSWER: &str = "the answer to its last request had not come to its end";

/// The causes of a terminal that were seen in the prompt that is open.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct TerminalCauseOracle {
    is_stopped_by_stop_hook: bool,
    is_stopped_by_tool_hook: bool,
    /// An attempt failed: refused, cut, or closed by the engine.
    has_failed: bool,
    /// The last request of the conversation, and whether its answer came to its end.
    last: Option<(RequestId, bool)>,
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
            Input::Stream { id, event } => match event.payload() {
                EventPayload::MessageStop => self.on_whole(*id),
                EventPayload::Error { .. } => self.has_failed = true,
                _ => (),
            },
            Input::Body { id, body } => {
                self.has_failed |= whole_message(body).is_err();
                self.on_whole(*id);
            }
            // Some engines take an answer for whole that lacks its last event, and others do not.
            Input::End { id, how: AnswerEnd::Complete } => {
                self.has_failed |= self.last.is_some_and(|(last, is_whole)| last == *id && !is_whole);
                self.on_whole(*id);
            }
            Input::End { .. } => self.has_failed = true,
            // A command may fail without any request.
            Input::Prompt { content, .. } | Input::Interrupt { content, .. } => self.has_failed |= has_command(content),
            _ => (),
        }
    }

    fn on_whole(&mut self, id: RequestId) {
        if let Some((_, is_whole)) = self.last.as_mut().filter(|(last, _)| *last == id) {
            *is_whole = true;
        }
    }

    pub(super) fn on_request(&mut self, sent: SentRequest<'_>) {
        if sent.kind == RequestKind::Ordinary {
            self.last = Some((sent.id, false));
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::CloseRequest { .. } | Effect::Note(Note::Compaction { ran: false, .. }) => self.has_failed = true,
            Effect::Finished { prompt, terminal } => {
                if let Some(missing) = self.missing_cause(*prompt, terminal) {
                    found.add(ORACLE, format!("prompt {prompt} ended with {}, and {missing}", terminal.as_str()));
                }
                *self = Self::default();
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
                let is_open = self.last.is_some_and(|(last, is_whole)| last.prompt == prompt && !is_whole);
                (!is_open, OPEN_ANSWER)
            }
            _ => return None,
        };
        (!has_cause).then_some(missing)
    }
}
