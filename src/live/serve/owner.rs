//! The one task that owns what changes: the simulated API, what is on its way, and what will be in the verdict.

use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use super::connection::{self, Answer, Context, Playing};
use super::open::Open;
use super::play::Cut;
use super::schedule::{self, cannot_carry};
use super::verdict::{Asked, How, Verdict};
use super::{END_HEADER, Keeps, Options, Until, judge};
use crate::engine::contract::{Agent, AnswerEnd, Effect, Input, RequestId};
use crate::engine::time::Time;
use crate::live::network::Network;
use crate::prelude::*;
use crate::sim::notes;
use crate::transcript::event::{RunEnd, What};
use crate::transcript::record::Recorder;
use crate::transcript::watch::Watch;
use crate::world::WorldNote;
use crate::world::delivery::Part;
use crate::world::endpoint::{Endpoint, Incoming, MessageReply, Reply};
use crate::world::model::Answered;
use crate::world::setup::Setup;

/// What connections tell.
#[derive(Debug)]
pub(super) enum Message {
    /// A request is in.
    Arrived { arrived: Arrived, reply: oneshot::Sender<Answer> },
    /// A part of an answer was handed to the network.
    Sent { serial: u64, part: Part, at: Instant },
    /// The client closed the connection before its answer was over.
    Left { serial: u64, at: Instant },
    /// Whoever drives the client had the answer cut.
    CutAtGate { serial: u64, at: Instant, cut: Cut },
    /// What came was no HTTP.
    Unreadable { connection: u64, problem: String },
}

/// A request as it came.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) at: Instant,
    pub(super) connection: u64,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) named: Option<(Agent, RequestId)>,
    pub(super) retry_count: Option<Arc<str>>,
    pub(super) body: Bytes,
}

