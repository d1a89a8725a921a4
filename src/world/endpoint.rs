//! The simulated API as clients over HTTP see it: bodies in, what comes back out (K-6).
//!
//! A client does not say which agent, prompt and attempt a request belongs to; `RequestAttribution` finds out from what it says. The answer is
//! the model server's, so that a client gets what an engine in a simulated run would get.

mod attribution;
mod headers;
mod route;
mod side;

use alloc::collections::BTreeSet;

use super::WorldNote;
use super::answer_queue::AnswerOwner;
use super::choices::{ChoiceMaker, NotedChoices};
use super::model::{ModelResponse, ModelServer};
use super::model_request::{AnswerTerms, ModelRequest};
use super::plan::{ResponseHead, ResponsePlan};
use super::setup::RunSetup;
use super::tools::clients::{ClientToolRun, client_tool_run};
use attribution::RequestAttribution;
use reenact_engine::contract::{Agent, AnswerEnd, RequestId, ToolUse};
use reenact_engine::settings::CommandAction;
use reenact_engine::time::Time;
use reenact_scenario::conversation::{AnswerFate, CompleteRequest, IncompleteRequest};
use reenact_scenario::statement::PassedStatements;
use reenact_scenario::types::Scenario;
use reenact_wire::error::ErrorKind;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::tokens;
use reenact_wire::validate::endpoint::{EndpointQuery, FindingWeight, RequestHead, exists, findings};
use reenact_wire::validate::{self, Refusal};
use route::ApiRoute;
use side::SideAnswers;

/// The API of one scenario, and what it knows of its clients.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct ApiEndpoint {
    model: ModelServer,
    callers: RequestAttribution,
    /// Whether anything happened to a client that the scenario's answers do not know of.
    is_interfered: bool,
    /// How many requests there were.
    asked: u32,
    /// The answers to side requests.
    sides: SideAnswers,
}

/// A request as it came over HTTP.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct IncomingRequest {
    #[doc(hidden)]
    pub method: String,
    /// With its query.
    #[doc(hidden)]
    pub path: String,
    /// The URL of the server as the client knows it, without a path.
    #[doc(hidden)]
    pub base: String,
    /// The parts of its head that the API looks at.
    #[doc(hidden)]
    pub head: RequestHead,
    /// The agent and the id, if the client names them.
    #[doc(hidden)]
    pub named: Option<(Agent, RequestId)>,
    #[doc(hidden)]
    pub body: Vec<u8>,
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub enum EndpointResponse {
    /// To a request for a message.
    Message(Box<MessageResponse>),
    /// To a side request, and to anything else.
    Whole(WholeResponse),
}

/// A response that comes all at once.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct WholeResponse {
    #[doc(hidden)]
    pub head: ResponseHead,
    #[doc(hidden)]
    pub body: Vec<u8>,
    /// Which rule for side requests answers, from 1, and the model that was asked.
    #[doc(hidden)]
    pub side: Option<(usize, Arc<str>)>,
    /// The problem, for the verdict.
    #[doc(hidden)]
    pub problem: Option<String>,
    /// The remarks of the API.
    #[doc(hidden)]
    pub remarks: Vec<String>,
}

/// The verdict of the endpoint on a request: a refusal, and remarks.
#[derive(Clone, Debug, Default)]
struct EndpointVerdict {
    /// Of the head: it is refused whatever its body is.
    of_head: Option<Refusal>,
    of_body: Option<Refusal>,
    remarks: Vec<String>,
}

/// The response to a request for a message.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct MessageResponse {
    #[doc(hidden)]
    pub agent: Agent,
    #[doc(hidden)]
    pub id: RequestId,
    #[doc(hidden)]
    pub request: Arc<Request>,
    #[doc(hidden)]
    pub answered: ModelResponse,
    /// The remarks of the API, although it takes the request.
    #[doc(hidden)]
    pub remarks: Vec<String>,
}

impl ApiEndpoint {
    /// The API at the beginning.
    #[doc(hidden)]
    pub fn new(terms: AnswerTerms) -> Self {
        Self { model: ModelServer::new(terms), ..Self::default() }
    }

