//! One API call: its attempt, from the request to the end of the answer (Q-7, R-6, R-12, R-13).
//!
//! ```text
//!   open ──> AwaitingHead ──200, stream──> Streaming ──end──> Ended
//!                 └── error status, or whole body ──> AwaitingBody ──end──> Ended
//! ```
//!
//! A streamed answer and one that comes whole leave this machine as the same blocks. What only the owner can decide goes up as a
//! [`Verdict`]; the report of the attempt goes out as an effect.

use super::contract::{AnswerEnd, Effect, Effects, RequestId};
use super::emission::{AssistantMessage, AttemptReport, Note};
use super::retry::Failure;
use super::time::{Micros, Time};
use crate::prelude::*;
use crate::wire::assembler::{Assembler, Step};
use crate::wire::block::Block;
use crate::wire::error::ApiError;
use crate::wire::event::Event;
use crate::wire::http::Header;
use crate::wire::order::Violation;
use crate::wire::request::Request;
use crate::wire::usage::Usage;
use crate::wire::whole::whole_message;

/// One answer from the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiCall {
    id: RequestId,
    /// The model that was asked.
    model: Arc<str>,
    started: Time,
    first_byte: Option<Time>,
    usage: Usage,
    /// What a refusal is about, where the API says it (Q-23).
    refusal_category: Option<Arc<str>>,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    AwaitingHead,
    Streaming { assembler: Box<Assembler>, seen_event: bool },
    AwaitingBody { status: u16, headers: Arc<[Header]>, body: Arc<str> },
    Ended,
}

/// What only the owner can decide.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub(crate) enum Verdict {
    /// Nothing.
    Pending,
    /// A block of the stream is complete.
    Block(Arc<AssistantMessage>),
    /// The answer is complete.
    Ended(Ended),
    /// The call is lost.
    Failed(Failure),
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// Blocks that were not handed up before: all of them when the answer came whole.
    pub(crate) blocks: Vec<Arc<AssistantMessage>>,
    /// The stop reason.
    pub(crate) stop_reason: Option<Arc<str>>,
    /// Its tokens.
    pub(crate) usage: Usage,
    /// What a refusal is about, where the API says it (Q-23).
    pub(crate) refusal_category: Option<Arc<str>>,
    /// How long the call took.
    pub(crate) took: Micros,
}

impl ApiCall {
    /// Sends the request.
    pub(crate) fn open(id: RequestId, now: Time, request: Request, effects: &mut Effects) -> Self {
        let model = request.model.clone();
        effects.push(Effect::Request { id, request: Arc::new(request) });
        let (usage, refusal_category) = (Usage::default(), None);
        Self { id, model, started: now, first_byte: None, usage, refusal_category, state: State::AwaitingHead }
    }

    /// Which attempt this is: inputs for another are stale.
    pub(crate) fn id(&self) -> RequestId {
        self.id
    }

    /// When it was made.
    pub(crate) fn started(&self) -> Time {
        self.started
    }

    /// Takes the head of the answer: from here on it is a stream or a body.
    pub(crate) fn on_head(&mut self, now: Time, status: u16, headers: &Arc<[Header]>) {
        if self.state == State::AwaitingHead {
            self.first_byte = Some(now);
            self.state = State::AwaitingBody { status, headers: headers.clone(), body: "".into() };
        }
    }

    /// Takes the whole body of an answer that is no stream.
    pub(crate) fn on_body(&mut self, text: &Arc<str>) {
        if let State::AwaitingBody { body, .. } = &mut self.state {
            *body = text.clone();
        }
    }

    /// Whether the next event is the first of the answer.
    pub(crate) fn awaits_first_event(&self) -> bool {
        !matches!(self.state, State::Streaming { seen_event: true, .. } | State::Ended)
    }

    /// Takes one event of the stream.
    pub(crate) fn on_event(&mut self, now: Time, event: &Event, effects: &mut Effects) -> Verdict {
        if let State::AwaitingBody { status: 200, .. } = self.state {
            self.state = State::Streaming { assembler: Box::default(), seen_event: false };
        }
        let State::Streaming { assembler, seen_event } = &mut self.state else { return Verdict::Pending };
        *seen_event = true;
        let mut notes = Vec::new();
        let step = assembler.on_event(event, &mut notes);
        for violation in &notes {
            effects.push(Effect::Note(defect(self.id, violation)));
        }
        match step {
            Step::Nothing => Verdict::Pending,
            Step::Started | Step::Delta | Step::Ended => {
                self.usage = *assembler.usage();
                if step == Step::Delta && assembler.stop_reason().is_some_and(|reason| &**reason == "refusal") {
                    self.refusal_category = category(event.data(), "/delta/stop_details/category");
                }
                Verdict::Pending
            }
            Step::Block { index, block } => {
                let message = message(self.id, assembler.message_id(), assembler.model(), index, block);
                Verdict::Block(Arc::new(message))
            }
            Step::Failed { kind, message } => {
                let failure = Failure { status: None, kind, message };
                self.fail(now, failure, effects)
            }
            Step::Refused(violation) => self.fail(now, broken(&violation), effects),
        }
    }

