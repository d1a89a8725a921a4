//! The one task that owns all state: the connections, and a session for each client with a path of its own.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use super::connection::{self, ConnectionContext};
use super::message::{OwnerMessage, ReceivedRequest, ServerResponse, json_head};
use super::request_body::OpenBodiesRoom;
use super::scenario_choice;
use super::timed_session::TimedSession;
use super::{ScenarioOfServer, ServeLimit, ServeOptions, SessionIdentity};
use crate::access::{AccessGuard, RefusedRequests};
use crate::clock::SessionClock;
use crate::head_watch::HeadWatch;
use crate::network::{LOOPBACK, Network};
use reenact_engine::time::Time;
use reenact_explore::panic_text;
use reenact_foreign::verdict::SessionVerdict;
use reenact_foreign::verdict_json::{self, VERDICTS_PATH, asked_verdict};
use reenact_wire::prelude::*;
use reenact_world::delivery::AnswerPart;
use reenact_world::endpoint::IncomingRequest;

/// How long nothing is accepted when the system has no connection to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop` comes or the options say that it is over: a verdict for each session, with its name.
pub(super) async fn serve<N: Network>(
    scenarios: Vec<ScenarioOfServer>,
    options: ServeOptions,
    sessions: SessionIdentity,
    listener: N::Listener,
    stop: impl Future<Output = ()>,
) -> Vec<(Arc<str>, SessionVerdict)> {
    let mut owner = SessionOwner::new(scenarios, options, sessions);
    serve_with::<N>(&mut owner, listener, stop).await;
    let now = owner.clock.time(Instant::now());
    owner.into_verdicts(now)
}