    /// Answers what a client sent. `noted` gets the choices that are drawn.
    #[doc(hidden)]
    pub fn ask(
        &mut self,
        setup: &RunSetup,
        now: Time,
        incoming: &IncomingRequest,
        noted: Option<&mut Arc<NotedChoices>>,
    ) -> EndpointResponse {
        if self.asked == 0 {
            self.model.single_faults.add_planned(&setup.scenario.plan);
        }
        self.asked += 1;
        let request_id = headers::request_id(setup.scenario.shown_seed().0, self.asked);
        let route = ApiRoute::read(&incoming.method, &incoming.path);
        let answered = match route {
            ApiRoute::Message => self.message(setup, now, (incoming, &request_id), noted),
            _ => self.other(setup, route, incoming, &request_id).map(EndpointResponse::Whole),
        };
        answered.unwrap_or_else(|problem| EndpointResponse::Whole(problem.response(&request_id)))
    }

    /// The response to a request that is not for a message.
    fn other(
        &self,
        setup: &RunSetup,
        route: ApiRoute<'_>,
        incoming: &IncomingRequest,
        request_id: &str,
    ) -> Result<WholeResponse, EndpointProblem> {
        if let Some(advice) = route::advice(route, &incoming.base) {
            return Err(EndpointProblem::new(404, "not_found_error", format!("{} {}: {advice}", incoming.method, incoming.path)));
        }
        if route == ApiRoute::Alive {
            return Ok(WholeResponse::json(200, request_id, String::from("{}")));
        }
        let counted = match route {
            ApiRoute::CountTokens => Some(self.complete_request(&incoming.body, validate::countable)?.1),
            _ => None,
        };
        let EndpointVerdict { of_head, of_body, mut remarks } = look(setup, &incoming.head, counted.as_ref());
        match of_head.or(of_body.filter(|_| setup.scenario.tape.is_none())) {
            Some(refusal) if setup.scenario.api.lenient => {
                remarks.push(format!("the API would refuse {} {}: {}", incoming.method, incoming.path, refusal.message));
            }
            Some(refusal) => return Err(refusal.into()),
            None => (),
        }
        let body = match (route, &counted) {
            (_, Some(request)) => format!("{{\"input_tokens\":{}}}", tokens::request(request)),
            (ApiRoute::Model(id), None) if exists(id, &models(setup)) => model(id).to_string(),
            (ApiRoute::Model(id), None) => return Err(EndpointProblem::new(404, "not_found_error", format!("model: {id}"))),
            (_, None) => model_list(setup),
        };
        Ok(WholeResponse { remarks, ..WholeResponse::json(200, request_id, body) })
    }

    /// The run of a scripted tool. `nth` counts the runs of the same tool, from 0.
    #[doc(hidden)]
    pub fn tool_run(&self, setup: &RunSetup, noted: Option<&mut Arc<NotedChoices>>, tool_use: &ToolUse, nth: usize) -> ClientToolRun {
        let scripted_id = setup.scripted_id(self.model.original_id(&tool_use.id));
        client_tool_run(setup, noted, tool_use, scripted_id, nth)
    }

    /// The client closed a request, or its answer was cut on purpose, outside of what the scenario says.
    #[doc(hidden)]
    pub fn on_closed(&mut self, agent: &Agent, id: RequestId) {
        self.callers.on_failed(agent, id);
    }

    /// Something was done to the client that the scenario knows nothing of.
    #[doc(hidden)]
    pub fn on_disturbed(&mut self) {
        self.is_interfered = true;
    }

    /// The faults of the plan that hit nothing, in words (E-8).
    #[doc(hidden)]
    pub fn missed_faults(&self, setup: &RunSetup) -> Vec<String> {
        match self.asked {
            // They are set with the first request.
            0 => setup.scenario.plan.single_faults.iter().map(ToString::to_string).collect(),
            _ => self.model.single_faults.unused().map(ToString::to_string).collect(),
        }
    }

