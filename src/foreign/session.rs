//! The session of one client: its requests, their answers, and its verdict (K-6, G-1).
//!
//! It has no clock: the owner of the client's connection says when something happens.

use core::time::Duration;

use super::judge;
use super::questions::{BY_REQUESTS, VerdictQuestions};
use super::verdict::{ServedEnd, ServedExchange, SessionVerdict};
use super::{END_HEADER, SessionTerms, TranscriptExtent};
use reenact_engine::contract::{Agent, AnswerEnd, Effect, Input, RequestId};
use reenact_engine::time::Time;
use reenact_scenario::plan::Plan;
use reenact_scenario::types::Chunking;
use reenact_sim::notes;
use reenact_transcript::event::{EventKind, RunEnd};
use reenact_transcript::record::TranscriptRecorder;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::block::ToolUse;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_world::answer_queue::AnswerOwner;
use reenact_world::choices::{ChoiceMaker, NotedChoices};
use reenact_world::delivery::{AnswerDelivery, AnswerPart};
use reenact_world::endpoint::{ApiEndpoint, EndpointResponse, IncomingRequest, MessageResponse, WholeResponse};
use reenact_world::model::ModelResponse;
use reenact_world::plan::{ResponseHead, ResponsePlan};
use reenact_world::setup::RunSetup;
use reenact_world::{ClientToolRun, WorldNote};

/// One client's session.
#[derive(Clone, Debug)]
pub struct ClientSession {
    setup: Arc<RunSetup>,
    terms: SessionTerms,
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
    /// The choices that were made, where somebody wants them.
    noted: Option<Arc<NotedChoices>>,
}

/// A request as it came.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedRequest<'a> {
    /// The request.
    pub incoming: &'a IncomingRequest,
    /// Which connection it came over, from 1.
    pub connection: u64,
    /// How long after the first action on the client it came, by the clock on the wall; `None` where nothing was done to the client.
    pub after_action: Option<Duration>,
    /// The `x-stainless-retry-count` that it came with.
    pub retry_count: Option<&'a Arc<str>>,
}

/// The response to a request.
#[derive(Clone, Debug)]
pub enum SessionAnswer {
    /// It comes in parts, each at its time.
    Planned(PlannedAnswer),
    /// It comes at once.
    Whole {
        /// Its head.
        head: ResponseHead,
        /// Its body.
        body: Vec<u8>,
        /// The request for a message for which no answer is left; `None` for any other.
        request: Option<Arc<Request>>,
    },
}

/// An answer that comes in parts.
#[derive(Clone, Debug)]
pub struct PlannedAnswer {
    /// Its number among the answers of the session that come in parts, from 1.
    pub number: u32,
    /// The agent that asked.
    pub agent: Agent,
    /// The request.
    pub id: RequestId,
    /// Whether the scenario owes no further one.
    pub is_last: bool,
    /// The request itself.
    pub request: Arc<Request>,
    /// All that will come. Its times count from the request.
    pub plan: Arc<ResponsePlan>,
}

impl ClientSession {
    /// A session that has not begun.
    pub fn new(setup: &Arc<RunSetup>, terms: SessionTerms) -> Self {
        Self {
            setup: setup.clone(),
            endpoint: ApiEndpoint::new(terms.answers),
            noted: terms.notes_choices.then(Arc::default),
            terms,
            recorder: TranscriptRecorder::default(),
            open: Vec::new(),
            answers: 0,
            asked: Vec::with_capacity(1), // most clients that are many ask once
            problems: Vec::new(),
            remarks: Vec::new(),
            exhausted: None,
        }
    }

