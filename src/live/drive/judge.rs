//! Judges a run by its traces and its later requests: commands that run on, stored sessions, and what a resumed run asks (K-9, O-1, O-2, O-10, O-20, O-24).
//!
//! ```text
//!   first run: requests, answers, changed files, stored sessions ──┐
//!   second run: requests, answers, output, stored sessions ────────┴──> problems, remarks, and what was asked
//! ```

use std::fmt::Write as _;
use std::time::Duration;

use super::moment::ClientMoment;
use super::profile::ClientProfile;
use super::run_history::RunExchange;
use super::traces::StoredSessions;
use super::verdict::{plain, printed};
use super::{ActionOutcome, BoundaryAction, ChildSignal, ClientAction, ClientRun};
use crate::prelude::*;
use crate::stores::StoreFormat;
use crate::stores::conversation::{HistoryDialect, StoredMessage};
use crate::stores::rules::{
    HistoryEnd, HistoryViolation, ReceivedContent, ReceivedKind, StartedCall, claims, losses, quoted, result_ids, results, validity,
};
use crate::wire::block::Role;

/// How long a command may take to end when its client is interrupted.
const COMMAND_GRACE: Duration = Duration::from_millis(500);

/// How long after an answer's end a client has surely worked on it, also where it hardly gets to run.
const TAKING: Duration = Duration::from_millis(300);

/// A shorter name of a file says nothing about whose it is.
const FILE_NAME_MIN: usize = 3;

words! {
    /// A question that is asked of a run where its evidence allows it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RunQuestion {
        /// Whether commands go on.
        Effects = "commands that run on after the client was interrupted",
        /// Whether results deny what ran.
        Claims = "what results say of tools that were seen to start (O-20)",
        /// Whether stored sessions keep the rules.
        Store = "the session on disk (O-1, O-2, O-10)",
        /// Whether messages are lost.
        Losses = "messages, results and texts that are lost (O-24)",
        /// Whether the conversation goes on.
        Resume = "the conversation when it is resumed",
        /// Whether people see the answer.
        ResumedAnswer = "the answer of the resumed run in its output",
    }
}

/// The judgement of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunJudgement {
    /// Problems, each with its rule.
    pub problems: Vec<String>,
    /// Notes that are no failures.
    pub remarks: Vec<String>,
    /// The questions that were asked.
    pub asked: Vec<RunQuestion>,
    /// The stored sessions and the requests of the second run, for people.
    pub shown: String,
}

/// Judges a run. `prompts` are texts that the user may have given to the first command.
pub(super) fn judge(
    run: &ClientRun,
    exchanges: &[RunExchange],
    profile: Option<&ClientProfile>,
    prompts: &[String],
    act: Option<&BoundaryAction>,
) -> RunJudgement {
    let is_first = |exchange: &&RunExchange| exchange.number as usize <= run.first_answers;
    let judge = RunJudge {
        run,
        profile,
        act,
        first: exchanges.iter().filter(is_first).filter(|exchange| exchange.is_of_root()).collect(),
        second: exchanges.iter().filter(|exchange| !is_first(exchange)).collect(),
    };
    let mut judgement = RunJudgement { shown: judge.shown(), ..RunJudgement::default() };
    if act.is_some() && run.action != ActionOutcome::Done {
        return judgement;
    }
    judge.effects(&mut judgement);
    judge.claims(&mut judgement);
    judge.stores(&mut judgement);
    judge.losses(prompts, &mut judgement);
    judge.resumed_answer(&mut judgement);
    judgement
}

#[derive(Debug)]
struct RunJudge<'a> {
    run: &'a ClientRun,
    profile: Option<&'a ClientProfile>,
    act: Option<&'a BoundaryAction>,
    /// The exchanges of the first command's main conversation.
    first: Vec<&'a RunExchange>,
    /// Those of the second command.
    second: Vec<&'a RunExchange>,
}