/// How long nothing is accepted when the system has no connection to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop` comes or the options say that it is over.
pub(super) async fn serve<N: Network>(
    setup: Arc<Setup>,
    options: Options,
    listener: N::Listener,
    stop: impl Future<Output = ()>,
) -> Verdict {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut owner = Owner::new(setup, options);
    let mut connections = JoinSet::new();
    let mut count = 0;
    let mut stop = core::pin::pin!(stop);
    loop {
        let quiet_at = owner.quiet_at();
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some(message) = told.recv() => owner.take(message),
            Some(ended) = connections.join_next() => owner.on_connection_ended(ended),
            accepted = N::accept(&listener) => match accepted {
                Ok((stream, _)) => {
                    count += 1;
                    let Options { packets, gates, .. } = &owner.options;
                    let context = Context { tell: tell.clone(), packets: *packets, gates: gates.clone(), connection: count };
                    connections.spawn(connection::serve::<N>(stream, context));
                }
                Err(error) => {
                    owner.problem(format!("a connection could not be accepted: {error}"));
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            () = sleep_until(quiet_at.unwrap_or_else(Instant::now)), if quiet_at.is_some() => break,
        }
    }
    while let Ok(message) = told.try_recv() {
        owner.take(message);
    }
    // What is still open now is closed because serving is over: nobody left.
    connections.abort_all();
    while let Some(ended) = connections.join_next().await {
        owner.on_connection_ended(ended);
    }
    owner.into_verdict()
}

/// All that changes.
struct Owner {
    setup: Arc<Setup>,
    options: Options,
    epoch: Instant,
    endpoint: Endpoint,
    recorder: Recorder,
    open: Vec<Open>,
    serials: u64,
    /// How many answers to requests for a message there were.
    answers: u32,
    asked: Vec<Asked>,
    problems: Vec<String>,
    remarks: Vec<String>,
    exhausted: Option<RequestId>,
    /// When something happened last.
    last_at: Instant,
}

impl Owner {
    fn new(setup: Arc<Setup>, options: Options) -> Self {
        let now = Instant::now();
        Self {
            setup,
            options,
            epoch: now,
            endpoint: Endpoint::default(),
            recorder: Recorder::default(),
            open: Vec::new(),
            serials: 0,
            answers: 0,
            asked: Vec::new(),
            problems: Vec::new(),
            remarks: Vec::new(),
            exhausted: None,
            last_at: now,
        }
    }

    fn time(&self, at: Instant) -> Time {
        Time(u64::try_from(at.duration_since(self.epoch).as_micros()).unwrap_or(u64::MAX))
    }

    fn problem(&mut self, text: String) {
        if !self.problems.contains(&text) {
            self.problems.push(text);
        }
    }

    /// When it is over if nothing happens until then.
    fn quiet_at(&self) -> Option<Instant> {
        let Until::Quiet(quiet) = self.options.until else { return None };
        let is_done = self.open.is_empty() && !self.asked.is_empty() && self.endpoint.unused_answers(&self.setup).is_empty();
        is_done.then(|| self.last_at + quiet)
    }

    fn on_connection_ended(&mut self, ended: Result<(), JoinError>) {
        let Err(error) = ended else { return };
        if error.is_panic() {
            let payload = error.into_panic();
            let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
            self.problem(format!("the server panicked: {}", text.unwrap_or("(without a message)")));
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Arrived { arrived, reply } => {
                self.last_at = arrived.at;
                let answer = self.answer(&arrived);
                // Who asked may have left meanwhile.
                if let Err(Answer::Play(playing)) = reply.send(answer) {
                    self.on_left(playing.serial, Instant::now());
                }
            }
            Message::Sent { serial, part, at } => self.on_sent(serial, part, at),
            Message::Left { serial, at } => self.on_left(serial, at),
            Message::CutAtGate { serial, at, cut } => self.on_cut_at_gate(serial, at, cut),
            Message::Unreadable { connection, problem } => {
                self.problem(format!("connection {connection}: what came was no HTTP request: {problem}"))
            }
        }
    }

    fn answer(&mut self, arrived: &Arrived) -> Answer {
        let now = self.time(arrived.at);
        let incoming = Incoming { method: &arrived.method, path: &arrived.path, named: arrived.named.clone(), body: &arrived.body };
        match self.endpoint.ask(&self.setup, now, &incoming) {
            Reply::Message(reply) => self.answer_message(now, arrived, *reply),
            Reply::Other { status, body, problem } => {
                self.asked.push(Asked::other(now, arrived.connection, &arrived.method, &arrived.path, status, problem.clone()));
                if let Some(problem) = problem {
                    self.problem(format!("{} {} was answered with {status}: {problem}", arrived.method, arrived.path));
                }
                Answer::Give { status, headers: Vec::new(), body }
            }
        }
    }

    fn answer_message(&mut self, now: Time, arrived: &Arrived, reply: MessageReply) -> Answer {
        let MessageReply { agent, id, request, answered } = reply;
        let Answered { plan, note, refused } = answered;
        let effect = Effect::Request { id, request: request.clone() };
        self.recorder.effect(now, &agent, &effect);
        if let Some(refused) = &refused {
            let what = What::Refused { id, rule: refused.rule.into(), text: refused.text.clone(), overruled: refused.overruled };
            self.recorder.note(now, &agent, &what);
        }
        let mut asked = Asked::message(now, arrived.connection, &arrived.path, &agent, id, &request);
        asked.retry_count = arrived.retry_count.clone();
        asked.answer = answer_name(&note);
        let exhausted = notes::tell(&mut self.recorder, now, &agent, note);
        self.answers += 1;
        let Some(plan) = plan.filter(|_| exhausted.is_none()) else {
            asked.how = How::Exhausted;
            self.asked.push(asked);
            self.exhausted.get_or_insert(id);
            return exhausted_answer(&agent, id);
        };
        if let Some(remark) = cannot_carry(id, plan.end.as_ref()) {
            self.remarks.push(remark);
        }
        let schedule = Arc::new(schedule::of(&self.setup, &plan, &agent.key(id), self.options.pace));
        self.serials += 1;
        let serial = self.serials;
        asked.status = plan.head.as_ref().map(|head| head.status);
        self.asked.push(asked);
        self.open.push(Open::new(serial, agent.clone(), id, plan, now, self.asked.len() - 1));
        Answer::Play(Playing { serial, number: self.answers, agent, id, schedule })
    }

    fn on_sent(&mut self, serial: u64, part: Part, at: Instant) {
        self.last_at = at;
        let now = self.time(at);
        let Some(position) = self.open.iter().position(|open| open.serial == serial) else { return };
        let open = &mut self.open[position];
        let mut inputs = Vec::new();
        open.sent(&self.setup, part, &mut inputs);
        let is_kept = |input: &Input| self.options.keeps == Keeps::Everything || matches!(input, Input::Head { .. } | Input::End { .. });
        for (agent, input) in inputs.iter().filter(|(_, input)| is_kept(input)) {
            self.recorder.input(now, agent, input);
        }
        let asked = &mut self.asked[open.asked];
        asked.pieces = open.pieces;
        if part == Part::End {
            asked.over(now, open.how());
            self.open.remove(position);
        }
    }

    fn on_left(&mut self, serial: u64, at: Instant) {
        let Some(open) = self.closed(serial, at) else { return };
        let now = self.time(at);
        let how = if open.is_all_said() { How::LeftAtEnd } else { How::Left };
        self.asked[open.asked].over(now, how);
        // Who has all of it, or was left hanging on purpose, does what the scenario says.
        if how == How::Left && !open.hangs() {
            self.endpoint.on_closed(&open.agent, open.id);
        }
        self.recorder.effect(now, &open.agent, &Effect::CloseRequest { id: open.id });
    }

    fn on_cut_at_gate(&mut self, serial: u64, at: Instant, cut: Cut) {
        let Some(open) = self.closed(serial, at) else { return };
        let now = self.time(at);
        self.asked[open.asked].over(now, if cut == Cut::Reset { How::ResetAtGate } else { How::ClosedAtGate });
        self.endpoint.on_closed(&open.agent, open.id);
        self.recorder.input(now, &open.agent, &Input::End { id: open.id, how: AnswerEnd::Reset });
    }

    fn closed(&mut self, serial: u64, at: Instant) -> Option<Open> {
        self.last_at = at;
        let position = self.open.iter().position(|open| open.serial == serial)?;
        Some(self.open.remove(position))
    }

    fn into_verdict(mut self) -> Verdict {
        let now = self.time(Instant::now());
        for open in core::mem::take(&mut self.open) {
            self.asked[open.asked].over(now, How::OpenAtEnd);
        }
        let unused = self.endpoint.unused_answers(&self.setup);
        for answer in &unused {
            self.recorder.note(now, &Agent::ROOT, &What::Unused { answer: answer.clone() });
        }
        let end = self.exhausted.map_or(RunEnd::Idle, |id| RunEnd::TapeExhausted { id });
        self.recorder.note(now, &Agent::ROOT, &What::Ended { end: end.clone() });
        let scenario = &self.setup.scenario;
        let transcript = self.recorder.into_transcript(&scenario.title, scenario.seed);
        let mut verdict = Verdict { transcript, end, asked: self.asked, unused, remarks: self.remarks, failures: self.problems };
        judge::judge(&self.setup, &mut verdict);
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

/// What a client gets when no answer is left: an error that none takes for one that passes.
fn exhausted_answer(agent: &Agent, id: RequestId) -> Answer {
    let message = format!("reenact: the scenario has no answer left for request {} (tape_exhausted)", agent.key(id));
    let error = serde_json::json!({ "type": "error", "error": { "type": "permission_error", "message": message } });
    let headers = vec![("x-should-retry", String::from("false")), (END_HEADER, String::from("tape_exhausted"))];
    Answer::Give { status: 403, headers, body: error.to_string() }
}
