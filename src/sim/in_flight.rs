//! A run whose requests are answered outside: by a server behind a real connection (the live driver) or a simulated network (M-11).
//!
//! Everything else stays as it is: tools, hooks, people and timers are the world's, and the engine sees no difference. The driver of such a run says
//! what time it is, carries out the [`OutsideCall`]s, and offers what comes back.
//!
//! ```text
//!   clock ── advance_until ──> Run ── take_calls ──> HTTP
//!                               ^─────── offer ───────┘
//! ```

use super::Run;
use super::expect::delays::DelayTolerance;
use super::limits;
use super::outside_tools::OutsideTools;
use super::report::RunReport;
use super::rules::JudgedBy;
use reenact_engine::contract::{Agent, Effect, Engine, Input, RequestId};
use reenact_engine::time::{Micros, Time};
use reenact_transcript::event::{EventKind, RunEnd};
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// An order for the outside.
#[derive(Clone, Debug, PartialEq)]
pub enum OutsideCall {
    /// Send a request, and offer `Head`, then `Stream` or `Body`, then `End`.
    Make {
        /// The agent.
        agent: Agent,
        /// Its name.
        id: RequestId,
        /// The request.
        request: Arc<Request>,
    },
    /// Close it; nothing more of it need come.
    Close {
        /// The agent.
        agent: Agent,
        /// Its name.
        id: RequestId,
    },
}

/// How far a run got.
#[derive(Clone, Debug, PartialEq)]
pub enum RunProgress {
    /// Nothing happens before this time, unless an answer comes.
    Waits(Time),
    /// It is over.
    Ended(RunEnd),
}

/// Requests on their way.
#[derive(Clone, Debug)]
pub(super) struct InFlightRequests {
    /// How well times are known.
    tolerance: DelayTolerance,
    calls: Vec<OutsideCall>,
    open: Vec<(Agent, RequestId)>,
}

impl InFlightRequests {
    /// Takes over what concerns requests; `false` for all other effects.
    pub(super) fn carry_out(&mut self, agent: &Agent, effect: &Effect) -> bool {
        match effect {
            Effect::Request { id, request } => {
                self.open.push((agent.clone(), *id));
                self.calls.push(OutsideCall::Make { agent: agent.clone(), id: *id, request: request.clone() });
                true
            }
            Effect::CloseRequest { id } => {
                self.forget(agent, *id);
                self.calls.push(OutsideCall::Close { agent: agent.clone(), id: *id });
                true
            }
            _ => false,
        }
    }

    fn is_open(&self, agent: &Agent, id: RequestId) -> bool {
        self.open.iter().any(|(of, open)| (of, *open) == (agent, id))
    }

    fn forget(&mut self, agent: &Agent, id: RequestId) {
        self.open.retain(|(of, open)| (of, *open) != (agent, id));
    }
}

impl<E: Engine> Run<E> {
    /// The transcript and the other results, after [`Self::advance_until`] ended the run.
    pub fn into_report(mut self, end: RunEnd) -> RunReport<E> {
        self.tell_end(&end);
        let unused = self.unused_answers();
        let plan_failures = self.plan_failures(&end);
        let transcript = self.watcher.into_transcript(&self.setup.scenario.title, self.setup.scenario.shown_seed());
        let tolerance = self.outside.as_ref().map_or(DelayTolerance::NONE, |outside| outside.tolerance);
        let mut report = RunReport::new(&self.setup, self.engine, transcript, end, &self.world, &unused, tolerance).with_log(self.log);
        report.failures.extend(plan_failures);
        match self.judged_by {
            JudgedBy::ScenarioAndOracles => report.with_oracles(&self.setup, tolerance.lateness()),
            JudgedBy::Scenario => report,
        }
    }
}

impl<E: Engine, W: TranscriptWatch> Run<E, W> {
    /// The same with its requests answered outside, by a clock that goes in steps of `tick`.
    #[must_use]
    pub fn with_server_outside(mut self, tick: Micros) -> Self {
        self.outside = Some(InFlightRequests { tolerance: DelayTolerance::from_clock(tick), calls: Vec::new(), open: Vec::new() });
        self
    }

    /// Lets everything happen that is due at `now`, which is never before the time that was given last. A run that waits for an answer
    /// alone waits until the scenario's limit.
    pub fn advance_until(&mut self, now: Time) -> RunProgress {
        let limit = Time::ZERO + self.setup.scenario.limits.time + Micros(1);
        loop {
            while self.due.is_empty() {
                if now >= limit {
                    return RunProgress::Ended(RunEnd::LimitReached { limit: limits::TIME.into() });
                }
                let Some((at, arrival)) = self.agenda.peek() else {
                    let waits = self.outside.as_ref().is_some_and(|outside| !outside.open.is_empty())
                        || self.outside_tools.as_ref().is_some_and(OutsideTools::is_waited_for);
                    return if waits {
                        RunProgress::Waits(limit)
                    } else {
                        self.reach().map_or(RunProgress::Waits(limit), RunProgress::Ended)
                    };
                };
                if at > now && self.world.awaits(at, arrival) {
                    return RunProgress::Waits(at.min(limit));
                }
                let Some((_, arrival)) = self.agenda.pop() else { continue };
                if let Some(end) = self.let_happen(now.max(self.now), arrival) {
                    return RunProgress::Ended(end);
                }
            }
            self.now = self.now.max(now);
            if let Some(end) = self.advance() {
                return RunProgress::Ended(end);
            }
        }
    }

    /// It is stopped from outside.
    pub fn stop(&mut self, now: Time) -> RunEnd {
        self.now = self.now.max(now);
        RunEnd::Stopped
    }

    /// The orders for the outside since the last time, in sequence.
    pub fn take_calls(&mut self) -> Vec<OutsideCall> {
        self.outside.as_mut().map_or_else(Vec::new, |outside| core::mem::take(&mut outside.calls))
    }

    /// Something of an answer came; what was closed meanwhile, or is over, is dropped.
    pub fn offer(&mut self, agent: &Agent, id: RequestId, input: Input) {
        let Some(outside) = self.outside.as_mut().filter(|outside| outside.is_open(agent, id)) else { return };
        if let Input::End { .. } = input {
            outside.forget(agent, id);
        }
        // Behind all that is due.
        self.due.insert(0, (agent.clone(), input));
    }

    /// A report of the answering server, for the transcript.
    pub fn note(&mut self, agent: &Agent, what: &EventKind) {
        self.watcher.note(self.now, agent, what);
    }
}
