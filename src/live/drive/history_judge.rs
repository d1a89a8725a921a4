//! Judges a run by its traces and its later requests: commands that run on, stored sessions, and what a resumed run asks (K-9, O-1, O-2, O-10, O-20, O-24).
//! `[expect]` is judged in `serve::judge`.
//!
//! ```text
//!   first run: requests, answers, changed files, stored sessions ──┐
//!   second run: requests, answers, output, stored sessions ────────┴──> problems, remarks, and what was asked
//! ```

mod answers;
mod results;
mod resumption;
mod retries;
mod tools;

use std::fmt::Write as _;
use std::time::Duration;

use super::call_result::CallResult;
use super::moment::ClientMoment;
use super::profile::ClientProfile;
use super::run_history::RunExchange;
use super::traces::{FileTrace, StoredSessions};
use super::verdict::printed;
use super::{ActionOutcome, BoundaryAction, ClientAction, ClientRun};
use reenact_stores::StoreFormat;
use reenact_stores::conversation::{HistoryDialect, StoredBranch, StoredMessage};
use reenact_stores::rules::{
    self, HistoryEnd, HistoryViolation, ReceivedContent, ReceivedKind, StartedCall, claims, losses, result_ids, validity,
};
use reenact_wire::block::Role;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;
use resumption::ResumedRun;

/// How long a command may take to end when its client is interrupted, and a request that was on its way to come in.
const COMMAND_GRACE: Duration = Duration::from_millis(500);

/// How long after an answer's end a client has surely worked on it, also where it hardly gets to run.
const TAKING: Duration = Duration::from_millis(300);

/// A shorter text may be that of any tool, or a part of any other text.
const TEXT_CHARACTERS_MIN: usize = 4;

/// A shorter name of a file says nothing about whose it is.
const FILE_NAME_MIN: usize = 3;

words! {
    /// A question that is asked of a run where its evidence allows it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RunQuestion {
        /// Whether commands go on.
        Effects = "commands that run on after the client was interrupted",
        /// Whether it stops to ask.
        Aborts = "requests after the client was interrupted (O-11)",
        /// Whether the next attempt has what the one before had.
        Retries = "what a request leaves out that is sent again (O-24)",
        /// Whether parallel tool uses have their own results.
        Pairs = "results of parallel tool uses that change places (O-20)",
        /// Whether the result of a command that was stopped says so.
        Stops = "what results say of commands that were stopped (O-20)",
        /// Whether results keep their texts.
        Texts = "texts of results that are lost (O-24)",
        /// Whether history is what the model said.
        Answers = "answers that go back otherwise than they came (O-28)",
        /// Whether results deny what ran.
        Claims = "what results say of tools that were seen to start (O-20)",
        /// Whether stored sessions keep the rules.
        Store = "the session on disk (O-1, O-2, O-10)",
        /// Whether messages are lost.
        Losses = "messages, results and texts that are lost (O-24)",
        /// Whether the conversation goes on.
        Resume = "the conversation when it is resumed",
        /// Whether the next run will have it.
        ResumedStore = "the session on disk after the resumed run (O-24)",
        /// Whether its exit code tells success.
        ResumedExit = "the exit code of the resumed run",
        /// Whether a command runs again that nobody asks for again.
        ResumedEffects = "commands that the resumed run runs again",
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
    /// The results of tools in the last request of the first command.
    pub results: Vec<CallResult>,
    /// The stored sessions and the requests of the second run, for people.
    pub shown: String,
}

/// The texts that the user may have given to a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserTexts<'a> {
    /// To the first command.
    pub(super) first: &'a [String],
    /// To the second.
    pub(super) second: &'a str,
}