    /// The server is gone, and all that was open with it.
    pub fn on_server_gone(&mut self, now: Time) {
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

    /// Adds a remark to the verdict.
    pub fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    /// Whether every answer was given and nothing is open.
    pub fn is_done(&self) -> bool {
        self.open.is_empty() && self.is_used() && self.endpoint.unused_answers(&self.setup, AnswerOwner::Own).is_empty()
    }

    /// Whether anything was asked.
    pub fn is_used(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Answers a request. `tell` gets the world's notes about it, which are in the transcript as well.
    pub fn answer(&mut self, now: Time, arrived: ArrivedRequest<'_>, tell: &mut dyn FnMut(&Agent, &EventKind)) -> SessionAnswer {
        match self.endpoint.ask(&self.setup, now, arrived.incoming, self.noted.as_mut()) {
            EndpointResponse::Message(response) => self.answer_message(now, arrived, *response, tell),
            EndpointResponse::Whole(response) => self.answer_other(now, arrived, response),
        }
    }

    fn answer_other(&mut self, now: Time, arrived: ArrivedRequest<'_>, response: WholeResponse) -> SessionAnswer {
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
        SessionAnswer::Whole { head, body, request: None }
    }

    fn answer_message(
        &mut self,
        now: Time,
        arrived: ArrivedRequest<'_>,
        response: MessageResponse,
        tell: &mut dyn FnMut(&Agent, &EventKind),
    ) -> SessionAnswer {
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
            self.note(now, &agent, &what, tell);
        }
        let mut asked = ServedExchange::message(now, arrived.connection, &arrived.incoming.path, &agent, id, &request);
        asked.retry_count = arrived.retry_count.cloned();
        asked.after_action = arrived.after_action;
        asked.answer = answer_name(&note);
        let exhausted = notes::note_world(&agent, note, |what| self.note(now, &agent, &what, tell));
        self.answers += 1;
        let plan = if self.terms.by_event { plan.map(ResponsePlan::by_event) } else { plan };
        let Some(plan) = plan.filter(|_| exhausted.is_none()) else {
            asked.how = ServedEnd::Exhausted;
            self.asked.push(asked);
            self.exhausted.get_or_insert_with(|| (agent.clone(), id));
            return exhausted_answer(&agent, id, request);
        };
        if let Some(remark) = cannot_carry(id, plan.end.as_ref()) {
            self.remarks.push(remark);
        }
        let plan = Arc::new(plan);
        asked.status = plan.head.as_ref().map(|head| head.status);
        self.asked.push(asked);
        self.open.push((self.asked.len() - 1, AnswerDelivery::new(self.answers, agent.clone(), id, plan.clone(), now)));
        let is_last = self.terms.is_driven && self.owes_none(id.prompt);
        SessionAnswer::Planned(PlannedAnswer { number: self.answers, agent, id, is_last, request, plan })
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
    pub fn on_reached(&mut self, number: u32, part: AnswerPart, now: Time) {
        match part {
            AnswerPart::Left => self.on_left(number, now),
            _ => self.on_sent(number, part, now),
        }
    }

    fn on_sent(&mut self, number: u32, part: AnswerPart, now: Time) {
        let Some(position) = self.open.iter().position(|(_, open)| open.serial == number) else { return };
        let (asked, open) = &mut self.open[position];
        let asked = &mut self.asked[*asked];
        asked.pieces += usize::from(matches!(part, AnswerPart::Event(_)));
        // Reading it would cost more than sending it.
        let is_left_out = matches!(part, AnswerPart::Event(_)) && self.terms.keeps == TranscriptExtent::Outlines;
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

    fn on_left(&mut self, number: u32, now: Time) {
        let Some((asked, open)) = self.closed(number) else { return };
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

    /// Something was done to the client that the scenario knows nothing of.
    pub fn on_disturbed(&mut self) {
        self.endpoint.on_disturbed();
    }

    /// The driver of the client had the answer cut.
    pub fn on_cut_at_gate(&mut self, number: u32, now: Time, is_reset: bool) {
        let Some((asked, AnswerDelivery { agent, id, .. })) = self.closed(number) else { return };
        self.asked[asked].on_end(now, if is_reset { ServedEnd::ResetAtGate } else { ServedEnd::ClosedAtGate });
        self.endpoint.on_closed(&agent, id);
        self.recorder.input(now, &agent, &Input::End { id, how: AnswerEnd::Reset });
    }

    fn closed(&mut self, number: u32) -> Option<(usize, AnswerDelivery)> {
        let position = self.open.iter().position(|(_, open)| open.serial == number)?;
        Some(self.remove_open(position))
    }

    /// The user does something.
    pub(super) fn on_input(&mut self, now: Time, input: &Input) {
        self.recorder.input(now, &Agent::ROOT, input);
    }

    /// Something stands in the transcript that is neither request nor answer.
    pub(super) fn on_note(&mut self, now: Time, what: &EventKind) {
        self.recorder.note(now, &Agent::ROOT, what);
    }

    /// The run of a scripted tool. `nth` counts the runs of the same tool, from 0.
    pub(super) fn tool_run(&mut self, tool_use: &ToolUse, nth: usize) -> ClientToolRun {
        self.endpoint.tool_run(&self.setup, self.noted.as_mut(), tool_use, nth)
    }

    /// Makes further choices of this run.
    pub(super) fn with_choices<T>(&mut self, choose: impl FnOnce(&mut ChoiceMaker<'_>) -> T) -> T {
        choose(&mut ChoiceMaker::new(&self.setup.scenario, self.noted.as_mut()))
    }

    /// The faults of the plan that hit nothing, in words (E-8).
    pub(super) fn missed_faults(&self) -> Vec<String> {
        let missed = self.endpoint.missed_faults(&self.setup);
        missed.into_iter().map(|fault| format!("the plan's fault did not happen: {fault}")).collect()
    }

    /// The choices that were drawn; `None` where nobody wants them.
    pub(super) fn choices(&self) -> Option<&Plan> {
        self.noted.as_ref().map(|noted| noted.plan())
    }

    /// Takes an answer that is over. A session without one holds no room for any: there may be thousands that are done (K-8).
    fn remove_open(&mut self, position: usize) -> (usize, AnswerDelivery) {
        let open = self.open.remove(position);
        if self.open.is_empty() {
            self.open = Vec::new();
        }
        open
    }

    /// Notes it for the transcript and for `tell`.
    fn note(&mut self, now: Time, agent: &Agent, what: &EventKind, tell: &mut dyn FnMut(&Agent, &EventKind)) {
        self.recorder.note(now, agent, what);
        tell(agent, what);
    }

    /// The verdict at the end.
    pub fn into_verdict(self, now: Time) -> SessionVerdict {
        self.into_verdict_by(now, &BY_REQUESTS)
    }

    /// The same, with these rules of oracles.
    pub(super) fn into_verdict_by(mut self, now: Time, asked_rules: &[&str]) -> SessionVerdict {
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
        let transcript = self.recorder.into_transcript(&scenario.title, scenario.shown_seed());
        let questions = VerdictQuestions::of_scenario(scenario, &self.terms);
        let (asked, remarks, failures) = (self.asked, self.remarks, self.problems);
        let mut verdict = SessionVerdict { transcript, end, asked, unused, passed, questions, remarks, violations: Vec::new(), failures };
        judge::judge(&self.setup, &self.terms, asked_rules, &mut verdict);
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
fn exhausted_answer(agent: &Agent, id: RequestId, request: Arc<Request>) -> SessionAnswer {
    let aside = if agent.is_root() { "" } else { "; requests beside the conversation are answered by [[side]]" };
    let message = format!("reenact: the scenario has no answer left for request {} (tape_exhausted){aside}", agent.key(id));
    // Clients take a 401 or a 403 for a matter of credentials, and ask their user to log in.
    let body = error_body("invalid_request_error", &message);
    let headers = [("x-should-retry", "false"), (END_HEADER, "tape_exhausted"), ("content-type", "application/json")];
    let head = ResponseHead { status: 400, headers: headers.map(|(name, value)| HttpHeader::new(name, value)).into() };
    SessionAnswer::Whole { head, body: body.into_bytes(), request: Some(request) }
}

/// The body of an error that is none of the scenario's.
#[doc(hidden)]
pub fn error_body(kind: &str, message: &str) -> String {
    serde_json::json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string()
}

/// The parts of an answer that an accepted connection cannot carry, and what its client sees in their place.
fn cannot_carry(id: RequestId, end: Option<&AnswerEnd>) -> Option<String> {
    let (wanted, sees) = match end? {
        AnswerEnd::ConnectRefused => ("a refused connection", "a connection that breaks before any byte"),
        AnswerEnd::Dns => ("an unknown host name", "a connection that breaks before any byte"),
        AnswerEnd::Tls => ("a failed TLS handshake", "a connection that breaks before any byte"),
        AnswerEnd::ConnectTimeout => ("a connection that is not made in time", "a connection on which no answer comes"),
        AnswerEnd::BrokenPipe => {
            ("a connection that breaks while the request is sent", "a connection that breaks when the request is complete")
        }
        _ => return None,
    };
    Some(format!("request {id}: the scenario wants {wanted}; over HTTP the client sees {sees}"))
}
