//! O-31, of streams: a timer ends no stream that lives. A stream lives while its head or its last event is younger than the time for which it may be
//! silent.
//!
//! Only what an engine closes in the step of a timer is judged: that is its watchdog. In other steps it may have other reasons. With a limit on money it is not
//! asked: a timer may be the first at which an engine looks at it.

use super::retry_decisions::ORACLE;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Input, RequestId};
use reenact_engine::settings::RetryPolicySource;
use reenact_engine::time::Time;
use reenact_wire::prelude::*;

/// The streams of one agent.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct LiveStreamOracle {
    /// Each with the time of its last event, once it has a head.
    streams: Vec<(RequestId, Option<Time>)>,
    /// The time of the timer that rang last, if nothing came since.
    rang: Option<Time>,
}

impl LiveStreamOracle {
    pub(super) fn on_input(&mut self, at: Time, input: &Input) {
        self.rang = None;
        match input {
            Input::Head { id, .. } | Input::Stream { id, .. } => {
                if let Some((_, heard)) = self.streams.iter_mut().find(|(known, _)| known == id) {
                    *heard = Some(at);
                }
            }
            Input::End { id, .. } => self.streams.retain(|(known, _)| known != id),
            Input::Timer(_) => self.rang = Some(at),
            _ => (),
        }
    }

    /// An answer that comes whole has a limit of its own.
    pub(super) fn on_request(&mut self, id: RequestId, is_streamed: bool) {
        if is_streamed {
            self.streams.push((id, None));
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        let Effect::CloseRequest { id } = effect else { return };
        let Some(at) = self.streams.iter().position(|(known, _)| known == id) else { return };
        let Some(heard) = self.streams.remove(at).1 else { return };
        let limit = rules.settings.retry.stream_idle;
        let is_watchdog = rules.settings.retry.policy != RetryPolicySource::Engine && rules.settings.session.max_budget.is_none();
        let Some(rang) = self.rang.filter(|_| is_watchdog) else { return };
        found.ask(ORACLE);
        let silent = rang.since(heard);
        if silent < limit || limit.0 == 0 {
            found.add(ORACLE, format!("request {id} was given up {silent} after an event of its stream, which may be silent for {limit}"));
        }
    }
}
