//! The session of one client: its requests, their answers, and its verdict.

use tokio::time::Instant;

use super::message::{AnswerPlayback, AnswerSerial, ReceivedRequest, ServerResponse};
use super::questions::VerdictQuestions;
use super::schedule::{AnswerSchedule, ConnectionCut, cannot_carry};
use super::verdict::{ServeVerdict, ServedEnd, ServedExchange};
use super::{END_HEADER, ScenarioOfServer, ServeOptions, TranscriptExtent, judge};
use crate::clock::SessionClock;
use reenact_engine::contract::{Agent, AnswerEnd, Effect, Input, RequestId};
use reenact_engine::time::Time;
use reenact_scenario::types::Chunking;
use reenact_sim::notes;
use reenact_transcript::event::{EventKind, RunEnd};
use reenact_transcript::record::TranscriptRecorder;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_world::WorldNote;
use reenact_world::answer_queue::AnswerOwner;
use reenact_world::choices::ChoiceMaker;
use reenact_world::delivery::{AnswerDelivery, AnswerPart};
use reenact_world::endpoint::{ApiEndpoint, EndpointResponse, MessageResponse, WholeResponse};
use reenact_world::model::ModelResponse;
use reenact_world::plan::ResponsePlan;
use reenact_world::setup::RunSetup;

/// One client's session.
#[derive(Clone, Debug)]
pub(super) struct ClientSession {
    setup: Arc<RunSetup>,
    options: ServeOptions,
    clock: SessionClock,
    endpoint: ApiEndpoint,
    recorder: TranscriptRecorder,
    /// The answers on their way, each with the place of its request among those that were asked.
    open: Vec<(usize, AnswerDelivery)>,
    /// How many answers to requests for a message there were.
    answers: u32,
    asked: Vec<ServedExchange>,
    problems: Vec<String>,
    remarks: Vec<String>,
    exhausted: Option<(Agent, RequestId)>,
    /// When something happened last.
    last_at: Instant,
    /// When the client was acted on first.
    acted_at: Option<Instant>,
}

impl ClientSession {
    pub(super) fn new(scenario: &ScenarioOfServer, options: ServeOptions, clock: SessionClock) -> Self {
        Self {
            setup: scenario.setup.clone(),
            endpoint: ApiEndpoint::new(scenario.terms),
            options,
            clock,
            recorder: TranscriptRecorder::default(),
            open: Vec::new(),
            answers: 0,
            asked: Vec::with_capacity(1), // most clients that are many ask once
            problems: Vec::new(),
            remarks: Vec::new(),
            exhausted: None,
            last_at: clock.began,
            acted_at: None,
        }
    }

    fn time(&self, at: Instant) -> Time {
        self.clock.time(at)
    }

    /// A new process serves: what was open is lost.
    #[cfg(feature = "network")]
    pub(super) fn begin(&mut self, clock: SessionClock) {
        (self.clock, self.last_at) = (clock, clock.began);
        let now = self.time(Instant::now());
        for (asked, AnswerDelivery { agent, id, .. }) in core::mem::take(&mut self.open) {
            self.asked[asked].on_end(now, ServedEnd::ServerGone);
            self.endpoint.on_closed(&agent, id);
            self.recorder.input(now, &agent, &Input::End { id, how: AnswerEnd::Reset });
        }
    }

    fn problem(&mut self, text: String) {
        if !self.problems.contains(&text) {
            self.problems.push(text);
        }
    }

    fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    /// Since when every answer was given and nothing is open.
    pub(super) fn done_at(&self) -> Option<Instant> {
        let is_done = self.open.is_empty() && self.is_used() && self.endpoint.unused_answers(&self.setup, AnswerOwner::Own).is_empty();
        is_done.then_some(self.last_at)
    }

    /// Whether anything was asked.
    pub(super) fn is_used(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, session: usize, arrived: &ReceivedRequest) -> ServerResponse {
        self.last_at = arrived.at;
        let now = self.time(arrived.at);
        match self.endpoint.ask(&self.setup, now, &arrived.incoming) {
            EndpointResponse::Message(response) => self.answer_message(session, now, arrived, *response),
            EndpointResponse::Whole(response) => self.answer_other(now, arrived, response),
        }
    }

    fn answer_other(&mut self, now: Time, arrived: &ReceivedRequest, response: WholeResponse) -> ServerResponse {
        let WholeResponse { head, body, side, problem, remarks } = response;
        remarks.into_iter().for_each(|remark| self.remark(remark));
        let line = format!("{} {}", arrived.incoming.method, arrived.incoming.path);
        if let Some(problem) = &problem {
            self.problem(format!("{line} was answered with {}: {problem}", head.status));
        }
        let (line, answer) = match side {
            Some((number, model)) => (format!("{line}, {model}"), Some(format!("side {number}").into())),
            None => (line, None),
        };
        let asked = ServedExchange::other(now, arrived.connection, line, head.status, problem);
        self.asked.push(ServedExchange { answer, ..asked });
        ServerResponse::Whole { head, body: body.into() }
    }