    /// Takes the end of the answer.
    pub(crate) fn on_end(&mut self, now: Time, how: &AnswerEnd, effects: &mut Effects) -> Verdict {
        if self.state == State::Ended {
            return Verdict::Pending; // it failed before its end
        }
        let failure = match how {
            AnswerEnd::Complete => match core::mem::replace(&mut self.state, State::Ended) {
                State::Ended | State::AwaitingHead => Failure::of("no_answer", "the connection closed before an answer came"),
                State::Streaming { assembler, .. } => match assembler.at_end_of_stream() {
                    Ok(()) => {
                        let stop_reason = assembler.stop_reason().cloned();
                        return self.ended(now, Vec::new(), stop_reason, effects);
                    }
                    Err(violation) => broken(&violation),
                },
                State::AwaitingBody { status: 200, body, .. } => return self.on_whole_answer(now, &body, effects),
                State::AwaitingBody { status, headers, body } => Failure::from(&ApiError::read(status, &headers, body.as_bytes())),
            },
            AnswerEnd::Reset => Failure::of("connection_reset", "the connection was cut"),
            AnswerEnd::BrokenPipe => Failure::of("broken_pipe", "the connection was cut while the request was sent"),
            AnswerEnd::ConnectRefused => Failure::of("connection_refused", "nobody listens there"),
            AnswerEnd::Dns => Failure::of("dns", "the host's name is not known"),
            AnswerEnd::Tls => Failure::of("tls", "no secure connection could be made"),
            AnswerEnd::ConnectTimeout => Failure::of("connect_timeout", "no connection could be made in time"),
            AnswerEnd::Timeout => Failure::of("timeout", "nothing came any more"),
            AnswerEnd::Framing(problem) => Failure::of("unreadable_stream", problem),
        };
        self.fail(now, failure, effects)
    }

    /// R-13: an answer that comes whole gives the same blocks as a streamed one.
    fn on_whole_answer(&mut self, now: Time, body: &str, effects: &mut Effects) -> Verdict {
        if body.trim().is_empty() {
            return self.fail(now, Failure::of("empty_answer", "the answer has status 200 and no content"), effects);
        }
        match whole_message(body) {
            Ok(whole) => {
                self.usage = whole.usage;
                self.refusal_category = category(body, "/stop_details/category");
                let blocks = (0..).zip(whole.blocks);
                let messages = blocks.map(|(index, block)| Arc::new(message(self.id, &whole.id, &whole.model, index, block)));
                self.ended(now, messages.collect(), whole.stop_reason, effects)
            }
            Err(problem) => self.fail(now, Failure::of("unreadable_answer", &problem.to_string()), effects),
        }
    }

    fn ended(&mut self, now: Time, blocks: Vec<Arc<AssistantMessage>>, stop_reason: Option<Arc<str>>, effects: &mut Effects) -> Verdict {
        self.report(now, "ok", effects);
        effects.push(Effect::Note(Note::Stopped { id: self.id, stop_reason: stop_reason.clone(), usage: self.usage }));
        let (usage, refusal_category) = (self.usage, self.refusal_category.clone());
        Verdict::Ended(Ended { blocks, stop_reason, usage, refusal_category, took: now.since(self.started) })
    }

    fn fail(&mut self, now: Time, failure: Failure, effects: &mut Effects) -> Verdict {
        let was_open = !matches!(self.state, State::Ended | State::AwaitingBody { .. });
        self.state = State::Ended;
        self.report(now, &failure.summary(), effects);
        if was_open {
            effects.push(Effect::CloseRequest { id: self.id });
        }
        Verdict::Failed(failure)
    }

    /// R-12: every attempt is an item of the transcript.
    fn report(&self, now: Time, outcome: &str, effects: &mut Effects) {
        effects.push(Effect::Note(Note::Attempt(Box::new(AttemptReport {
            id: self.id,
            model: self.model.clone(),
            client: 1,
            started: self.started,
            first_byte: self.first_byte,
            ended: now,
            outcome: outcome.into(),
            usage: self.usage,
        }))));
    }
}

/// X-1: the uuid says where the block comes from.
fn message(id: RequestId, api_id: &str, model: &str, index: u32, block: Block) -> AssistantMessage {
    let uuid = format!("p{}.r{}.a{}.b{index}", id.prompt, id.turn, id.attempt);
    AssistantMessage { uuid: uuid.into(), id, api_id: api_id.into(), model: model.into(), block, error: None }
}

/// The text at `pointer`; refusals are rare, so nothing is kept parsed for them.
fn category(json: &str, pointer: &str) -> Option<Arc<str>> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    value.pointer(pointer)?.as_str().map(Arc::from)
}

fn defect(id: RequestId, violation: &Violation) -> Note {
    Note::Defect { id, name: violation.name().into(), text: "".into() }
}

fn broken(violation: &Violation) -> Failure {
    Failure::of("incomplete_stream", &violation.to_string())
}
