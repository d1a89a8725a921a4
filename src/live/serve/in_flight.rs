//! An answer that is on its way, as the owner knows it: the parts that the client got, as inputs of an engine.

use super::TranscriptExtent;
use super::verdict::ServedEnd;
use reenact_engine::contract::{Agent, AnswerEnd, Input, RequestId};
use reenact_engine::time::Time;
use reenact_wire::prelude::*;
use reenact_world::choices::ChoiceMaker;
use reenact_world::delivery::{AnswerDelivery, DeliveryPart};
use reenact_world::plan::ResponsePlan;
use reenact_world::setup::RunSetup;

/// An answer on its way.
#[derive(Clone, Debug)]
pub(super) struct InFlightAnswer {
    pub(super) serial: u64,
    pub(super) agent: Agent,
    pub(super) id: RequestId,
    /// Its place in the list of what was asked.
    pub(super) asked: usize,
    /// How many pieces were sent.
    pub(super) pieces: usize,
    plan: ResponsePlan,
    delivery: AnswerDelivery,
}

impl InFlightAnswer {
    pub(super) fn new(serial: u64, agent: Agent, id: RequestId, plan: ResponsePlan, now: Time, asked: usize) -> Self {
        let delivery = AnswerDelivery::new(0, agent.clone(), id, plan.clone(), now);
        Self { serial, agent, id, asked, pieces: 0, plan, delivery }
    }

    /// A part was sent: what an engine in the client's place would be given, as far as it is kept.
    pub(super) fn sent(&mut self, setup: &RunSetup, part: DeliveryPart, keeps: TranscriptExtent, inputs: &mut Vec<(Agent, Input)>) {
        self.pieces += usize::from(part == DeliveryPart::Piece);
        if (part, keeps) == (DeliveryPart::Piece, TranscriptExtent::Outlines) {
            return; // reading it would cost more than sending it
        }
        // When the next part comes is not for the delivery to say here: the connection knows.
        let _ = self.delivery.arrive(setup, &mut ChoiceMaker::new(&setup.scenario, None), part, inputs);
    }

    /// Whether nothing is missing but the end.
    pub(super) fn is_all_said(&self) -> bool {
        self.pieces == self.plan.pieces.len() && self.plan.end == Some(AnswerEnd::Complete)
    }

    /// Whether nothing more comes, so that the client has to leave.
    pub(super) fn hangs(&self) -> bool {
        let is_endless = matches!(self.plan.end, None | Some(AnswerEnd::Timeout | AnswerEnd::ConnectTimeout));
        is_endless && self.pieces == self.plan.pieces.len()
    }

    /// How it ends by itself.
    pub(super) fn how(&self) -> ServedEnd {
        match self.plan.end {
            Some(AnswerEnd::Complete) => ServedEnd::Complete,
            _ => ServedEnd::Reset,
        }
    }
}
