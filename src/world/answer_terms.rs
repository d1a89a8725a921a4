//! The terms of a server: what its options say of answers, beside the scenario. The scenario stays as it was written.

use reenact_engine::time::Micros;
use reenact_scenario::latency::Latency;
use reenact_scenario::types::{AnswerTiming, Scenario};

/// Where a server answers otherwise than its scenario says. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