/// Judges a run. `abort` is the scenario's own interrupt.
pub(super) fn judge(
    setup: &RunSetup,
    run: &ClientRun,
    exchanges: &[RunExchange],
    profile: Option<&ClientProfile>,
    texts: UserTexts<'_>,
    (act, abort): (Option<&BoundaryAction>, Option<&BoundaryAction>),
) -> RunJudgement {
    let is_first = |exchange: &&RunExchange| exchange.number as usize <= run.first_answers;
    let judge = RunJudge {
        setup,
        run,
        profile,
        texts,
        act: act.or(abort),
        first: exchanges.iter().filter(is_first).filter(|exchange| exchange.is_of_root()).collect(),
        second: exchanges.iter().filter(|exchange| !is_first(exchange)).collect(),
    };
    let results = judge.first.last().map(|last| results::given(&last.messages)).unwrap_or_default();
    let mut judgement = RunJudgement { shown: judge.shown(), results, ..RunJudgement::default() };
    if act.is_some() && run.action != ActionOutcome::Done {
        return judgement;
    }
    judge.effects(&mut judgement);
    judge.aborts(&mut judgement);
    judge.retries(&mut judgement);
    judge.results(&mut judgement);
    judge.result_texts(&mut judgement);
    judge.answers(&mut judgement);
    judge.claims(&mut judgement);
    judge.stores(&mut judgement);
    judge.losses(&mut judgement);
    judge.resumed_answer(&mut judgement);
    judgement
}

impl RunJudgement {
    fn ask(&mut self, question: RunQuestion) {
        if !self.asked.contains(&question) {
            self.asked.push(question);
        }
    }

