//! A request as the simulated model sees it, and the terms on which it is answered.

use reenact_engine::contract::{Agent, RequestId};
use reenact_engine::time::{Micros, Time};
use reenact_scenario::latency::Latency;
use reenact_scenario::script::AnswerOrigin;
use reenact_scenario::types::{AnswerTiming, Scenario};
use reenact_wire::request::Request;
use reenact_wire::validate::Refusal;

/// A request at the server.
#[derive(Clone, Debug)]
pub(crate) struct ModelRequest<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) id: RequestId,
    pub(crate) request: &'a Request,
    pub(crate) now: Time,
    /// The owners of the scripted answers that it may get, the first first.
    pub(crate) origins: &'a [AnswerOrigin],
    /// Whether it gets the default answer when none is left: requests may exist because of an injection alone (M-3).
    pub(crate) gets_default: bool,
    /// The API's verdict on its head.
    pub(crate) of_head: Option<Refusal>,
    /// The API's verdict on members of its body that only clients send.
    pub(crate) of_body: Option<Refusal>,
}

/// Where a server answers otherwise than its scenario says. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct AnswerTerms {
    /// Answers come at once. What faults take is kept.
    #[doc(hidden)]
    pub at_once: bool,
    /// Scripted answers tell how many tokens their requests had.
    #[doc(hidden)]
    pub tells_tokens: bool,
    /// The API does not insist on thinking where a request enables it, because its own answers lack it.
    #[doc(hidden)]
    pub lacks_thinking: bool,
    /// A repeated request gets the same answer again: answers may be lost on their way.
    #[doc(hidden)]
    pub lends: bool,
}

/// The times of an answer that comes at once.
static AT_ONCE: AnswerTiming = {
    const NO_TIME: Latency = Latency::Fixed(Micros::ZERO);
    AnswerTiming { head: NO_TIME, first_event: NO_TIME, between_events: NO_TIME }
};

impl AnswerTerms {
    /// The times of answers.
    pub(crate) fn timing(self, scenario: &Scenario) -> &AnswerTiming {
        if self.at_once { &AT_ONCE } else { &scenario.timing }
    }
}
