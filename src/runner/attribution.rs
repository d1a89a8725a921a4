//! The replay server finds out whose a request is by what it says: every shipped scenario knows it, so all are asked.

use alloc::collections::BTreeMap;

use super::shipped_scenarios::shipped;
use super::threads_available;
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::contract::{Agent, Effect, Input, RequestId};
use reenact_engine::time::Time;
use reenact_sim::Run;
use reenact_transcript::event::EventKind;
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_wire::validate::endpoint::RequestHead;
use reenact_world::endpoint::{ApiEndpoint, EndpointResponse, IncomingRequest};
use reenact_world::setup::RunSetup;

/// Where requests alone do not say whose they are.
const UNSAID: [&str; 21] = [
    "agents/discarded",
    "agents/ends-before-a-tool-that-stops",
    "budget/a-tool-use-summary",
    "budget/task-budget-compacted",
    "compaction/",
    "fallback/then-too-long-to-summarise",
    "interrupt/queued-block-",
    "interrupt/streaming-cancel-tool-interrupt",
    "interrupt/tools-cancel-interrupt",
    "permission/asked-cancel-tool-interrupt",
    "session/a-clear-that-is-interrupted",
    "session/compact-command",
    "session/compact-refused",
    "session/looked-up-late",
    "session/orphan-cancelled",
    "session/orphan-refused-and-aborted",
    "session/slash-commands",
    "session/status-reports",
    "session/structured-output-and-a-message",
    "session/tool-use-summary",
    "session/two-messages-wait",
];

/// Sends an engine's requests to an endpoint, and notes their attribution.
#[derive(Clone)]
struct AttributionProbe {
    setup: Arc<RunSetup>,
    endpoint: ApiEndpoint,
    /// Whether the client says whose its requests are.
    is_named: bool,
    open: Vec<(Agent, RequestId)>,
    mistaken: Vec<String>,
}

impl TranscriptWatch for AttributionProbe {
    fn input(&mut self, _: Time, agent: &Agent, input: &Input) {
        if let Input::End { id, .. } = input {
            self.open.retain(|open| *open != (agent.clone(), *id));
        }
    }

    fn effect(&mut self, at: Time, agent: &Agent, effect: &Effect) {
        match effect {
            Effect::Request { id, request } => {
                self.open.push((agent.clone(), *id));
                let body = request.to_json();
                let named = self.is_named.then(|| (agent.clone(), *id));
                let head = RequestHead { has_key: true, version: Some("2023-06-01".into()), has_betas: true };
                let (method, path, base) = ("POST".into(), "/v1/messages?beta=true".into(), "http://localhost".into());
                let incoming = IncomingRequest { method, path, base, head, named, body: body.into_bytes() };
                match self.endpoint.ask(&self.setup, at, &incoming, None) {
                    EndpointResponse::Message(reply) if (&reply.agent, reply.id) == (agent, *id) => (),
                    EndpointResponse::Message(reply) => {
                        self.mistaken.push(format!("{} is taken for {}", agent.key(*id), reply.agent.key(reply.id)));
                    }
                    EndpointResponse::Whole(other) => self.mistaken.push(format!("{}: {other:?}", agent.key(*id))),
                }
            }
            Effect::CloseRequest { id } if self.open.contains(&(agent.clone(), *id)) => self.endpoint.on_closed(agent, *id),
            _ => (),
        }
    }

    fn note(&mut self, _: Time, _: &Agent, _: &EventKind) {}
}

/// The scenarios in which a request is taken for another one, each with its first mistake.
fn mistaken(is_named: bool) -> BTreeMap<String, String> {
    let scenarios = shipped();
    let first_mistakes = super::in_parallel(&scenarios, threads_available(), |scenario| {
        let (setup, endpoint) = (scenario.setup.clone(), ApiEndpoint::default());
        let listener = AttributionProbe { setup: setup.clone(), endpoint, is_named, open: Vec::new(), mistaken: Vec::new() };
        Run::watched(setup, AgentLoop::default(), listener).finish().watcher.mistaken.into_iter().next()
    });
    let named = scenarios.iter().zip(first_mistakes).filter_map(|(scenario, first)| Some((scenario.name.clone(), first?)));
    named.collect()
}

#[test]
fn k_6_requests_are_known_by_what_they_say() {
    let mistaken = mistaken(false);
    // An agent of an answer that was cut or is not whole yet (those of whole answers are known), a summary that is asked for before the prompt is sent, a caption for
    // tools that extends no conversation, a prompt that follows one without any request, and one that follows a tool's result without an answer:
    // nothing in the request says whose it is.
    let is_known = |name: &str| UNSAID.iter().any(|unsaid| name.starts_with(unsaid));
    let unknown: Vec<_> = mistaken.iter().filter(|(name, _)| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(mistaken.len() * 10 < shipped().len(), "no more than a tenth of all scenarios: {mistaken:#?}");
}

#[test]
fn k_6_a_client_that_says_whose_a_request_is_is_believed() {
    let mistaken = mistaken(true);
    assert!(mistaken.is_empty(), "{mistaken:#?}");
}