/// The same, while another server holds the memory.
pub(super) async fn serve_with<N: Network>(owner: &mut SessionOwner, listener: N::Listener, stop: impl Future<Output = ()>) {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut connections = JoinSet::new();
    let mut count = 0;
    // Without an address of its own a port is at none.
    let listen = N::address(&listener).map_or(LOOPBACK.ip(), |address| address.ip());
    let access = Arc::new(AccessGuard::new(owner.options.access.clone(), listen));
    let room = OpenBodiesRoom::new(owner.options.bounds.open_bytes_max);
    let mut stop = core::pin::pin!(stop);
    loop {
        let quiet_at = owner.quiet_at();
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some(message) = told.recv() => owner.take(message),
            Some(ended) = connections.join_next() => owner.on_connection_ended(ended),
            accepted = N::accept(&listener) => match accepted {
                Ok((stream, _)) => {
                    count += 1;
                    let ServeOptions { packets, gates, bounds, .. } = &owner.options;
                    let context = ConnectionContext {
                        tell: tell.clone(),
                        packets: *packets,
                        gates: gates.clone(),
                        access: access.clone(),
                        room: room.clone(),
                        head: HeadWatch::new(bounds.head_wait_max),
                        connection: count,
                    };
                    connections.spawn(connection::serve::<N>(stream, context));
                }
                Err(error) => {
                    owner.problem(format!("a connection could not be accepted: {error}; check the limit of open files (`ulimit -n`)"));
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            () = sleep_until(quiet_at.unwrap_or_else(Instant::now)), if quiet_at.is_some() => break,
        }
    }
    while let Ok(message) = told.try_recv() {
        owner.take(message);
    }
    // What is still open now is closed because serving is over: nobody left.
    connections.abort_all();
    while let Some(ended) = connections.join_next().await {
        owner.on_connection_ended(ended);
    }
}

/// All that changes.
#[derive(Debug)]
pub(super) struct SessionOwner {
    scenarios: Vec<ScenarioOfServer>,
    options: ServeOptions,
    clock: SessionClock,
    by: SessionIdentity,
    /// Those of several scenarios in the scenarios' order.
    sessions: Vec<(Arc<str>, TimedSession)>,
    problems: Vec<String>,
    refused: RefusedRequests,
}

impl SessionOwner {
    pub(super) fn new(scenarios: Vec<ScenarioOfServer>, options: ServeOptions, by: SessionIdentity) -> Self {
        let clock = SessionClock { began: Instant::now(), scale: options.scale };
        let begin = |scenario: &ScenarioOfServer| {
            let name = if by == SessionIdentity::ByScenario { scenario.name.clone() } else { "".into() };
            (name, TimedSession::new(scenario, options.clone(), clock))
        };
        let sessions = scenarios.iter().map(begin).collect();
        Self { scenarios, options, clock, by, sessions, problems: Vec::new(), refused: RefusedRequests::default() }
    }

    /// A new process: connections from before are gone, and its clock is another.
    #[cfg(feature = "network")]
    pub(super) fn begin(&mut self, began: Instant) {
        self.clock.began = began;
        self.sessions.iter_mut().for_each(|(_, session)| session.begin(self.clock));
    }

    fn problem(&mut self, text: String) {
        if !self.problems.contains(&text) {
            self.problems.push(text);
        }
    }

    /// When it is over if nothing happens until then.
    fn quiet_at(&self) -> Option<Instant> {
        let ServeLimit::Quiet(quiet) = self.options.until else { return None };
        let until = if self.by == SessionIdentity::ByScenario { self.sessions.len() } else { 1 };
        let done: Option<Vec<Instant>> = self.sessions.iter().take(until).map(|(_, session)| session.done_at()).collect();
        Some(done?.into_iter().max()? + quiet)
    }

    fn on_connection_ended(&mut self, ended: Result<(), JoinError>) {
        let Err(error) = ended else { return };
        if error.is_panic() {
            self.problem(format!("the server panicked: {}", panic_text(&*error.into_panic())));
        }
    }

    fn take(&mut self, message: OwnerMessage) {
        match message {
            OwnerMessage::Arrived { arrived, reply } => {
                let answer = self.answer(&arrived);
                // Who asked may have left meanwhile.
                if let Err(ServerResponse::Play(playing)) = reply.send(answer) {
                    self.sessions[playing.serial.session].1.on_reached(playing.serial.number, AnswerPart::Left, Instant::now());
                }
            }
            OwnerMessage::Reached { serial, part, at } => self.sessions[serial.session].1.on_reached(serial.number, part, at),
            OwnerMessage::CutAtGate { serial, at, cut } => self.sessions[serial.session].1.on_cut_at_gate(serial.number, at, cut),
            OwnerMessage::Disturbed { serial, at } => self.sessions[serial.session].1.on_disturbed(at),
            OwnerMessage::Refused { reason } => drop(self.refused.count(&reason)),
            OwnerMessage::Unreadable { connection, problem } => {
                self.problem(format!("connection {connection}: {problem}"));
            }
        }
    }

    fn answer(&mut self, arrived: &ReceivedRequest) -> ServerResponse {
        let IncomingRequest { method, path, .. } = &arrived.incoming;
        if let Some(name) = asked_verdict(method, path) {
            return self.verdict(name);
        }
        match self.session_of(arrived) {
            Ok(session) => self.sessions[session].1.answer(session, arrived),
            Err(problem) => {
                self.problem(format!("{method} {path} was answered with 404: {problem}"));
                not_found(&problem)
            }
        }
    }

    fn session_of(&mut self, arrived: &ReceivedRequest) -> Result<usize, String> {
        match self.by {
            SessionIdentity::One => Ok(0),
            SessionIdentity::ByScenario => scenario_choice::choose(&self.scenarios, arrived),
            SessionIdentity::ByPath => {
                let name = arrived.incoming.path.split("/v1").next().unwrap_or_default().trim_matches('/');
                Ok(self.sessions.iter().position(|(known, _)| &**known == name).unwrap_or_else(|| {
                    let session = TimedSession::new(&self.scenarios[0], self.options.clone(), self.clock);
                    self.sessions.push((name.into(), session));
                    self.sessions.len() - 1
                }))
            }
        }
    }

    /// The verdicts as they are now, or the one of this name.
    fn verdict(&self, name: &str) -> ServerResponse {
        let now = self.clock.time(Instant::now());
        let is_wanted = |known: &str| name.is_empty() || known == name;
        let wanted = self.sessions.iter().enumerate().filter_map(|(at, (session, client))| {
            let scenario = self.scenarios.get(at).filter(|_| self.by != SessionIdentity::ByPath).unwrap_or(&self.scenarios[0]);
            let shown = if session.is_empty() { &scenario.name } else { session };
            is_wanted(shown).then(|| {
                let mut verdict = client.clone().into_verdict(now);
                verdict.failures.extend(verdict.unpassed(&scenario.setup, &scenario.places));
                verdict_json::verdict(shown, &verdict)
            })
        });
        let mut wanted: Vec<serde_json::Value> = wanted.collect();
        let shown = match (name, wanted.len()) {
            ("", _) => serde_json::json!({ "verdicts": wanted, "failures": self.problems, "turned_away": self.refused.texts() }),
            (_, 0) => return not_found(&format!("there is no verdict of `{name}`: GET {VERDICTS_PATH} shows all of them")),
            _ => wanted.swap_remove(0),
        };
        ServerResponse::Whole { head: json_head(200, &[]), body: shown.to_string().into() }
    }

    pub(super) fn into_verdicts(self, at: Time) -> Vec<(Arc<str>, SessionVerdict)> {
        let mut of_all = Some((self.problems, self.refused.texts()));
        // What concerns no session stands in a verdict that somebody reads.
        let first_used = self.sessions.iter().position(|(_, session)| session.is_used());
        // Each scenario has its verdict. Where clients have names, nobody was in the session without one.
        let keeps_all = self.sessions.len() == 1 || self.by == SessionIdentity::ByScenario;
        let mut verdicts = Vec::new();
        for (position, (name, session)) in self.sessions.into_iter().enumerate() {
            if keeps_all || !name.is_empty() || session.is_used() {
                let mut verdict = session.into_verdict(at);
                let of_all = if first_used.is_none_or(|first| position >= first) { of_all.take() } else { None };
                let (problems, refused) = of_all.unwrap_or_default();
                verdict.failures.splice(0..0, problems);
                verdict.remarks.splice(0..0, refused);
                verdicts.push((name, verdict));
            }
        }
        verdicts
    }
}

fn not_found(problem: &str) -> ServerResponse {
    ServerResponse::error(404, "not_found_error", &format!("reenact: {problem}"), &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_scenario::types::Scenario;
    use reenact_world::setup::RunSetup;

    #[test]
    fn k_6_a_panic_of_the_server_is_a_failure_of_the_verdict() {
        let setup = Arc::new(RunSetup::new(Scenario::default(), None).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let verdicts = runtime.block_on(async {
            let served = crate::serve::ServedScenario::new(&setup, ServeOptions::default());
            let mut owner = SessionOwner::new(vec![served.scenario], served.options, SessionIdentity::One);
            let mut connections: JoinSet<()> = JoinSet::new();
            connections.spawn(async { panic!("a wrong turn") });
            owner.on_connection_ended(connections.join_next().await.unwrap());
            owner.into_verdicts(Time::ZERO)
        });
        assert_eq!(verdicts[0].1.failures[0], "the server panicked: a wrong turn");
    }
}