    fn answer_message(&mut self, session: usize, now: Time, arrived: &ReceivedRequest, response: MessageResponse) -> ServerResponse {
        let MessageResponse { agent, id, request, answered, remarks } = response;
        remarks.into_iter().for_each(|remark| self.remark(remark));
        let ModelResponse { plan, note, refused } = answered;
        let effect = Effect::Request { id, request: request.clone() };
        self.recorder.effect(now, &agent, &effect);
        if let Some(refused) = &refused {
            if refused.overruled && self.setup.scenario.api.lenient {
                self.remark(format!("the API would refuse request {}: {}", agent.key(id), refused.text));
            }
            let what = EventKind::Refused { id, rule: refused.rule.into(), text: refused.text.clone(), overruled: refused.overruled };
            self.note(now, &agent, what);
        }
        let mut asked = ServedExchange::message(now, arrived.connection, &arrived.incoming.path, &agent, id, &request);
        asked.retry_count = arrived.retry_count.clone();
        asked.after_action = self.acted_at.map(|acted_at| arrived.at.saturating_duration_since(acted_at));
        asked.answer = answer_name(&note);
        let exhausted = notes::note_world(&agent, note, |what| self.note(now, &agent, what));
        self.answers += 1;
        let plan = if self.options.gates.is_some() { plan.map(ResponsePlan::by_event) } else { plan };
        let Some(plan) = plan.filter(|_| exhausted.is_none()) else {
            asked.how = ServedEnd::Exhausted;
            self.asked.push(asked);
            self.exhausted.get_or_insert_with(|| (agent.clone(), id));
            return exhausted_answer(&agent, id);
        };
        if let Some(remark) = cannot_carry(id, plan.end.as_ref()) {
            self.remarks.push(remark);
        }
        let plan = Arc::new(plan);
        let schedule = AnswerSchedule::new(&self.setup.scenario, plan.clone(), (&agent, id), &self.options);
        asked.status = plan.head.as_ref().map(|head| head.status);
        self.asked.push(asked);
        self.open.push((self.asked.len() - 1, AnswerDelivery::new(self.answers, agent.clone(), id, plan, now)));
        let serial = AnswerSerial { session, number: self.answers };
        let is_last = self.options.gates.is_some() && self.owes_none(id.prompt);
        ServerResponse::Play(AnswerPlayback { serial, agent, id, is_last, in_flight: Arc::new(()), schedule })
    }

    /// Whether the scenario owes no further answer within this prompt and those before: what need not be asked for is not waited for.
    fn owes_none(&self, prompt: u32) -> bool {
        let unused = self.endpoint.unused_answers(&self.setup, AnswerOwner::Own);
        let prompts = &self.setup.scenario.prompts;
        let is_excused = |name: &Arc<str>| {
            (1..).zip(prompts).any(|(number, scripted)| {
                // Nor does what follows a turn that need not be asked for.
                let owed = if number > prompt { 0 } else { scripted.turns.iter().take_while(|turn| !turn.may).count() };
                (owed + 1..=scripted.turns.len()).any(|turn| **name == *format!("turn {number}.{turn}"))
            })
        };
        unused.iter().all(is_excused)
    }

    /// A part of an answer was sent, or its client left.
    pub(super) fn on_reached(&mut self, number: u32, part: AnswerPart, at: Instant) {
        match part {
            AnswerPart::Left => self.on_left(number, at),
            _ => self.on_sent(number, part, at),
        }
    }

    fn on_sent(&mut self, number: u32, part: AnswerPart, at: Instant) {
        self.last_at = at;
        let now = self.time(at);
        let Some(position) = self.open.iter().position(|(_, open)| open.serial == number) else { return };
        let (asked, open) = &mut self.open[position];
        let asked = &mut self.asked[*asked];
        asked.pieces += usize::from(matches!(part, AnswerPart::Event(_)));
        // Reading it would cost more than sending it.
        let is_left_out = matches!(part, AnswerPart::Event(_)) && self.options.keeps == TranscriptExtent::Outlines;
        if !is_left_out {
            let mut inputs = Vec::new();
            // Its schedule has cut it, and the connection knows when the next part comes.
            let _ = open.arrive(&Chunking::AsRecorded, &mut ChoiceMaker::new(&self.setup.scenario, None), part, &mut inputs);
            inputs.iter().for_each(|(agent, input)| self.recorder.input(now, agent, input));
        }
        if part == AnswerPart::End {
            asked.on_end(now, if open.plan.end == Some(AnswerEnd::Complete) { ServedEnd::Complete } else { ServedEnd::Reset });
            self.remove_open(position);
        }
    }