    /// Adds problems that are not among them.
    fn add(&mut self, problems: Vec<String>) {
        for problem in problems {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }
}

#[derive(Debug)]
struct RunJudge<'a> {
    setup: &'a RunSetup,
    run: &'a ClientRun,
    profile: Option<&'a ClientProfile>,
    texts: UserTexts<'a>,
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
    fn traces<'t>(&'t self, changed: &'t [FileTrace]) -> impl Iterator<Item = (&'t FileTrace, &'t Arc<str>)> {
        let of_file = |file: &'_ FileTrace| {
            let name = file.path.rsplit('/').next().filter(|name| name.len() >= FILE_NAME_MIN)?.to_owned();
            let mut naming = self.first.iter().flat_map(|exchange| exchange.calls()).filter(|call| call.input.as_str().contains(&name));
            let only = naming.next()?;
            naming.all(|other| other.id == only.id).then_some(&only.id)
        };
        changed.iter().filter_map(move |file| Some((file, of_file(file)?)))
    }

    fn started(&self) -> Vec<StartedCall> {
        let traces = self
            .traces(&self.run.traces.changed)
            .map(|(file, id)| StartedCall { id: id.clone(), sign: format!("made the file {}", file.path) });
        let of_marker = |exchange: &&&RunExchange| self.run.marked.contains(&exchange.number);
        let alone = self.first.iter().filter(of_marker).filter_map(|exchange| {
            let mut calls = exchange.calls();
            calls.next().filter(|_| calls.next().is_none())
        });
        traces.chain(alone.map(|call| StartedCall { id: call.id.clone(), sign: String::from("showed its marker") })).collect()
    }

    /// Commands are over when their client was told to stop.
    fn effects(&self, judgement: &mut RunJudgement) {
        let (Some(act), Some(acted_at)) = (self.act.filter(|act| act.what.is_abort()), self.run.traces.acted_at) else { return };
        // A command that makes no file runs on unseen.
        let traces: Vec<_> = self.traces(&self.run.traces.changed).collect();
        if traces.is_empty() {
            return;
        }
        judgement.asked.push(RunQuestion::Effects);
        for (file, id) in traces.into_iter().filter(|(file, _)| file.written_at > acted_at + COMMAND_GRACE) {
            let text = format!(
                "K-9: the command of tool call {id} ran on after {}: it made the file {} more than {} ms later",
                act.what,
                file.path,
                COMMAND_GRACE.as_millis()
            );
            judgement.problems.push(text);
        }
    }

    /// A client that was told to stop asks nothing more.
    fn aborts(&self, judgement: &mut RunJudgement) {
        // Who starts has no ear for it yet, and no request that it could be seen by.
        let Some(act) = self.act.filter(|act| act.what.is_abort() && !matches!(act.at, ClientMoment::Start(_))) else { return };
        judgement.asked.push(RunQuestion::Aborts);
        let lead = if act.at.is_in_answer() { act.lead } else { Duration::ZERO };
        let is_late = |exchange: &&&RunExchange| exchange.after_action.is_some_and(|after| after.saturating_sub(lead) > COMMAND_GRACE);
        for exchange in self.first.iter().filter(is_late) {
            let (name, what, grace) = (exchange.name(), &act.what, COMMAND_GRACE.as_millis());
            judgement.problems.push(format!("O-11: the client asks on after {what}: {name} came more than {grace} ms later"));
        }
    }

    fn retries(&self, judgement: &mut RunJudgement) {
        for (exchanges, prompts) in [(&self.first, self.texts.first), (&self.second, &[])] {
            for (failed, again) in retries::retries(exchanges) {
                judgement.ask(RunQuestion::Retries);
                judgement.problems.extend(retries::problems(failed, again, prompts));
            }
        }
    }

    fn answers(&self, judgement: &mut RunJudgement) {
        let all: Vec<&RunExchange> = self.first.iter().chain(&self.second).copied().filter(|exchange| exchange.is_of_root()).collect();
        for (name, history) in self.histories() {
            judgement.ask(RunQuestion::Answers);
            let found = answers::problems(&name, history, &all);
            if !found.is_empty() {
                return judgement.add(found);
            }
        }
    }

    /// The histories that a client sends last and keeps: its last requests and its stored sessions.
    fn histories(&self) -> Vec<(String, &[StoredMessage])> {
        self.sent_last().into_iter().chain(self.kept()).collect()
    }

    /// The last requests of both commands, the newest first.
    fn sent_last(&self) -> Vec<(String, &[StoredMessage])> {
        let last = |exchanges: &[&'_ RunExchange]| exchanges.iter().rposition(|exchange| exchange.is_of_root());
        let of_first = last(&self.first).map(|at| self.first[at]);
        let of_second = last(&self.second).map(|at| self.second[at]);
        [of_second, of_first].into_iter().flatten().map(|exchange| (exchange.name(), &*exchange.messages)).collect()
    }

    /// The stored sessions.
    fn kept(&self) -> Vec<(String, &[StoredMessage])> {
        let kept = self.stored().into_iter().flat_map(|stored| &stored.conversations).filter(|one| one.branch == StoredBranch::Main);
        kept.map(|one| (String::from("the stored session"), &*one.messages)).collect()
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
        // A resumed run may have written anew what could not be read before it.
        let problems = self.run.traces.stored.iter().chain([stored]).flat_map(|stored| &stored.problems);
        judgement.add(problems.map(|problem| format!("K-9: {problem}")).collect());
        if stored.conversations.is_empty() {
            return;
        }
        judgement.asked.push(RunQuestion::Store);
        let repaired = self.resumed().map(repaired_calls).unwrap_or_default();
        for conversation in &stored.conversations {
            let damages = conversation.remarks.damages().iter();
            judgement.add(damages.map(|damage| format!("K-9: in the stored session, {damage}; readers may stop there")).collect());
            let dialect = stored.format.map_or(HistoryDialect::Messages, StoreFormat::dialect);
            let mut found = rules::results(conversation.context(), dialect, HistoryEnd::Open);
            if dialect == HistoryDialect::Messages {
                found.extend(validity(conversation.context()));
            }
            for HistoryViolation { rule, call, text, .. } in found {
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
    fn losses(&self, judgement: &mut RunJudgement) {
        let Some(last) = self.first.last() else { return };
        let resumed = self.resumed_run();
        if resumed.is_none() && (self.stored().is_none() || self.act.is_none()) {
            return;
        }
        judgement.asked.push(RunQuestion::Losses);
        let received = self.received(last, self.texts.first);
        let mut later: Vec<&[StoredMessage]> = self.second.iter().map(|exchange| &*exchange.messages).collect();
        later.extend(self.stored().iter().flat_map(|stored| &stored.conversations).map(|conversation| &*conversation.messages));
        judgement.problems.extend(losses(&received, &later).iter().map(ToString::to_string));
        if let Some(resumed) = resumed {
            judgement.asked.push(RunQuestion::Resume);
            judgement.problems.extend(resumed.continuation(&received, last));
            if let Some(problems) = resumed.stored_session(&received, last) {
                judgement.asked.push(RunQuestion::ResumedStore);
                judgement.problems.extend(problems);
            }
        }
    }

    /// A command that was begun before is not run again unless the model asks for it again.
    fn repeated_effects(&self, judgement: &mut RunJudgement) {
        if self.first.iter().all(|exchange| exchange.calls().next().is_none()) {
            return;
        }
        judgement.asked.push(RunQuestion::ResumedEffects);
        let is_asked_again = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            self.second.iter().flat_map(|exchange| exchange.calls()).any(|call| call.input.as_str().contains(name))
        };
        for (file, id) in self.traces(&self.run.traces.changed_again).filter(|(file, _)| !is_asked_again(&file.path)) {
            let text =
                format!("K-9: the resumed run runs the command of tool call {id} again, unasked: the file {} was written", file.path);
            judgement.problems.push(text);
        }
    }

    fn resumed_run(&self) -> Option<ResumedRun<'_>> {
        Some(ResumedRun {
            output: self.run.again.as_ref()?,
            first: self.resumed(),
            last: self.second.iter().rfind(|exchange| exchange.is_of_root()).copied(),
            stored: self.run.traces.stored_again.as_ref(),
            prompt: self.texts.second,
        })
    }

    fn received(&self, last: &RunExchange, prompts: &[String]) -> Vec<ReceivedContent> {
        let of = |kind: ReceivedKind, origin: String| ReceivedContent { kind, origin };
        let of_last = || format!("of {}", last.name());
        let of_user: Vec<StoredMessage> = last.messages.iter().filter(|message| message.role == Role::User).cloned().collect();
        let prompt = |text: &str| of(ReceivedKind::Prompt(text.into()), of_last());
        let is_there = |content: &ReceivedContent| losses(core::slice::from_ref(content), &[&of_user]).is_empty();
        // At a terminal, the prompt of a turn that is stopped may be put back into the input line, which is not seen.
        let has_answer = last.messages.iter().any(|message| message.role == Role::Assistant) || self.had_come_whole(last);
        let is_given_back = !has_answer && self.act.is_some_and(|act| matches!(act.what, ClientAction::Keys(_)));
        let mut received: Vec<ReceivedContent> =
            prompts.iter().filter(|_| !is_given_back).map(|text| prompt(text)).filter(is_there).collect();
        if received.is_empty() && !is_given_back {
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
        exchange.is_whole() && is_said && is_before && !act.is_kill()
    }

    /// Whether it is seen that the client worked on an answer: it printed a text of it, or ran one of its tools.
    fn is_seen(&self, exchange: &RunExchange) -> bool {
        let is_run = || self.traces(&self.run.traces.changed).any(|(_, id)| exchange.calls().any(|call| call.id == *id));
        let place = self.profile.and_then(|profile| profile.output.text.as_ref());
        let printed = place.map(|place| printed(place, &self.run.output)).unwrap_or_default();
        self.run.marked.contains(&exchange.number) || is_run() || exchange.texts().any(|text| printed.contains(&joined_words(text)))
    }

    /// The resumed run's answer reaches people, and its exit code tells success.
    fn resumed_answer(&self, judgement: &mut RunJudgement) {
        let Some(resumed) = self.resumed_run() else { return };
        if let Some(problems) = resumed.shown_answer(self.profile) {
            judgement.asked.push(RunQuestion::ResumedAnswer);
            judgement.problems.extend(problems);
        }
        if let Some(problem) = resumed.exit_code(self.profile) {
            judgement.asked.push(RunQuestion::ResumedExit);
            judgement.problems.extend(problem);
        }
        self.repeated_effects(judgement);
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

/// Whether a text is long enough to be known by.
fn is_telling(text: &str) -> bool {
    text.chars().nth(TEXT_CHARACTERS_MIN - 1).is_some()
}

/// The calls whose results a request has as the API wants them.
fn repaired_calls(request: &RunExchange) -> Vec<Arc<str>> {
    let broken = rules::results(&request.messages, HistoryDialect::Messages, HistoryEnd::Closed);
    let is_right = |id: &&Arc<str>| broken.iter().all(|violation| violation.call.as_ref() != Some(id));
    result_ids(&request.messages).filter(is_right).cloned().collect()
}
