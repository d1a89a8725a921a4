//! The session of one client over HTTP, on the clock of its network.

use tokio::time::Instant;

use super::message::{AnswerPlayback, AnswerSerial, ReceivedRequest, ServerResponse};
use super::schedule::{AnswerSchedule, ConnectionCut};
use super::{ScenarioOfServer, ServeOptions};
use crate::clock::SessionClock;
use reenact_engine::time::Time;
use reenact_foreign::session::{ArrivedRequest, ClientSession, PlannedAnswer, SessionAnswer};
use reenact_foreign::verdict::SessionVerdict;
use reenact_wire::prelude::*;
use reenact_world::delivery::AnswerPart;
use reenact_world::setup::RunSetup;

/// One client's session.
#[derive(Clone, Debug)]
pub(super) struct TimedSession {
    session: ClientSession,
    setup: Arc<RunSetup>,
    options: ServeOptions,
    clock: SessionClock,
    /// When something happened last.
    last_at: Instant,
    /// When the client was acted on first.
    acted_at: Option<Instant>,
}

impl TimedSession {
    pub(super) fn new(scenario: &ScenarioOfServer, options: ServeOptions, clock: SessionClock) -> Self {
        Self {
            session: ClientSession::new(&scenario.setup, scenario.terms),
            setup: scenario.setup.clone(),
            options,
            clock,
            last_at: clock.began,
            acted_at: None,
        }
    }

    /// A new process serves: what was open is lost.
    #[cfg(feature = "network")]
    pub(super) fn begin(&mut self, clock: SessionClock) {
        (self.clock, self.last_at) = (clock, clock.began);
        self.session.on_server_gone(self.clock.time(Instant::now()));
    }

    /// Since when every answer was given and nothing is open.
    pub(super) fn done_at(&self) -> Option<Instant> {
        self.session.is_done().then_some(self.last_at)
    }

    /// Whether anything was asked.
    pub(super) fn is_used(&self) -> bool {
        self.session.is_used()
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, session: usize, arrived: &ReceivedRequest) -> ServerResponse {
        let now = self.seen_at(arrived.at);
        let request = ArrivedRequest {
            incoming: &arrived.incoming,
            connection: arrived.connection,
            after_action: self.acted_at.map(|acted_at| arrived.at.saturating_duration_since(acted_at)),
            retry_count: arrived.retry_count.as_ref(),
        };
        let notes = self.options.notes.as_ref();
        let answer = self.session.answer(now, request, &mut |agent, what| {
            if let Some(notes) = notes {
                // Who does not listen any more wants to know nothing.
                let _ = notes.send((agent.clone(), what.clone()));
            }
        });
        match answer {
            SessionAnswer::Whole { head, body, request: _ } => ServerResponse::Whole { head, body: body.into() },
            SessionAnswer::Planned(PlannedAnswer { number, agent, id, is_last, plan, request: _ }) => {
                let schedule = AnswerSchedule::new(&self.setup.scenario, plan, (&agent, id), &self.options);
                let serial = AnswerSerial { session, number };
                ServerResponse::Play(AnswerPlayback { serial, agent, id, is_last, in_flight: Arc::new(()), schedule })
            }
        }
    }

    /// A part of an answer was sent, or its client left.
    pub(super) fn on_reached(&mut self, number: u32, part: AnswerPart, at: Instant) {
        let now = self.seen_at(at);
        self.session.on_reached(number, part, now);
    }

    pub(super) fn on_disturbed(&mut self, at: Instant) {
        self.acted_at.get_or_insert(at);
        self.session.on_disturbed();
    }

    pub(super) fn on_cut_at_gate(&mut self, number: u32, at: Instant, cut: ConnectionCut) {
        let now = self.seen_at(at);
        self.session.on_cut_at_gate(number, now, cut == ConnectionCut::Reset);
    }

    pub(super) fn into_verdict(self, now: Time) -> SessionVerdict {
        self.session.into_verdict(now)
    }

    /// Something happens at this instant.
    fn seen_at(&mut self, at: Instant) -> Time {
        self.last_at = at;
        self.clock.time(at)
    }
}