    fn on_left(&mut self, number: u32, at: Instant) {
        let Some((asked, open)) = self.closed(number, at) else { return };
        let now = self.time(at);
        let asked = &mut self.asked[asked];
        let (has_body, end) = (asked.pieces == open.plan.pieces.len(), &open.plan.end);
        let has_all = has_body && *end == Some(AnswerEnd::Complete);
        let is_left_hanging = has_body && matches!(end, None | Some(AnswerEnd::Timeout | AnswerEnd::ConnectTimeout));
        asked.on_end(now, if has_all { ServedEnd::LeftAtEnd } else { ServedEnd::ClientLeft });
        // Who has all of it, or was left hanging on purpose, does what the scenario says.
        if !has_all && !is_left_hanging {
            self.endpoint.on_closed(&open.agent, open.id);
        }
        self.recorder.effect(now, &open.agent, &Effect::CloseRequest { id: open.id });
    }

    pub(super) fn on_disturbed(&mut self, at: Instant) {
        self.acted_at.get_or_insert(at);
        self.endpoint.on_disturbed();
    }

    pub(super) fn on_cut_at_gate(&mut self, number: u32, at: Instant, cut: ConnectionCut) {
        let Some((asked, AnswerDelivery { agent, id, .. })) = self.closed(number, at) else { return };
        let now = self.time(at);
        self.asked[asked].on_end(now, if cut == ConnectionCut::Reset { ServedEnd::ResetAtGate } else { ServedEnd::ClosedAtGate });
        self.endpoint.on_closed(&agent, id);
        self.recorder.input(now, &agent, &Input::End { id, how: AnswerEnd::Reset });
    }

    fn closed(&mut self, number: u32, at: Instant) -> Option<(usize, AnswerDelivery)> {
        self.last_at = at;
        let position = self.open.iter().position(|(_, open)| open.serial == number)?;
        Some(self.remove_open(position))
    }

    /// Takes an answer that is over. A session without one holds no room for any: there may be thousands that are done (K-8).
    fn remove_open(&mut self, position: usize) -> (usize, AnswerDelivery) {
        let open = self.open.remove(position);
        if self.open.is_empty() {
            self.open = Vec::new();
        }
        open
    }

    /// Notes it for the transcript and the other watchers.
    fn note(&mut self, now: Time, agent: &Agent, what: EventKind) {
        self.recorder.note(now, agent, &what);
        if let Some(notes) = &self.options.notes {
            // Who does not listen any more wants to know nothing.
            let _ = notes.send((agent.clone(), what));
        }
    }

    pub(super) fn into_verdict(mut self, now: Time) -> ServeVerdict {
        for (asked, _) in core::mem::take(&mut self.open) {
            self.asked[asked].on_end(now, ServedEnd::OpenAtEnd);
        }
        let idle = self.endpoint.unused_sides(&self.setup);
        self.remarks.extend(idle.iter().map(|number| format!("[[side]] {number} answered no request")));
        let unused = self.endpoint.unused_answers(&self.setup, AnswerOwner::Own);
        let others = self.endpoint.unused_answers(&self.setup, AnswerOwner::Others);
        self.remarks.extend(others.iter().map(|answer| format!("{answer} was never asked for")));
        for answer in &unused {
            self.recorder.note(now, &Agent::ROOT, &EventKind::Unused { answer: answer.clone() });
        }
        let passed = self.endpoint.passed(&self.setup);
        let rules = self.endpoint.normalising_rules();
        if !rules.is_empty() {
            let rules = rules.iter().copied().collect::<Vec<_>>().join(", ");
            self.remarks
                .push(format!("compared with the recorded requests under the rules {rules}; `without` in [drive] leaves rules out"));
        }
        let end = self.exhausted.map_or(RunEnd::Idle, |(agent, id)| RunEnd::TapeExhausted { agent, id });
        self.recorder.note(now, &Agent::ROOT, &EventKind::Ended { end: end.clone() });
        let scenario = &self.setup.scenario;
        let transcript = self.recorder.into_transcript(&scenario.title, scenario.seed);
        let questions = VerdictQuestions::of_scenario(scenario, &self.options);
        let (asked, remarks, failures) = (self.asked, self.remarks, self.problems);
        let mut verdict = ServeVerdict { transcript, end, asked, unused, passed, questions, remarks, failures };
        judge::judge(&self.setup, &self.options, &mut verdict);
        verdict
    }
}

/// The name of what was answered, as people read it.
fn answer_name(note: &WorldNote) -> Option<Arc<str>> {
    match note {
        WorldNote::Served { answer, fault: None, .. } => Some(answer.clone()),
        WorldNote::Served { answer, fault: Some(fault), .. } => Some(format!("{answer}, {fault}").into()),
        WorldNote::Fault { text, .. } => Some(text.clone()),
        WorldNote::Answered => Some("refused by the API".into()),
        WorldNote::Exhausted { .. } => None,
    }
}

/// The response when no answer is left: an error that no client takes for a passing one.
fn exhausted_answer(agent: &Agent, id: RequestId) -> ServerResponse {
    let aside = if agent.is_root() { "" } else { "; requests beside the conversation are answered by [[side]]" };
    let message = format!("reenact: the scenario has no answer left for request {} (tape_exhausted){aside}", agent.key(id));
    // Clients take a 401 or a 403 for a matter of credentials, and ask their user to log in.
    ServerResponse::error(400, "invalid_request_error", &message, &[(END_HEADER, "tape_exhausted")])
}
