//! An answer that is on its way, as the owner knows it: what a client has been sent, as an engine would be told.

use super::Keeps;
use super::verdict::How;
use crate::engine::contract::{Agent, AnswerEnd, Input, RequestId};
use crate::engine::time::Time;
use crate::prelude::*;
use crate::world::choices::Choices;
use crate::world::delivery::{Delivery, Part};
use crate::world::plan::Plan;
use crate::world::setup::Setup;

/// An answer on its way.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) serial: u64,
    pub(super) agent: Agent,
    pub(super) id: RequestId,
    /// Its place in the list of what was asked.
    pub(super) asked: usize,
    /// How many pieces were sent.
    pub(super) pieces: usize,
    plan: Plan,
    delivery: Delivery,
}

impl Open {
    pub(super) fn new(serial: u64, agent: Agent, id: RequestId, plan: Plan, now: Time, asked: usize) -> Self {
        let delivery = Delivery::new(0, agent.clone(), id, plan.clone(), now);
        Self { serial, agent, id, asked, pieces: 0, plan, delivery }
    }

    /// A part was sent: what an engine in the client's place would be given, as far as it is kept.
    pub(super) fn sent(&mut self, setup: &Setup, part: Part, keeps: Keeps, inputs: &mut Vec<(Agent, Input)>) {
        self.pieces += usize::from(part == Part::Piece);
        if (part, keeps) == (Part::Piece, Keeps::Outlines) {
            return; // reading it would cost more than sending it
        }
        // When the next part comes is not for the delivery to say here: the connection knows.
        let _ = self.delivery.arrive(setup, &mut Choices::of(&setup.scenario, None), part, inputs);
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
    pub(super) fn how(&self) -> How {
        match self.plan.end {
            Some(AnswerEnd::Complete) => How::Complete,
            _ => How::Reset,
        }
    }
}
