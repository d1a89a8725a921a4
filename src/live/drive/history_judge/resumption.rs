//! The resumed run: it continues the conversation, its answer reaches people, and it is stored for the next one (K-9, O-24).

use super::super::profile::ClientProfile;
use super::super::run_history::RunExchange;
use super::super::traces::StoredSessions;
use super::super::verdict::printed;
use super::super::{ClientExit, ClientOutput};
use reenact_stores::conversation::{HistoryDialect, StoredBranch, StoredConversation, StoredMessage};
use reenact_stores::rules::{HistoryEnd, ReceivedContent, ReceivedKind, losses, quoted, results};
use reenact_wire::prelude::*;

/// A resumed run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResumedRun<'a> {
    /// Its output.
    pub(super) output: &'a ClientOutput,
    /// Its first request.
    pub(super) first: Option<&'a RunExchange>,
    /// Its last request of the main conversation.
    pub(super) last: Option<&'a RunExchange>,
    /// The store when it was over.
    pub(super) stored: Option<&'a StoredSessions>,
    /// Its prompt.
    pub(super) prompt: &'a str,
}

impl ResumedRun<'_> {
    /// The last exchange, where its answer ends the prompt.
    fn last_answered(&self) -> Option<&RunExchange> {
        self.last.filter(|last| last.is_whole() && last.stop_reason.as_deref() == Some("end_turn"))
    }

    /// Whether it goes on with what had come before the last request of the first run.
    pub(super) fn continuation(&self, received: &[ReceivedContent], before: &RunExchange) -> Vec<String> {
        let Some(first) = self.first else {
            let last =
                self.output.last_error().or_else(|| self.output.lines.iter().map(|line| &**line).rfind(|line| !line.trim().is_empty()));
            let said = last.map(|said| format!(", and says {}", quoted(said)));
            return vec![format!("K-9: the resumed run asks nothing: it ended with {}{}", self.output.ended, said.unwrap_or_default())];
        };
        let mut problems = Vec::new();
        if let Some((prompt, text)) = prompt_of(received)
            && !is_in(prompt, &first.messages)
        {
            let (resumed, before, text) = (first.name(), before.name(), quoted(text));
            problems.push(format!("K-9: the resumed run begins anew: {resumed} has nothing of the message {text} of {before}"));
        }
        // O-1 was seen when the request came: the API refuses it.
        let doubled = results(&first.messages, HistoryDialect::Messages, HistoryEnd::Closed);
        problems.extend(doubled.iter().filter(|violation| violation.rule == "O-2").map(ToString::to_string));
        problems
    }

    /// People see what it was answered. `None` where that cannot be asked.
    pub(super) fn shown_answer(&self, profile: Option<&ClientProfile>) -> Option<Vec<String>> {
        let place = profile?.output.text.as_ref()?;
        let last = self.last_answered()?;
        let printed = printed(place, self.output);
        let missing = last.texts().filter(|text| !printed.contains(&joined_words(text)));
        let problem = |text: &Arc<str>| format!("K-9: the output of the resumed run lacks the text of its last answer: {}", quoted(text));
        Some(missing.map(problem).collect())
    }

    /// Its exit code says that it was answered. `None` where that cannot be asked.
    pub(super) fn exit_code(&self, profile: Option<&ClientProfile>) -> Option<Option<String>> {
        let ok = &profile?.exit.ok;
        let last = self.last_answered()?;
        let ClientExit::Code(code) = self.output.ended else { return None };
        let is_wrong = !ok.is_empty() && u32::try_from(code).is_ok_and(|code| !ok.contains(&code));
        let answer = last.number;
        Some(is_wrong.then(|| format!("K-9: the resumed run got answer {answer}, which ends its prompt, and ends with exit {code}")))
    }

    /// Its prompt and its answer are stored, in a session that has what was before. `None` where that cannot be asked.
    pub(super) fn stored_session(&self, received: &[ReceivedContent], before: &RunExchange) -> Option<Vec<String>> {
        let first = self.first?;
        let sessions: Vec<&StoredConversation> =
            self.stored?.conversations.iter().filter(|conversation| conversation.branch == StoredBranch::Main).collect();
        let new = ReceivedContent { kind: ReceivedKind::Prompt(self.prompt.into()), origin: format!("of {}", first.name()) };
        // Who was killed need not have stored it, and a command that asks something else has another prompt.
        if sessions.is_empty() || !matches!(self.output.ended, ClientExit::Code(_)) || !is_in(&new, &first.messages) {
            return None;
        }
        let has = |content: &ReceivedContent| sessions.iter().filter(|session| is_in(content, &session.messages)).collect::<Vec<_>>();
        let with_prompt = has(&new);
        let mut problems = Vec::new();
        if with_prompt.is_empty() {
            let prompt = quoted(self.prompt);
            problems
                .push(format!("O-24: the user's message {prompt} of {} is not in the stored session: the next run lacks it", first.name()));
        }
        for text in self.last_answered().into_iter().flat_map(|last| last.texts()) {
            let answer = ReceivedContent { kind: ReceivedKind::AnswerText(text.clone()), origin: String::new() };
            if has(&answer).is_empty() {
                let text = quoted(text);
                problems.push(format!("O-24: the text {text} that the resumed run was answered is not in the stored session"));
            }
        }
        if let Some((old, text)) = prompt_of(received)
            && is_in(old, &first.messages)
            && !with_prompt.is_empty()
            && with_prompt.iter().all(|session| !is_in(old, &session.messages))
        {
            let (prompt, old, before) = (quoted(self.prompt), quoted(text), before.name());
            problems.push(format!(
                "K-9: the resumed run stores a session that begins anew: it has the message {prompt}, and not the message {old} of {before}"
            ));
        }
        Some(problems)
    }
}

/// The first message of the user.
fn prompt_of(received: &[ReceivedContent]) -> Option<(&ReceivedContent, &Arc<str>)> {
    received.iter().find_map(|content| match &content.kind {
        ReceivedKind::Prompt(text) => Some((content, text)),
        _ => None,
    })
}

fn is_in(content: &ReceivedContent, messages: &[StoredMessage]) -> bool {
    losses(core::slice::from_ref(content), &[messages]).is_empty()
}
