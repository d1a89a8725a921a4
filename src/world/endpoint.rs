//! The simulated API as clients over HTTP see it: bodies in, what comes back out (K-6).
//!
//! A client does not say which agent, prompt and attempt a request belongs to; [`RequestAttribution`] finds out from what it says. The answer is
//! the model server's, so that a client gets what an engine in a simulated run would get.

mod attribution;

use super::WorldNote;
use super::choices::ChoiceMaker;
use super::model::{ModelRequest, ModelResponse, ModelServer};
use super::plan::ResponsePlan;
use super::server::AnswerOwner;
use super::setup::RunSetup;
use super::tool_uses;
use crate::engine::contract::{Agent, AnswerEnd, RequestId};
use crate::engine::time::Time;
use crate::prelude::*;
use crate::scenario::statement::PassedStatements;
use crate::scenario::thread::is_messages;
use crate::wire::request::Request;
use crate::wire::server_threads::{CompleteRequest, IncompleteRequest, ServerThreads};
use crate::wire::{tokens, validate};
use attribution::RequestAttribution;

/// The API of one scenario, and what it knows of its clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiEndpoint {
    model: ModelServer,
    callers: RequestAttribution,
    /// The conversations of clients that send only what is new.
    held: ServerThreads,
    /// Whether anything happened to a client that the scenario's answers do not know of.
    is_interfered: bool,
    /// Whether answers may be lost on their way, so that a repeated request gets the same answer again.
    lends: bool,
}

/// A request as it came over HTTP.
#[derive(Clone, Debug)]
pub(crate) struct IncomingRequest<'a> {
    pub(crate) method: &'a str,
    /// With its query.
    pub(crate) path: &'a str,
    /// Whose it is, if the client says so.
    pub(crate) named: Option<(Agent, RequestId)>,
    pub(crate) body: &'a [u8],
}

/// What comes back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EndpointResponse {
    /// To a request for a message.
    Message(Box<MessageResponse>),
    /// To anything else: status and JSON body.
    Other {
        status: u16,
        body: String,
        /// The problem, for the verdict.
        problem: Option<String>,
    },
}

/// What a request for a message gets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MessageResponse {
    pub(crate) agent: Agent,
    pub(crate) id: RequestId,
    pub(crate) request: Arc<Request>,
    pub(crate) answered: ModelResponse,
}

impl ApiEndpoint {
    /// The API at the beginning; `lends` when answers may be lost on their way.
    pub(crate) fn new(lends: bool) -> Self {
        Self { lends, ..Self::default() }
    }

    /// Answers what a client sent.
    pub(crate) fn ask(&mut self, setup: &RunSetup, now: Time, incoming: &IncomingRequest<'_>) -> EndpointResponse {
        let path = incoming.path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        match incoming.method {
            "POST" if is_messages(incoming.path) => self.message(setup, now, incoming),
            "POST" if path.ends_with("/v1/messages/count_tokens") => match self.complete_request(incoming.body, validate::countable) {
                Ok((_, request)) => fine(format!("{{\"input_tokens\":{}}}", tokens::request(&request))),
                Err(refused) => *refused,
            },
            "GET" if path.ends_with("/v1/models") => fine(models(setup)),
            "GET" | "HEAD" if path.is_empty() => fine(String::from("{}")),
            _ => refused(404, "not_found_error", &format!("{} {}", incoming.method, incoming.path)),
        }
    }

    /// The client closed a request, or its answer was cut on purpose, outside of what the scenario says.
    pub(crate) fn on_closed(&mut self, agent: &Agent, id: RequestId) {
        self.is_interfered = true;
        self.callers.on_failed(agent, id);
    }

    /// Something was done to the client that the scenario knows nothing of.
    pub(crate) fn on_disturbed(&mut self) {
        self.is_interfered = true;
    }

    /// The names of the unused answers (M-3).
    pub(crate) fn unused_answers(&self, setup: &RunSetup, whose: AnswerOwner) -> Vec<Arc<str>> {
        self.model.unused(setup, whose)
    }

    /// What came to pass of the faults and answers that the scenario says (F-10).
    pub(crate) fn passed(&self, setup: &RunSetup) -> PassedStatements {
        self.model.passed(setup)
    }

