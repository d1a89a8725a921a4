//! The replay server: a scenario over HTTP, for any client in any language (K-6).
//!
//! ```text
//!   client ══TCP══ connection ── Arrived ──> owner ── ApiEndpoint::ask ──> the plan of an answer
//!                      │  <─── answer ───────┘
//!                      └ plays it: head, each piece, the end, each at its time and written by itself
//!                        ── Reached ──> owner ──> transcript ──> Verdict
//! ```
//!
//! The world of a simulated run decides the answers here, too. One task owns everything that changes and is told
//! what happens by messages in one channel, so that there is no lock and the verdict has one order.

mod connection;
pub mod gate;
mod message;
mod owner;
mod play;
mod request_body;
pub mod scenario_choice;
mod schedule;
mod timed_session;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
#[cfg(feature = "network")]
use tokio::time::Instant;

use super::access::AccessRules;
use super::clock::TimeScale;
use super::head_watch::HEAD_WAIT_MAX;
use super::network::Network;
use gate::AnswerGates;
use reenact_engine::contract::{Agent, RequestId};
#[cfg(feature = "network")]
use reenact_engine::time::Time;
use reenact_foreign::verdict::SessionVerdict;
use reenact_foreign::{ServedClient, SessionTerms, TranscriptExtent, answer_terms};
use reenact_scenario::parse::TablePlaces;
use reenact_transcript::event::EventKind;
use reenact_wire::prelude::*;
use reenact_world::model_request::AnswerTerms;
use reenact_world::setup::RunSetup;

/// The header in which a client of ours says whose its request is; see [`name`].
pub const NAME_HEADER: &str = "x-reenact-request";

/// A note of the answering world, for a transcript.
pub type AnswerNote = (Agent, EventKind);

/// A scenario, ready to be served.
#[derive(Clone, Debug)]
pub struct ServedScenario {
    scenario: ScenarioOfServer,
    options: ServeOptions,
}

/// A scenario at a server.
#[derive(Clone, Debug)]
struct ScenarioOfServer {
    /// By which clients ask for it, and for its verdict.
    name: Arc<str>,
    setup: Arc<RunSetup>,
    /// The assumptions of its sessions.
    terms: SessionTerms,
    /// Where its statements stand; empty where nobody asks whether they come to pass (F-10).
    places: TablePlaces,
}

/// How a scenario is served.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The pace of the answers.
    pub pace: AnswerPace,
    /// The grouping of packets.
    pub packets: PacketGrouping,
    /// The contents of the verdict's transcript.
    pub keeps: TranscriptExtent,
    /// When serving is over by itself.
    pub until: ServeLimit,
    /// Whether scripted answers tell how many tokens their requests had.
    pub tokens: TokenReporting,
    /// The driver that is asked at each boundary; `None` without one.
    pub gates: Option<AnswerGates>,
    /// The speed of all parts' time, on the network's clock.
    pub scale: TimeScale,
    /// Whether connections may break without anybody's wanting it.
    pub ways: TransportAssumptions,
    /// Where the world's notes are told as they come, beside the verdict's transcript; `None` for nowhere.
    pub notes: Option<mpsc::UnboundedSender<AnswerNote>>,
    /// The client whose requests come.
    pub client: ServedClient,
    /// The allowed callers beside programs that call this machine by loopback or by the address of the port.
    pub access: AccessRules,
    /// The bounds of what clients may take of the server.
    pub bounds: ServerBounds,
}

/// How much clients may take of a server (K-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerBounds {
    /// How many bytes the bodies of all requests may take together that are coming or not answered yet. A request that brings more is answered
    /// with 529.
    pub open_bytes_max: usize,
    /// How long the head of a request may take from its first byte. Then its connection is closed.
    pub head_wait_max: Duration,
}

impl Default for ServerBounds {
    fn default() -> Self {
        Self { open_bytes_max: 256 << 20, head_wait_max: HEAD_WAIT_MAX }
    }
}

/// The server's assumptions about the ways to its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransportAssumptions {
    /// Everything that was sent arrives: an answer that was given is used up.
    #[default]
    Sure,
    /// Anything may be lost: a repeated request gets the same answer again.
    Rough,
}

/// How fast answers come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerPace {
    /// As the scenario has it, which is as it was recorded where nothing else is said.
    #[default]
    Recorded,
    /// The same, each time scaled to so many percent; faults too.
    Scaled(u32),
    /// At once. Only what faults take is kept: a stall, a drip.
    None,
}

/// The grouping of packets. A client may depend on it: whether it sees the last event before it sees the end, for example (K-9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketGrouping {
    /// Each piece by itself, and the end at least [`APART`] after the last of them.
    #[default]
    Apart,
    /// Pieces and the end that have the same time at once.
    Together,
}

/// How far the end keeps from the last piece, so that a client can have read it.
pub const APART: Duration = Duration::from_millis(20);

/// When serving is over by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServeLimit {
    /// Never: it is stopped from outside.
    #[default]
    Stopped,
    /// When every answer was given and nothing was asked for this long.
    Quiet(Duration),
}

/// The mark of a client of its own, which gets the scenario from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionIdentity {
    /// All are one.
    One,
    /// Each scenario: there are several, and each request says for which it is.
    ByScenario,
    /// Each path before `/v1`: the base URL `http://127.0.0.1:PORT/a` is another client than `…/b`.
    ByPath,
}