    /// The rules by which requests were made comparable with the recorded ones, as far as they replaced something (K-10).
    #[doc(hidden)]
    pub fn normalising_rules(&self) -> &BTreeSet<&'static str> {
        self.model.normalising_rules()
    }

    /// The names of the unused answers (M-3).
    #[doc(hidden)]
    pub fn unused_answers(&self, setup: &RunSetup, whose: AnswerOwner) -> Vec<Arc<str>> {
        self.model.unused(setup, whose)
    }

    /// The rules for side requests that answered none, by their numbers from 1.
    #[doc(hidden)]
    pub fn unused_sides(&self, setup: &RunSetup) -> Vec<usize> {
        self.sides.unused(setup)
    }

    /// The faults and answers of the scenario that came to pass (F-10).
    #[doc(hidden)]
    pub fn passed(&self, setup: &RunSetup) -> PassedStatements {
        self.model.passed(setup)
    }

    /// A complete request with its server-held messages, or the reply to a bad request.
    fn complete_request<'a>(
        &self,
        body: &'a [u8],
        read: fn(&str) -> Result<Request, Refusal>,
    ) -> Result<(CompleteRequest<'a>, Request), EndpointProblem> {
        let invalid = |problem: String| EndpointProblem::new(400, "invalid_request_error", problem);
        let text = core::str::from_utf8(body).map_err(|error| invalid(format!("the body is not UTF-8: {error}")))?;
        let whole = self.callers.lineage.complete_request(text).map_err(|not_held| EndpointProblem::from(&not_held))?;
        let request = read(&whole.body)?;
        Ok((whole, request))
    }

    fn message(
        &mut self,
        setup: &RunSetup,
        now: Time,
        (incoming, request_id): (&IncomingRequest, &str),
        noted: Option<&mut Arc<NotedChoices>>,
    ) -> Result<EndpointResponse, EndpointProblem> {
        let read = if setup.scenario.api.lenient { validate::countable } else { validate::request };
        let (whole, request) = match self.complete_request(&incoming.body, read) {
            Ok(whole) => whole,
            // The API looks at the head first.
            Err(problem) => {
                let of_head = look(setup, &incoming.head, None).of_head.filter(|_| !setup.scenario.api.lenient);
                return Err(of_head.map_or(problem, EndpointProblem::from));
            }
        };
        let EndpointVerdict { of_head, of_body, remarks } = look(setup, &incoming.head, Some(&request));
        if (&of_head, &of_body) == (&None, &None)
            && let Some((number, plan)) = self.sides.answer(setup, &request)
            && let Some(mut head) = plan.head.clone()
        {
            headers::add_api_headers(&mut head, request_id, self.asked);
            let (body, side) = (plan.body(), Some((number, request.model)));
            return Ok(EndpointResponse::Whole(WholeResponse { head, body, side, problem: None, remarks: Vec::new() }));
        }
        let caller = self.callers.place(setup, &whole, &request, incoming.named.clone());
        let asking = ModelRequest {
            agent: &caller.agent,
            id: caller.id,
            request: &request,
            now,
            origins: &caller.origins,
            gets_default: self.is_interfered || self.model.terms.lends || caller.is_after_interrupt,
            of_head,
            of_body,
        };
        let mut answered = self.model.answer(setup, &asking, &mut ChoiceMaker::new(&setup.scenario, noted));
        match &answered.plan {
            Some(plan) if is_whole(&answered, plan) => {
                // Where there are several conversations, answers tell which of them a request continues from.
                if setup.threads.len() > 1
                    && let Some(replied) = plan.answer().finish()
                {
                    self.callers.lineage.on_replied(|_| AnswerFate::answered(&replied));
                }
                // Only agents are known by the tool uses that made them, and the client waits for its first byte.
                if !setup.agents.is_empty() {
                    let blocks = plan.answer().into_blocks();
                    self.callers.on_answered(blocks.iter().filter_map(|block| block.as_tool_use()));
                }
            }
            _ => self.callers.on_failed(&caller.agent, caller.id),
        }
        if let (Some(conversation), Some(plan)) = (whole.conversation, &answered.plan)
            && plan.head.as_ref().is_some_and(|head| head.status == 200)
            && let Some(replied) = plan.answer().finish()
        {
            self.callers.lineage.hold(conversation, &replied);
        }
        if setup.scenario.tape.is_none()
            && let Some(head) = answered.plan.as_mut().and_then(|plan| plan.head.as_mut())
        {
            headers::add_api_headers(head, request_id, self.asked);
        }
        let reply = MessageResponse { agent: caller.agent, id: caller.id, request: Arc::new(request), answered, remarks };
        Ok(EndpointResponse::Message(Box::new(reply)))
    }
}

