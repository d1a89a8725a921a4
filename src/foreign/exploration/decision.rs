//! The decisions of an explored run: faults, inputs of the user, arrivals in another order (E-3, G-2).

use core::fmt;

use reenact_engine::time::{Micros, Time};
use reenact_explore::budget::ExploreBudget;
use reenact_scenario::plan::{AnswerTimes, ClientInterrupt, Plan, WaitKind};
use reenact_scenario::single_fault::SingleFault;
use reenact_wire::prelude::*;

/// A decision that the run as it is does not have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClientDecision {
    /// A request fails.
    Fault(SingleFault),
    /// The user does something.
    Input(ClientInterrupt),
    /// An arrival comes earlier than another one.
    Order(ChangedOrder),
}

/// A decision, and when it shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacedDecision {
    pub(super) decision: ClientDecision,
    pub(super) at: Time,
}

/// An arrival that comes before others that would be first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChangedOrder {
    /// The arrival, as boundaries name it.
    pub(super) arrival: Arc<str>,
    /// When it comes.
    pub(super) at: Time,
    /// The latest time that still is before the others.
    pub(super) latest: Time,
    /// The first of the others.
    pub(super) before: Arc<str>,
    /// The times that make it so.
    pub(super) times: Vec<ChangedTimes>,
}

/// Times of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ChangedTimes {
    /// How long a tool takes.
    Tool {
        /// The id of its tool use.
        id: Arc<str>,
        /// How long.
        takes: Micros,
    },
    /// When an answer arrives.
    Answer {
        /// Its request.
        request: Arc<str>,
        /// When.
        times: AnswerTimes,
    },
}

impl ClientDecision {
    /// The budget that it takes.
    pub(super) fn cost(&self) -> ExploreBudget {
        match self {
            Self::Fault(_) => ExploreBudget::new(0, 1, 0),
            Self::Input(_) => ExploreBudget::new(0, 0, 1),
            Self::Order(_) => ExploreBudget::new(1, 0, 0),
        }
    }

    /// Writes it into a plan.
    pub(super) fn write(&self, plan: &mut Plan) {
        match self {
            Self::Fault(fault) => plan.single_faults.push(fault.clone()),
            Self::Input(input) => plan.client_interrupts.push(input.clone()),
            Self::Order(order) => order.times.iter().for_each(|times| times.write(plan)),
        }
    }
}

impl ChangedTimes {
    fn write(&self, plan: &mut Plan) {
        match self {
            Self::Tool { id, takes } => {
                plan.latencies.entry(WaitKind::Tool).or_default().insert(id.clone(), *takes);
            }
            Self::Answer { request, times } => {
                plan.answers.insert(request.clone(), times.clone());
            }
        }
    }
}

/// `overloaded instead of answer 1`, `cancel at answer 1 piece 3 + 2`, `tool toolu_2 end at 1.2s, before tool toolu_1 end`.
impl fmt::Display for ClientDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => write!(f, "{fault}"),
            Self::Input(ClientInterrupt { boundary, message: Some(_), .. }) => write!(f, "message at {boundary}"),
            Self::Input(ClientInterrupt { boundary, at_once: true, .. }) => write!(f, "cancel+prompt at {boundary}"),
            Self::Input(ClientInterrupt { boundary, .. }) => write!(f, "cancel at {boundary}"),
            Self::Order(ChangedOrder { arrival, at, before, .. }) => {
                write!(f, "{arrival} at {at}, before {before}")
            }
        }
    }
}
