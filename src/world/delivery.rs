//! One answer on its way: pieces at their times, framed into events as a client's connection would (M-5, M-6).

use super::choices::ChoiceMaker;
use super::plan::ResponsePlan;
use reenact_engine::contract::{Agent, AnswerEnd, Input, RequestId};
use reenact_engine::key::SharedValue;
use reenact_engine::time::{Micros, Time};
use reenact_scenario::types::Chunking;
use reenact_wire::event::StreamEvent;
use reenact_wire::prelude::*;
use reenact_wire::sse::{SseFrame, SseFramer};

/// An answer under way.
#[derive(Clone, Debug, PartialEq, Hash)]
#[doc(hidden)]
pub struct AnswerDelivery {
    /// Its number among the answers of a run, or of a client.
    #[doc(hidden)]
    pub serial: u32,
    #[doc(hidden)]
    pub agent: Agent,
    #[doc(hidden)]
    pub id: RequestId,
    /// When its request was made.
    from: Time,
    /// How long before the beginning of the run it would have had to be made, for an answer that was moved so early.
    ahead: Micros,
    #[doc(hidden)]
    pub plan: SharedValue<ResponsePlan>,
    framer: Box<SseFramer>,
    /// The client has closed it: what comes later than this does not reach the client.
    heard_until: Option<Time>,
}

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerPart {
    /// Status and headers.
    Head,
    /// This event of the body, from 1: where packets are kept as they were recorded, this packet.
    Event(u32),
    /// The end.
    End,
    /// Nothing more: the client left before the end.
    Left,
}

impl AnswerDelivery {
    /// An answer that begins now.
    #[doc(hidden)]
    pub fn new(serial: u32, agent: Agent, id: RequestId, plan: Arc<ResponsePlan>, now: Time) -> Self {
        Self { serial, agent, id, from: now, ahead: Micros::ZERO, plan: plan.into(), framer: Box::default(), heard_until: None }
    }

    /// The client closes it. What comes until then is on its way.
    pub(crate) fn close(&mut self, heard_until: Time) {
        self.heard_until.get_or_insert(heard_until);
    }

    /// Whether the client hears what comes now.
    pub(crate) fn is_heard(&self, now: Time) -> bool {
        self.heard_until.is_none_or(|until| now < until)
    }

    /// Whether it answers this request of this agent.
    pub(crate) fn answers(&self, agent: &Agent, id: RequestId) -> bool {
        self.id == id && self.agent == *agent
    }

    /// A part comes at another time than it should: all after it are moved as much.
    pub(crate) fn move_by(&mut self, before: Time, after: Time) {
        let later = self.from.0.saturating_add(after.0);
        let earlier = self.ahead.0.saturating_add(before.0);
        (self.from, self.ahead) = (Time(later.saturating_sub(earlier)), Micros(earlier.saturating_sub(later)));
    }

    /// The first part; `None` when nothing ever comes.
    pub(crate) fn first(&self) -> Option<(Time, AnswerPart)> {
        if self.plan.head.is_some() { Some((self.at(self.plan.head_at), AnswerPart::Head)) } else { self.end() }
    }

    /// Lets a part arrive: its inputs, and what comes after it. A framing error ends the answer at once.
    #[doc(hidden)]
    pub fn arrive(
        &mut self,
        chunking: &Chunking,
        choices: &mut ChoiceMaker<'_>,
        part: AnswerPart,
        inputs: &mut Vec<(Agent, Input)>,
    ) -> Option<(Time, AnswerPart)> {
        let plan = self.plan.clone();
        match part {
            AnswerPart::Head => {
                let head = plan.head.as_ref()?;
                inputs.push((self.agent.clone(), Input::Head { id: self.id, status: head.status, headers: head.headers.clone() }));
                self.event(1)
            }
            AnswerPart::Event(number) if plan.is_stream => match self.frame(chunking, choices, number, inputs) {
                Ok(()) => self.event(number + 1),
                Err(problem) => {
                    inputs.push((self.agent.clone(), Input::End { id: self.id, how: AnswerEnd::Framing(problem) }));
                    None
                }
            },
            AnswerPart::Event(number) => {
                // A body that is cut is no body to a client: it gets the end alone.
                if number as usize == plan.pieces.len() && plan.end == Some(AnswerEnd::Complete) {
                    let body = String::from_utf8_lossy(&plan.body()).into();
                    inputs.push((self.agent.clone(), Input::Body { id: self.id, body }));
                }
                self.event(number + 1)
            }
            AnswerPart::End => {
                inputs.extend(plan.end.clone().map(|how| (self.agent.clone(), Input::End { id: self.id, how })));
                None
            }
            AnswerPart::Left => None,
        }
    }

    /// When this event comes; after the last one, when the end comes.
    fn event(&self, number: u32) -> Option<(Time, AnswerPart)> {
        match self.plan.piece(number) {
            Some(piece) => Some((self.at(piece.at), AnswerPart::Event(number))),
            None => self.end(),
        }
    }

    fn end(&self) -> Option<(Time, AnswerPart)> {
        self.plan.end.is_some().then_some((self.at(self.plan.end_at), AnswerPart::End))
    }

    fn at(&self, after: Micros) -> Time {
        Time((self.from + after).0.saturating_sub(self.ahead.0))
    }

    fn frame(
        &mut self,
        chunking: &Chunking,
        choices: &mut ChoiceMaker<'_>,
        number: u32,
        inputs: &mut Vec<(Agent, Input)>,
    ) -> Result<(), Arc<str>> {
        let (id, agent) = (self.id, &self.agent);
        if let Some(piece) = self.plan.piece(number)
            && *chunking == Chunking::AsRecorded
            && self.framer.is_between_events()
            && let Some(events) = self.plan.decoded.events(number, &piece.bytes)
        {
            inputs.extend(events.iter().map(|event| (agent.clone(), Input::Stream { id, event: event.clone() })));
            return Ok(());
        }
        let mut sink = |frame: SseFrame<'_>| {
            inputs.push((agent.clone(), Input::Stream { id, event: Arc::new(StreamEvent::decode(frame.event, frame.data)) }));
        };
        let Some(piece) = self.plan.piece(number) else { return Ok(()) };
        for chunk in choices.cut((agent, id), number, &piece.bytes, chunking) {
            self.framer.feed(chunk, &mut sink).map_err(|error| Arc::from(error.to_string()))?;
        }
        Ok(())
    }
}