impl WholeResponse {
    fn json(status: u16, request_id: &str, body: String) -> Self {
        let headers = [("request-id", request_id), ("content-type", "application/json")];
        let headers = headers.map(|(name, value)| HttpHeader::new(name, value)).into();
        Self { head: ResponseHead { status, headers }, body: body.into_bytes(), side: None, problem: None, remarks: Vec::new() }
    }
}

/// Whether a client has all that it asked for, so that it has no reason to ask again.
fn is_whole(answered: &ModelResponse, plan: &ResponsePlan) -> bool {
    let is_changed = matches!(answered.note, WorldNote::Served { fault: Some(_), .. });
    let is_said = !plan.is_stream || plan.pieces.iter().any(|piece| memchr::memmem::find(&piece.bytes, b"message_stop").is_some());
    !is_changed && is_said && plan.end == Some(AnswerEnd::Complete) && plan.head.as_ref().is_some_and(|head| head.status < 400)
}

/// The API's verdict on the head of a request and on the members of its body.
fn look(setup: &RunSetup, head: &RequestHead, request: Option<&Request>) -> EndpointVerdict {
    let mut verdict = EndpointVerdict::default();
    for finding in findings(&EndpointQuery { head, request, models: &models(setup) }) {
        let place = if finding.is_of_head { &mut verdict.of_head } else { &mut verdict.of_body };
        match finding.weight {
            FindingWeight::Remark => verdict.remarks.push(format!("the API may refuse this: {}", finding.refusal.message)),
            FindingWeight::Refused if place.is_none() => *place = Some(finding.refusal),
            FindingWeight::Refused => (),
        }
    }
    verdict
}

/// Why a request gets an error that is no answer of the model server.
#[derive(Clone, Debug)]
struct EndpointProblem {
    status: u16,
    kind: String,
    message: String,
    code: Option<&'static str>,
}

impl EndpointProblem {
    fn new(status: u16, kind: &str, message: String) -> Self {
        Self { status, kind: kind.into(), message, code: None }
    }

    fn response(self, request_id: &str) -> WholeResponse {
        let Self { status, kind, message, code } = self;
        let mut error = serde_json::json!({ "type": kind, "message": message });
        if let Some(code) = code {
            error["details"] = serde_json::json!({ "error_code": code });
        }
        let body = serde_json::json!({ "type": "error", "error": error, "request_id": request_id }).to_string();
        WholeResponse { problem: Some(message), ..WholeResponse::json(status, request_id, body) }
    }
}

impl From<Refusal> for EndpointProblem {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.status, ErrorKind::from_status(refusal.status).as_str(), refusal.message)
    }
}

/// For a request that continues an unknown message; clients look for the code and send everything.
impl From<&IncompleteRequest> for EndpointProblem {
    fn from(not_held: &IncompleteRequest) -> Self {
        let problem = not_held.to_string();
        match not_held {
            IncompleteRequest::Unknown { .. } => Self { code: Some("thread_not_found"), ..Self::new(404, "not_found_error", problem) },
            _ => Self::new(400, "invalid_request_error", problem),
        }
    }
}

/// The models that the scenario knows of.
fn models(setup: &RunSetup) -> Vec<Arc<str>> {
    let Scenario { settings, sides, faults, api, .. } = &setup.scenario;
    let session = &settings.session;
    let named = [Some(&settings.model), session.fallback_model.as_ref(), session.tool_use_summaries.as_ref()];
    let switches = session.commands.iter().filter_map(|command| match &command.does {
        CommandAction::Switch(model) => Some(model),
        _ => None,
    });
    let of_rules = sides.iter().filter_map(|side| side.model.as_ref()).chain(faults.iter().filter_map(|fault| fault.at.model.as_ref()));
    let mut models: Vec<Arc<str>> = Vec::new();
    for model in named.into_iter().flatten().chain(switches).chain(of_rules).chain(&api.models) {
        if !models.contains(model) {
            models.push(model.clone());
        }
    }
    models
}

fn model_list(setup: &RunSetup) -> String {
    let models = models(setup);
    let data: Vec<_> = models.iter().map(|id| model(id)).collect();
    serde_json::json!({ "data": data, "has_more": false, "first_id": models.first(), "last_id": models.last() }).to_string()
}

/// A model as the API shows it. The epoch stands for a day that is not known.
fn model(id: &str) -> serde_json::Value {
    serde_json::json!({ "type": "model", "id": id, "display_name": id, "created_at": "1970-01-01T00:00:00Z" })
}
