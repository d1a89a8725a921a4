//! One answer on its way: pieces at their times, framed into events as a client's connection would (M-5, M-6).

use super::choices::ChoiceMaker;
use super::plan::ResponsePlan;
use super::setup::RunSetup;
use reenact_engine::contract::{Agent, AnswerEnd, Input, RequestId};
use reenact_engine::time::Time;
use reenact_wire::event::StreamEvent;
use reenact_wire::prelude::*;
use reenact_wire::sse::SseFramer;

/// An answer under way.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct AnswerDelivery {
    serial: u32,
    agent: Agent,
    id: RequestId,
    /// When its request was made.
    from: Time,
    plan: Arc<ResponsePlan>,
    next_piece: usize,
    framer: Box<SseFramer>,
}

/// The next part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum DeliveryPart {
    /// Status and headers.
    Head,
    /// The next piece of the body.
    Piece,
    /// The end.
    End,
}

impl AnswerDelivery {
    /// An answer that begins now.
    #[doc(hidden)]
    pub fn new(serial: u32, agent: Agent, id: RequestId, plan: ResponsePlan, now: Time) -> Self {
        Self { serial, agent, id, from: now, plan: Arc::new(plan), next_piece: 0, framer: Box::default() }
    }

    /// Its number among all deliveries of a run.
    pub(crate) fn serial(&self) -> u32 {
        self.serial
    }

    /// Whether it answers this request of this agent.
    pub(crate) fn answers(&self, agent: &Agent, id: RequestId) -> bool {
        self.id == id && self.agent == *agent
    }

    /// The first part; `None` when nothing ever comes.
    pub(crate) fn first(&self) -> Option<(Time, DeliveryPart)> {
        if self.plan.head.is_some() { Some((self.from + self.plan.head_at, DeliveryPart::Head)) } else { self.end() }
    }

    /// Lets a part arrive: its inputs, and what comes after it. A framing error ends the answer at once.
    #[doc(hidden)]
    pub fn arrive(
        &mut self,
        setup: &RunSetup,
        choices: &mut ChoiceMaker<'_>,
        part: DeliveryPart,
        inputs: &mut Vec<(Agent, Input)>,
    ) -> Option<(Time, DeliveryPart)> {
        let plan = self.plan.clone();
        match part {
            DeliveryPart::Head => {
                let head = plan.head.as_ref()?;
                inputs.push((self.agent.clone(), Input::Head { id: self.id, status: head.status, headers: head.headers.clone() }));
                self.after()
            }
            DeliveryPart::Piece if plan.is_stream => {
                let piece = &plan.pieces[self.next_piece].bytes;
                self.next_piece += 1;
                match self.frame(setup, choices, piece, inputs) {
                    Ok(()) => self.after(),
                    Err(problem) => {
                        inputs.push((self.agent.clone(), Input::End { id: self.id, how: AnswerEnd::Framing(problem) }));
                        None
                    }
                }
            }
            DeliveryPart::Piece => {
                self.next_piece += 1;
                // A body that is cut is no body to a client: it gets the end alone.
                if self.next_piece == plan.pieces.len() && plan.end == Some(AnswerEnd::Complete) {
                    inputs.push((self.agent.clone(), Input::Body { id: self.id, body: String::from_utf8_lossy(&plan.body()).into() }));
                }
                self.after()
            }
            DeliveryPart::End => {
                inputs.extend(plan.end.clone().map(|how| (self.agent.clone(), Input::End { id: self.id, how })));
                None
            }
        }
    }

    fn after(&self) -> Option<(Time, DeliveryPart)> {
        match self.plan.pieces.get(self.next_piece) {
            Some(piece) => Some((self.from + piece.at, DeliveryPart::Piece)),
            None => self.end(),
        }
    }

    fn end(&self) -> Option<(Time, DeliveryPart)> {
        self.plan.end.is_some().then_some((self.from + self.plan.end_at, DeliveryPart::End))
    }

    fn frame(
        &mut self,
        setup: &RunSetup,
        choices: &mut ChoiceMaker<'_>,
        piece: &[u8],
        inputs: &mut Vec<(Agent, Input)>,
    ) -> Result<(), Arc<str>> {
        let (id, agent) = (self.id, self.agent.clone());
        let mut sink = |frame: reenact_wire::sse::SseFrame<'_>| {
            inputs.push((agent.clone(), Input::Stream { id, event: Arc::new(StreamEvent::decode(frame.event, frame.data)) }));
        };
        for chunk in choices.cut(&agent.key(id), self.next_piece, piece, &setup.scenario.chunking) {
            self.framer.feed(chunk, &mut sink).map_err(|error| Arc::from(error.to_string()))?;
        }
        Ok(())
    }
}