    /// A complete request with its server-held messages, or the reply to a bad request.
    fn complete_request<'a>(
        &self,
        body: &'a [u8],
        read: fn(&str) -> Result<Request, validate::Refusal>,
    ) -> Result<(CompleteRequest<'a>, Request), Box<EndpointResponse>> {
        let invalid = |problem: String| Box::new(refused(400, "invalid_request_error", &problem));
        let text = core::str::from_utf8(body).map_err(|error| invalid(format!("the body is not UTF-8: {error}")))?;
        let whole = self.held.complete_request(text).map_err(|not_held| Box::new(refused_to_go_on(&not_held)))?;
        let request = read(&whole.body).map_err(|refusal| invalid(refusal.message))?;
        Ok((whole, request))
    }

    fn message(&mut self, setup: &RunSetup, now: Time, incoming: &IncomingRequest<'_>) -> EndpointResponse {
        let (whole, request) = match self.complete_request(incoming.body, validate::request) {
            Ok(whole) => whole,
            Err(refused) => return *refused,
        };
        let caller = self.callers.place(setup, &whole.body, &request, incoming.named.clone());
        let asking = ModelRequest {
            agent: &caller.agent,
            id: caller.id,
            request: &request,
            now,
            origins: &caller.origins,
            gets_default: self.is_interfered || self.lends || caller.is_after_interrupt,
            lends: self.lends,
        };
        let answered = self.model.answer(setup, &asking, &mut ChoiceMaker::new(&setup.scenario, None));
        if matches!(answered.note, WorldNote::Served { fault: Some(_), .. }) {
            self.is_interfered = true;
        }
        match &answered.plan {
            Some(plan) if is_whole(&answered, plan) => {
                // Where there are several conversations, answers tell which of them a request continues from.
                if setup.threads.len() > 1
                    && let Some(replied) = tool_uses::reply(plan.is_stream, &plan.pieces).finish()
                {
                    self.callers.on_replied(&replied);
                }
                // Only agents are known by the tool uses that made them, and the client waits for its first byte.
                if !setup.agents.is_empty() {
                    let blocks = tool_uses::blocks(plan.is_stream, &plan.pieces);
                    self.callers.on_answered(blocks.iter().filter_map(|block| block.as_tool_use()));
                }
            }
            _ => self.callers.on_failed(&caller.agent, caller.id),
        }
        if let (Some(conversation), Some(plan)) = (whole.conversation, &answered.plan)
            && plan.head.as_ref().is_some_and(|head| head.status == 200)
            && let Some(replied) = tool_uses::reply(plan.is_stream, &plan.pieces).finish()
        {
            self.held.hold(conversation, &replied);
        }
        EndpointResponse::Message(Box::new(MessageResponse { agent: caller.agent, id: caller.id, request: Arc::new(request), answered }))
    }
}

/// Whether a client has all that it asked for, so that it has no reason to ask again.
fn is_whole(answered: &ModelResponse, plan: &ResponsePlan) -> bool {
    let is_changed = matches!(answered.note, WorldNote::Served { fault: Some(_), .. });
    let is_said = !plan.is_stream || plan.pieces.iter().any(|piece| memchr::memmem::find(piece, b"message_stop").is_some());
    !is_changed && is_said && plan.end == Some(AnswerEnd::Complete) && plan.head.as_ref().is_some_and(|head| head.status < 400)
}

fn fine(body: String) -> EndpointResponse {
    EndpointResponse::Other { status: 200, body, problem: None }
}

fn refused(status: u16, kind: &str, problem: &str) -> EndpointResponse {
    let error = serde_json::json!({ "type": "error", "error": { "type": kind, "message": problem } });
    EndpointResponse::Other { status, body: error.to_string(), problem: Some(problem.into()) }
}

/// For a request that continues an unknown message; clients look for the code and send everything.
fn refused_to_go_on(not_held: &IncompleteRequest) -> EndpointResponse {
    let problem = not_held.to_string();
    let IncompleteRequest::Unknown { .. } = not_held else { return refused(400, "invalid_request_error", &problem) };
    let details = serde_json::json!({ "error_code": "thread_not_found" });
    let error = serde_json::json!({ "type": "error", "error": { "type": "not_found_error", "message": problem, "details": details } });
    EndpointResponse::Other { status: 404, body: error.to_string(), problem: Some(problem) }
}

/// The models that the scenario knows of.
fn models(setup: &RunSetup) -> String {
    let settings = &setup.scenario.settings;
    let names = core::iter::once(&settings.model).chain(&settings.session.fallback_model);
    let data: Vec<_> = names.map(|name| serde_json::json!({ "type": "model", "id": &**name, "display_name": &**name })).collect();
    serde_json::json!({ "data": data, "has_more": false, "first_id": null, "last_id": null }).to_string()
}
