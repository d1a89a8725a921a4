//! O-12: a compaction makes the context smaller, and compactions do not go round in circles (C-4, C-5, C-8a).
//!
//! What a context holds is known from outside: the last request that something came of, and what was said since. The first request after a
//! compaction must hold less than that, by the same estimate that the engine goes by. That no compaction parts a tool use from its
//! result is O-1's: a request shows it.

use super::{Findings, Rules};
use crate::engine::contract::{Effect, Emission, Input, Message, RequestId};
use crate::engine::settings::CompactionSettings;
use crate::prelude::*;
use crate::wire::tokens;

pub(super) const ORACLE: &str = "O-12";

/// How many different requests may be made in a row of which nothing comes out: what was asked, the same with spans collapsed, the same
/// after a reactive compaction; each with a compaction before it, and that one, with all the further tries of a summarising call.
pub(super) fn silent_max(settings: &CompactionSettings) -> u32 {
    settings.summary_drops.saturating_add(1).saturating_mul(4).saturating_add(3)
}

/// What the context holds, as far as can be seen, in tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Compaction {
    /// The messages of the last request that something came of; `None` after a compaction and at the beginning.
    answered: Option<u64>,
    /// The most that a request has asked about since.
    asked: u64,
    /// What was said since, by whomever.
    said: u64,
    /// Prompts that are not in the conversation yet.
    waiting: Vec<(u32, u64)>,
    /// What the context held before the compaction that was announced last, and what people said since.
    before: Option<u64>,
    /// The last request, attempts aside.
    last: Option<(u32, u32)>,
    /// How many different requests in a row nothing came of.
    silent: u32,
}

impl Compaction {
    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::Prompt { prompt, content } | Input::Interrupt { prompt, content } = input {
            self.waiting.push((*prompt, tokens::blocks(&**content)));
        }
    }

    pub(super) fn on_request(&mut self, rules: &Rules, id: RequestId, messages: &[Arc<Message>], found: &mut Findings<'_>) {
        let tokens = tokens::messages(messages);
        self.take_in(id.prompt);
        self.asked = self.asked.max(tokens);
        if let Some(before) = self.before.take().filter(|before| tokens >= *before) {
            found.add(ORACLE, format!("request {id} has about {tokens} tokens after a compaction, and there were {before} before it"));
        }
        if self.last != Some((id.prompt, id.turn)) {
            self.last = Some((id.prompt, id.turn));
            self.silent += 1;
            if self.silent == rules.silent_requests_max + 1 {
                found.add(ORACLE, format!("request {id} is number {} in a row, and nothing came of those before it", self.silent));
            }
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        let Effect::Emit(emission) = effect else { return };
        match emission {
            Emission::CompactBoundary { .. } => {
                self.before = Some(self.answered.unwrap_or(self.asked) + self.said);
                (self.answered, self.asked, self.said) = (None, 0, 0);
            }
            Emission::Assistant(message) => {
                self.silent = 0;
                if message.error.is_none() {
                    self.on_answered();
                    self.said += tokens::block(&message.block);
                }
            }
            Emission::Answered { .. } => {
                self.silent = 0;
                self.on_answered();
            }
            Emission::User(message) => self.said += tokens::block(&message.block),
            Emission::Hidden { text, .. } | Emission::HookContext { text, .. } => self.said += tokens::of_text(text),
            Emission::QueuedCommand { prompt, .. } => self.take_in(*prompt),
            Emission::Interrupted { text, .. } => self.people_say(tokens::of_text(text)),
            Emission::Result(_) => self.silent = 0,
            _ => (),
        }
    }

    /// The last request is part of the conversation now.
    fn on_answered(&mut self) {
        if self.asked > 0 {
            (self.answered, self.asked, self.said) = (Some(self.asked), 0, 0);
        }
    }

    /// What the user said is part of the conversation from here on.
    fn take_in(&mut self, prompt: u32) {
        let tokens = self.waiting.extract_if(.., |(waiting, _)| *waiting == prompt).map(|(_, tokens)| tokens).sum();
        self.people_say(tokens);
    }

    /// It may come between a compaction and the request after it, and is not the compaction's doing.
    fn people_say(&mut self, tokens: u64) {
        self.said += tokens;
        if let Some(before) = &mut self.before {
            *before += tokens;
        }
    }
}
