//! How a thread ends, what a replay of it does then, and where the recording continues (K-4).

use super::answers::{asks_for_more, invites_retry};
use super::{UnderstoodExchange, is_conversation, suffix};
use crate::conversation::{ConversationDigest, ConversationLikeness};
use crate::recording::Recording;
use crate::tape::Exchange;
use crate::types::Scenario;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// So many later threads are looked at for one that continues from this.
const THREADS_MAX: usize = 8;

/// The end of a thread.
pub(super) struct ThreadEnd<'a> {
    pub(super) recording: &'a dyn Recording,
    /// The name of the tape's file.
    pub(super) tape_file: &'a str,
    /// Where its last exchange stands, from 0.
    pub(super) place: usize,
    /// That exchange, with its bodies.
    pub(super) last: &'a Exchange,
    /// Its request, where that was understood.
    pub(super) asked: Option<&'a UnderstoodExchange<'a>>,
    /// So many attempts in a row have failed, that one counted.
    pub(super) failures: u32,
}

impl ThreadEnd<'_> {
    /// Says how the thread ends, and expects the end that a replay has for it.
    pub(super) fn read(&self, scenario: &mut Scenario, notes: &mut Vec<String>) {
        let is_over = !self.later().any(|index| is_conversation(self.recording.outline(index)));
        let what = if is_over { "The recording" } else { "This thread" };
        let answer = &self.last.answer;
        if ![0, 200].contains(&answer.status) {
            notes.push(format!("{what} ends with a failed attempt (status {}).", answer.status));
        }
        let wants_more = asks_for_more(answer);
        let is_tried_again = !wants_more && invites_retry(self.failures, self.last, &scenario.settings.retry);
        if wants_more {
            notes.push(format!("{what} ends with an answer that asks for more, so a replay ends when the tape does."));
        } else if is_tried_again {
            notes.push(String::from("That attempt may be tried again, so a replay ends when the tape does."));
        }
        if wants_more || is_tried_again {
            scenario.expect.terminal = Some(String::from("tape_exhausted"));
        }
        if wants_more || self.failures > 0 {
            notes.extend(self.continuation());
        }
    }

    fn later(&self) -> core::ops::Range<usize> {
        self.place + 1..self.recording.count()
    }

    /// Where the recording continues from what was asked last, and why that is another thread.
    fn continuation(&self) -> Option<String> {
        let asked = self.asked.filter(|asked| asked.exchange.id == self.last.id)?;
        let last = conversation(self.recording, self.place)?;
        let beginning = asked.request.messages.first()?.content.len();
        let mut known: Vec<&str> = (0..=self.place).map(|index| &*self.recording.outline(index).thread).collect();
        let mut is_new = |index: &usize| {
            let outline = self.recording.outline(*index);
            let is_new = is_conversation(outline) && !known.contains(&&*outline.thread);
            known.push(&outline.thread);
            is_new
        };
        self.later().filter(|index| is_new(index)).take(THREADS_MAX).find_map(|index| {
            let now = conversation(self.recording, index)?;
            let shared = last.shared(&now);
            (shared >= beginning && last.likeness(&now) != ConversationLikeness::Different)
                .then(|| self.goes_on(index, (&last, &now), shared))
        })
    }

    fn goes_on(&self, index: usize, (last, now): (&ConversationDigest, &ConversationDigest), shared: usize) -> String {
        let outline = self.recording.outline(index);
        let model = |index: usize| {
            let body = self.recording.whole_body(index);
            let request = core::str::from_utf8(&body).ok().and_then(|body| RawObject::parse(body).ok());
            request.and_then(|request| request.string("model").map(String::from))
        };
        let how = match () {
            () if shared < last.len() => format!("other words in the place of block {} of {}", shared + 1, last.len()),
            () if now.len() > shared && self.failures > 0 => String::from("more words, though no whole answer came"),
            () if now.len() > shared => String::from("more words, and another answer than the one that came"),
            () if model(self.place) != model(index) => String::from("the same words for another model"),
            () => String::from("the same words again"),
        };
        let stem = self.tape_file.strip_suffix(".tape.jsonl").unwrap_or(self.tape_file);
        format!("Exchange {} continues in {stem}{}.toml: {how}.", outline.id, suffix(&outline.thread))
    }
}

fn conversation(recording: &dyn Recording, index: usize) -> Option<ConversationDigest> {
    core::str::from_utf8(&recording.whole_body(index)).ok().and_then(ConversationDigest::from_body)
}