/// Whether scripted answers tell how many tokens their requests had, where the scenario does not say, and whether the API insists on thinking that
/// they lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenReporting {
    /// As the scenario has it.
    #[default]
    AsWritten,
    /// For clients that compute with token counts, and that enable thinking on their own.
    Always,
}

/// The agent and the request that a client of ours names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallerName {
    #[serde(default, skip_serializing_if = "Agent::is_root")]
    pub(crate) agent: Agent,
    #[serde(flatten)]
    pub(crate) id: RequestId,
}

/// The value of [`NAME_HEADER`] for a request of an agent.
pub fn name(agent: &Agent, id: RequestId) -> String {
    let (RequestId { prompt, turn, attempt }, agent) = (id, agent.tool_use_id());
    match agent {
        None => serde_json::json!({ "prompt": prompt, "turn": turn, "attempt": attempt }).to_string(),
        Some(agent) => serde_json::json!({ "agent": agent, "prompt": prompt, "turn": turn, "attempt": attempt }).to_string(),
    }
}

impl ServeOptions {
    /// The assumptions of a session of the scenario.
    fn terms(&self, setup: &RunSetup) -> SessionTerms {
        let counted = if self.tokens == TokenReporting::Always { answer_terms(setup) } else { AnswerTerms::default() };
        let lends = self.ways == TransportAssumptions::Rough;
        SessionTerms {
            answers: AnswerTerms { at_once: self.pace == AnswerPace::None, lends, ..counted },
            client: self.client,
            is_driven: self.gates.is_some(),
            by_event: self.gates.is_some(),
            keeps: self.keeps,
            ..SessionTerms::default()
        }
    }

    /// How long the times of answers take on the network's clock.
    fn answer_scale(&self) -> TimeScale {
        match self.pace {
            AnswerPace::Scaled(percent) => self.scale.at_pace(percent),
            AnswerPace::Recorded | AnswerPace::None => self.scale,
        }
    }
}

impl ServedScenario {
    /// Gets a scenario ready to be served.
    pub fn new(setup: &Arc<RunSetup>, options: ServeOptions) -> Self {
        let (setup, terms) = (setup.clone(), options.terms(setup));
        Self { scenario: ScenarioOfServer { name: "".into(), setup, terms, places: TablePlaces::default() }, options }
    }

    /// The same with its name, and with the places of its statements: verdicts that are asked for over HTTP say which did not come to pass (F-10).
    #[must_use]
    pub fn named(mut self, name: &str, places: &TablePlaces) -> Self {
        (self.scenario.name, self.scenario.places) = (name.into(), places.clone());
        self
    }

    /// Serves until `stop` comes, or until it is over by itself. What is open then is closed.
    pub async fn serve<N: Network>(self, listener: N::Listener, stop: impl Future<Output = ()>) -> SessionVerdict {
        let mut verdicts = owner::serve::<N>(vec![self.scenario], self.options, SessionIdentity::One, listener, stop).await;
        verdicts.swap_remove(0).1 // of one session there is one
    }

    /// A server that can go down and come back: what it knows of its client stays.
    #[cfg(feature = "network")]
    pub(super) fn into_memory(self) -> ServerMemory {
        ServerMemory(owner::SessionOwner::new(vec![self.scenario], self.options, SessionIdentity::One))
    }

    /// The same for clients that are sessions of their own: a verdict for each, with its name, in the order in which they came.
    pub async fn serve_all<N: Network>(self, listener: N::Listener, stop: impl Future<Output = ()>) -> Vec<(Arc<str>, SessionVerdict)> {
        owner::serve::<N>(vec![self.scenario], self.options, SessionIdentity::ByPath, listener, stop).await
    }

    /// Several scenarios behind one port, with the options of the first: a verdict for each, with its name, in their order. Each request says for which of
    /// them it is ([`scenario_choice`]).
    pub async fn serve_several<N: Network>(
        several: Vec<Self>,
        listener: N::Listener,
        stop: impl Future<Output = ()>,
    ) -> Vec<(Arc<str>, SessionVerdict)> {
        let options = several.first().map(|first| first.options.clone()).unwrap_or_default();
        let scenarios = several.into_iter().map(|served| served.scenario).collect();
        owner::serve::<N>(scenarios, options, SessionIdentity::ByScenario, listener, stop).await
    }
}

/// The memory of a server, apart from the process that serves.
#[cfg(feature = "network")]
#[derive(Debug)]
pub(super) struct ServerMemory(owner::SessionOwner);

#[cfg(feature = "network")]
impl ServerMemory {
    /// Serves until `stop` comes. On this process's clock the session began at `began`.
    pub(super) async fn serve<N: Network>(&mut self, listener: N::Listener, stop: impl Future<Output = ()>, began: Instant) {
        self.0.begin(began);
        owner::serve_with::<N>(&mut self.0, listener, stop).await;
    }

    /// The verdict at the end.
    pub(super) fn into_verdict(self, at: Time) -> SessionVerdict {
        let mut verdicts = self.0.into_verdicts(at);
        verdicts.swap_remove(0).1 // of one session there is one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_6_a_name_reads_back() {
        for agent in [Agent::ROOT, Agent::child("toolu_1.2")] {
            let id = RequestId { prompt: 2, turn: 3, attempt: 4 };
            assert_eq!(serde_json::from_str::<CallerName>(&name(&agent, id)).unwrap(), CallerName { agent, id });
        }
    }
}
