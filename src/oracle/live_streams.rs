//! O-31, of requests that are under way: a timer ends no stream that lives, and a request that is silent for too long is ended. A stream lives while its
//! head or its last event is younger than the time for which it may be silent.
//!
//! Only what an engine closes in the step of a timer is judged as the work of its watchdog: in other steps it may have other reasons. With a limit on money
//! that is not asked: a timer may be the first at which an engine looks at it.

use super::request_kind::{RequestKind, SentRequest};
use super::retry_decisions::ORACLE;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Input, RequestId};
use reenact_engine::settings::RetryPolicySource;
use reenact_engine::time::{Micros, Time};
use reenact_wire::prelude::*;

/// The requests of one agent that are under way.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct LiveStreamOracle {
    open: Vec<OpenRequest>,
    /// The time of the timer that rang last, if nothing came since.
    rang: Option<Time>,
}

#[derive(Clone, Copy, Debug, Hash)]
struct OpenRequest {
    id: RequestId,
    is_streamed: bool,
    asked: Time,
    /// The time of its last event, once it has a head.
    heard: Option<Time>,
    /// The time of its last stream event: an answer may come as a stream although none was asked for.
    streamed: Option<Time>,
}

impl LiveStreamOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, input: &Input, found: &mut OracleFindings<'_>) {
        self.expect_ends(rules, found);
        self.rang = None;
        match input {
            Input::Head { id, .. } | Input::Stream { id, .. } => {
                for open in self.open.iter_mut().filter(|open| open.id == *id) {
                    open.heard = Some(found.at);
                    if matches!(input, Input::Stream { .. }) {
                        open.streamed = Some(found.at);
                    }
                }
            }
            Input::End { id, .. } => self.open.retain(|open| open.id != *id),
            Input::Timer(_) => self.rang = Some(found.at),
            _ => (),
        }
    }

    /// The step of a child begins: what it closes is not the work of a timer.
    pub(super) fn on_input_of_child(&mut self) {
        self.rang = None;
    }

    /// A request that was silent for longer than it may be is over, one way or the other.
    fn expect_ends(&mut self, rules: &OracleRules, found: &mut OracleFindings<'_>) {
        if rules.settings.retry.policy == RetryPolicySource::Engine {
            return;
        }
        let at = found.at;
        let is_late = |open: &OpenRequest| {
            let (since, limit) = open.silence(rules);
            limit != Micros::ZERO && at > since + limit + rules.lateness
        };
        if !self.open.iter().any(is_late) {
            return;
        }
        for open in self.open.extract_if(.., |open| is_late(open)) {
            let (since, limit) = open.silence(rules);
            found.add(
                ORACLE,
                format!("request {} is under way, and nothing came for {}: it may be silent for {limit}", open.id, at.since(since)),
            );
        }
    }

    /// A line about tools is waited for by nobody, and has no watchdog.
    pub(super) fn on_request(&mut self, at: Time, sent: SentRequest<'_>) {
        if sent.kind != RequestKind::ToolSummary {
            self.open.push(OpenRequest { id: sent.id, is_streamed: sent.request.stream, asked: at, heard: None, streamed: None });
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        let Effect::CloseRequest { id } = effect else { return };
        let Some(at) = self.open.iter().position(|open| open.id == *id) else { return };
        let closed = self.open.remove(at);
        // An answer that comes whole has a limit of its own.
        let Some(heard) = closed.heard.filter(|_| closed.is_streamed) else { return };
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

impl OpenRequest {
    /// Since when it is silent, and for how long it may be.
    fn silence(&self, rules: &OracleRules) -> (Time, Micros) {
        let retry = &rules.settings.retry;
        match self.heard.filter(|_| self.is_streamed) {
            Some(heard) => (heard, retry.stream_idle),
            None if self.is_streamed => (self.asked, retry.head_timeout),
            None => (self.streamed.unwrap_or(self.asked), retry.nonstreaming_timeout),
        }
    }
}