impl RunJudge<'_> {
    /// The first request of the second run.
    fn resumed(&self) -> Option<&RunExchange> {
        self.second.iter().find(|exchange| exchange.is_of_root()).or(self.second.first()).copied()
    }

    /// The files that one tool call alone names, each with it: its command made them.
    fn traces(&self) -> impl Iterator<Item = (&super::traces::FileTrace, &Arc<str>)> {
        let of_file = |file: &'_ super::traces::FileTrace| {
            let name = file.path.rsplit('/').next().filter(|name| name.len() >= FILE_NAME_MIN)?.to_owned();
            let mut naming = self.first.iter().flat_map(|exchange| exchange.calls()).filter(|call| call.input.as_str().contains(&name));
            let only = naming.next()?;
            naming.all(|other| other.id == only.id).then_some(&only.id)
        };
        self.run.traces.changed.iter().filter_map(move |file| Some((file, of_file(file)?)))
    }

    fn started(&self) -> Vec<StartedCall> {
        let traces = self.traces().map(|(file, id)| StartedCall { id: id.clone(), sign: format!("made the file {}", file.path) });
        let of_marker = |exchange: &&&RunExchange| self.run.marked.contains(&exchange.number);
        let alone = self.first.iter().filter(of_marker).filter_map(|exchange| {
            let mut calls = exchange.calls();
            calls.next().filter(|_| calls.next().is_none())
        });
        traces.chain(alone.map(|call| StartedCall { id: call.id.clone(), sign: String::from("showed its marker") })).collect()
    }

    /// Commands are over when their client was told to stop.
    fn effects(&self, judgement: &mut RunJudgement) {
        let (Some(act), Some(acted_at)) = (self.act.filter(|act| act.what.is_on_process()), self.run.traces.acted_at) else { return };
        judgement.asked.push(RunQuestion::Effects);
        for (file, id) in self.traces().filter(|(file, _)| file.written_at > acted_at + COMMAND_GRACE) {
            let text = format!(
                "K-9: the command of tool call {id} ran on after {}: it made the file {} more than {} ms later",
                act.what,
                file.path,
                COMMAND_GRACE.as_millis()
            );
            judgement.problems.push(text);
        }
    }

    fn claims(&self, judgement: &mut RunJudgement) {
        let started = self.started();
        let stored = self.stored();
        if started.is_empty() || (self.second.is_empty() && stored.is_none()) {
            return;
        }
        judgement.asked.push(RunQuestion::Claims);
        let mut found: Vec<HistoryViolation> = self.resumed().map(|resumed| claims(&resumed.messages, &started)).unwrap_or_default();
        for conversation in stored.iter().flat_map(|stored| &stored.conversations) {
            // The request says the same of it, and people read that first.
            let is_new = |violation: &HistoryViolation| found.iter().all(|known| known.call != violation.call);
            let new: Vec<_> = claims(&conversation.messages, &started).into_iter().filter(is_new).collect();
            found.extend(new);
        }
        judgement.problems.extend(found.iter().map(ToString::to_string));
    }

    /// The newest state of the store.
    fn stored(&self) -> Option<&StoredSessions> {
        self.run.traces.stored_again.as_ref().or(self.run.traces.stored.as_ref())
    }

    fn stores(&self, judgement: &mut RunJudgement) {
        let Some(stored) = self.stored() else { return };
        judgement.asked.push(RunQuestion::Store);
        judgement.problems.extend(stored.problems.iter().map(|problem| format!("K-9: {problem}")));
        let repaired = self.resumed().map(repaired_calls).unwrap_or_default();
        for conversation in &stored.conversations {
            let dialect = stored.format.map_or(HistoryDialect::Messages, StoreFormat::dialect);
            let mut found = results(conversation.context(), dialect, HistoryEnd::Open);
            if dialect == HistoryDialect::Messages {
                found.extend(validity(conversation.context()));
            }
            for HistoryViolation { rule, call, text } in found {
                // A client may leave a call open in its file, and answer it when it asks the next time.
                let is_repaired = rule == "O-1" && call.is_some_and(|call| repaired.contains(&call));
                match self.resumed().filter(|_| is_repaired) {
                    Some(resumed) => judgement.remarks.push(format!("in the stored session, {text}; {} repairs it", resumed.name())),
                    // The file's name differs from run to run: `shown` has it.
                    None => judgement.problems.push(format!("{rule}: in the stored session, {text}")),
                }
            }
        }
    }

    /// The losses: of all that had come before the interruption, by the last request of the first run, its answer, and the store.
    fn losses(&self, prompts: &[String], judgement: &mut RunJudgement) {
        let Some(last) = self.first.last() else { return };
        let is_resumed = self.run.again.is_some();
        if !is_resumed && (self.stored().is_none() || self.act.is_none()) {
            return;
        }
        judgement.asked.push(RunQuestion::Losses);
        let received = self.received(last, prompts);
        let mut later: Vec<&[StoredMessage]> = self.second.iter().map(|exchange| &*exchange.messages).collect();
        later.extend(self.stored().iter().flat_map(|stored| &stored.conversations).map(|conversation| &*conversation.messages));
        judgement.problems.extend(losses(&received, &later).iter().map(ToString::to_string));
        if is_resumed {
            judgement.asked.push(RunQuestion::Resume);
            self.resume(&received, last, judgement);
        }
    }

    fn resume(&self, received: &[ReceivedContent], last: &RunExchange, judgement: &mut RunJudgement) {
        let Some(again) = &self.run.again else { return };
        let Some(resumed) = self.resumed() else {
            let said = again.errors.lines().rev().chain(again.lines.iter().rev().map(|line| &**line)).find(|line| !line.trim().is_empty());
            let said = said.map(|said| format!(", and says {}", quoted(said))).unwrap_or_default();
            judgement.problems.push(format!("K-9: the resumed run asks nothing: it ended with {}{said}", again.ended));
            return;
        };
        let first = received.iter().find(|content| matches!(content.kind, ReceivedKind::Prompt(_)));
        if let Some(ReceivedContent { kind: ReceivedKind::Prompt(text), .. }) = first
            && !losses(first.map_or(&[], core::slice::from_ref), &[&resumed.messages]).is_empty()
        {
            let (resumed, last, text) = (resumed.name(), last.name(), quoted(text));
            judgement.problems.push(format!("K-9: the resumed run begins anew: {resumed} has nothing of the message {text} of {last}"));
        }
        // O-1 was seen when the request came: the API refuses it.
        let doubled = results(&resumed.messages, HistoryDialect::Messages, HistoryEnd::Closed);
        judgement.problems.extend(doubled.iter().filter(|violation| violation.rule == "O-2").map(ToString::to_string));
    }

    fn received(&self, last: &RunExchange, prompts: &[String]) -> Vec<ReceivedContent> {
        let of = |kind: ReceivedKind, origin: String| ReceivedContent { kind, origin };
        let of_last = || format!("of {}", last.name());
        let of_user: Vec<StoredMessage> = last.messages.iter().filter(|message| message.role == Role::User).cloned().collect();
        let prompt = |text: &str| of(ReceivedKind::Prompt(text.into()), of_last());
        let is_there = |content: &ReceivedContent| losses(core::slice::from_ref(content), &[&of_user]).is_empty();
        let mut received: Vec<ReceivedContent> = prompts.iter().map(|text| prompt(text)).filter(is_there).collect();
        if received.is_empty() {
            // Clients put their own texts first: the last one is the user's.
            received.extend(of_user.first().and_then(|message| message.texts().last()).map(prompt));
        }
        received.extend(result_ids(&last.messages).map(|id| of(ReceivedKind::Result(id.clone()), of_last())));
        let said = last.messages.iter().filter(|message| message.role == Role::Assistant).flat_map(StoredMessage::texts);
        received.extend(said.filter(|text| !text.trim().is_empty()).map(|text| of(ReceivedKind::AnswerText(text.into()), of_last())));
        if self.had_come_whole(last) {
            let origin = || format!("of answer {}", last.number);
            received.extend(last.texts().map(|text| of(ReceivedKind::AnswerText(text.clone()), origin())));
        }
        received
    }

    /// Whether the client had all of the answer before it was acted on, and time to keep it.
    fn had_come_whole(&self, exchange: &RunExchange) -> bool {
        let is_said = matches!(exchange.stop_reason.as_deref(), Some("end_turn" | "tool_use" | "stop_sequence"));
        let Some(act) = self.act else { return exchange.is_whole() && is_said };
        let is_taken = |after: &Duration| *after >= TAKING || self.is_seen(exchange);
        let is_before = match &act.at {
            ClientMoment::Start(_) => false,
            ClientMoment::Answer(boundary) => exchange.number < boundary.answer,
            ClientMoment::Marker { answer } => exchange.number <= *answer,
            ClientMoment::Tools { answer, after } => exchange.number < *answer || (exchange.number == *answer && is_taken(after)),
            ClientMoment::Done(after) => exchange.number < act.last_answer || is_taken(after),
        };
        // Who is killed keeps nothing that was not kept before.
        let is_killed = matches!(act.what, ClientAction::Signal(ChildSignal::Kill, _));
        exchange.is_whole() && is_said && is_before && !is_killed
    }

    /// Whether it is seen that the client worked on an answer: it printed a text of it, or ran one of its tools.
    fn is_seen(&self, exchange: &RunExchange) -> bool {
        let is_run = || self.traces().any(|(_, id)| exchange.calls().any(|call| call.id == *id));
        let place = self.profile.and_then(|profile| profile.output.text.as_ref());
        let printed = place.map(|place| printed(place, &self.run.output)).unwrap_or_default();
        self.run.marked.contains(&exchange.number) || is_run() || exchange.texts().any(|text| printed.contains(&plain(text)))
    }

    /// People see what the resumed run was answered.
    fn resumed_answer(&self, judgement: &mut RunJudgement) {
        let place = self.profile.and_then(|profile| profile.output.text.as_ref());
        let last = self.second.iter().rfind(|exchange| exchange.is_of_root());
        let (Some(again), Some(last), Some(place)) = (&self.run.again, last, place) else { return };
        if !last.is_whole() || last.stop_reason.as_deref() != Some("end_turn") {
            return;
        }
        judgement.asked.push(RunQuestion::ResumedAnswer);
        let printed = printed(place, again);
        let missing = last.texts().filter(|text| !printed.contains(&plain(text)));
        let problem = |text: &Arc<str>| format!("K-9: the output of the resumed run lacks the text of its last answer: {}", quoted(text));
        judgement.problems.extend(missing.map(problem));
    }

    fn shown(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        for (title, stored) in [("stored", &self.run.traces.stored), ("stored again", &self.run.traces.stored_again)] {
            for conversation in stored.iter().flat_map(|stored| &stored.conversations) {
                let _ = writeln!(out, "{title}: {conversation}");
            }
            if stored.as_ref().is_some_and(|stored| stored.conversations.is_empty()) {
                let _ = writeln!(out, "{title}: nothing");
            }
        }
        for exchange in &self.second {
            let _ = writeln!(out, "resumed: {}", exchange.name());
            for message in &exchange.messages {
                for block in &message.blocks {
                    let _ = writeln!(out, "  {:<9} {}", message.role.as_str(), block.block.json());
                }
            }
        }
        out
    }
}

/// The calls whose results a request has as the API wants them.
fn repaired_calls(request: &RunExchange) -> Vec<Arc<str>> {
    let broken = results(&request.messages, HistoryDialect::Messages, HistoryEnd::Closed);
    let is_right = |id: &&Arc<str>| broken.iter().all(|violation| violation.call.as_ref() != Some(id));
    result_ids(&request.messages).filter(is_right).cloned().collect()
}
