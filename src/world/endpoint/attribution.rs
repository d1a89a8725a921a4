//! Attribution: the agent, the prompt and the number of the attempt of a request, by its content alone (M-3).
//!
//! [`ThreadLineage`] knows the thread of a request. Here each thread gets its agent: one of the tape, by how the thread begins; one of the scenario,
//! by its task; or else the root or an agent that is named for the thread. The last message of a request shows whether the user has spoken.

use crate::setup::{RecordedThread, RunSetup};
use crate::user::count;
use reenact_engine::contract::{Agent, RequestId};
use reenact_scenario::conversation::{
    CompleteRequest, ConversationDigest, ConversationLikeness, RequestRelation, RequestSource, ThreadId, ThreadLineage,
};
use reenact_scenario::interrupt::InterruptKind;
use reenact_scenario::script::AnswerOrigin;
use reenact_wire::block::{Block, BlockKind, Message, Role, ToolUse};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// All agents with a request so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestAttribution {
    /// The threads of all requests.
    pub(super) lineage: ThreadLineage,
    asked: u32,
    callers: Vec<CallerThread>,
    /// The user's messages, in order: prompts and submitted messages share one row of numbers, as in a simulated run.
    said: Vec<UserText>,
    /// Tool uses that were handed out and could have made an agent: id and task.
    tasks: Vec<(Arc<str>, String)>,
}

/// The agent of a thread.
#[derive(Clone, Debug)]
struct CallerThread {
    thread: ThreadId,
    agent: Agent,
    last: RequestId,
}

/// A message of the user.
#[derive(Clone, Copy, Debug)]
struct UserText {
    origin: AnswerOrigin,
    /// Whether it went into the conversation with results, and became no prompt of its own.
    is_absorbed: bool,
}

/// The owner of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestCaller {
    pub(super) agent: Agent,
    pub(super) id: RequestId,
    /// The owners of the scripted answers that it may get, the first first.
    pub(super) origins: Vec<AnswerOrigin>,
    /// Whether the user has interfered, so that the scenario may have no answer for it.
    pub(super) is_after_interrupt: bool,
}

/// The agent that a thread may be when it begins.
enum ExpectedAgent {
    /// One whose thread begins in the same setting, or with whose task it begins.
    Certain(Agent),
    /// One whose thread begins in a like setting.
    Possible(Agent),
    /// No agent.
    Nobody,
}

impl RequestAttribution {
    /// Places a request. A client that says itself whose it is, is believed.
    pub(super) fn place(
        &mut self,
        setup: &RunSetup,
        whole: &CompleteRequest<'_>,
        request: &Request,
        named: Option<(Agent, RequestId)>,
    ) -> RequestCaller {
        self.asked += 1;
        let (at, relation) = match &named {
            Some((agent, _)) => self.named_caller(whole, agent),
            None => self.caller(setup, whole, request),
        };
        let is_again = matches!(relation, RequestRelation::FurtherAttempt(_));
        let is_root = self.callers[at].agent.is_root();
        let spoken = if is_again || !is_root { None } else { self.hear(setup, request) };
        let prompt = count(self.said.len());
        let caller = &mut self.callers[at];
        let last = caller.last;
        caller.last = match (named, spoken) {
            (Some((_, id)), _) => id,
            _ if is_again => RequestId { attempt: last.attempt + 1, ..last },
            (None, Some(UserText { is_absorbed: false, .. })) => RequestId::first(prompt),
            _ => RequestId { turn: last.turn + 1, attempt: 1, ..last },
        };
        let (agent, id) = (caller.agent.clone(), caller.last);
        let origins = self.origins(setup, &agent, id);
        let is_after_interrupt = self.said.iter().any(|said| matches!(said.origin, AnswerOrigin::Interrupt(_)));
        RequestCaller { agent, id, origins, is_after_interrupt }
    }

    /// The request has to be made again: its answer is an error, or not whole.
    pub(super) fn on_failed(&mut self, agent: &Agent, id: RequestId) {
        if let Some(caller) = self.callers.iter().find(|caller| caller.agent == *agent && caller.last == id) {
            self.lineage.on_failed(caller.thread);
        }
    }

    /// These tool uses were handed out.
    pub(super) fn on_answered<'a>(&mut self, tool_uses: impl Iterator<Item = &'a ToolUse>) {
        for tool_use in tool_uses {
            let input: serde_json::Value = serde_json::from_str(tool_use.input.as_str()).unwrap_or_default();
            if let Some(task) = input["prompt"].as_str() {
                self.tasks.push((tool_use.id.clone(), task.into()));
            }
        }
    }

    /// The agent that names itself.
    fn named_caller(&mut self, whole: &CompleteRequest<'_>, agent: &Agent) -> (usize, RequestRelation) {
        let known = self.callers.iter().position(|caller| caller.agent == *agent);
        let at = known.unwrap_or_else(|| {
            let thread = self.lineage.begin();
            self.begin(agent.clone(), thread)
        });
        let source = RequestSource::Statement(self.callers[at].thread);
        (at, self.lineage.place(self.asked, Some(whole), source).relation)
    }

    /// The agent of the request's thread.
    fn caller(&mut self, setup: &RunSetup, whole: &CompleteRequest<'_>, request: &Request) -> (usize, RequestRelation) {
        let Self { lineage, callers, tasks, .. } = self;
        let mut expected = ExpectedAgent::Nobody;
        let mut begins = || {
            expected = ExpectedAgent::find(setup, callers, tasks, (&whole.body, request));
            matches!(expected, ExpectedAgent::Certain(_))
        };
        let placement = lineage.place(self.asked, Some(whole), RequestSource::Client(&mut begins));
        let known = callers.iter().position(|caller| caller.thread == placement.thread);
        let at = known.unwrap_or_else(|| {
            let agent = match expected {
                ExpectedAgent::Certain(agent) | ExpectedAgent::Possible(agent) => agent,
                // Where a tape has several threads, what is like none of them is none of them, and has no answer.
                ExpectedAgent::Nobody if setup.threads.len() > 1 => Agent::child(&format!("unrecorded-{}", self.callers.len() + 1)),
                ExpectedAgent::Nobody if self.callers.is_empty() => Agent::ROOT,
                ExpectedAgent::Nobody => Agent::child(&placement.thread.name()),
            };
            self.begin(agent, placement.thread)
        });
        (at, placement.relation)
    }

    fn begin(&mut self, agent: Agent, thread: ThreadId) -> usize {
        self.callers.push(CallerThread { thread, agent, last: RequestId { prompt: 1, turn: 0, attempt: 1 } });
        self.callers.len() - 1
    }

    /// Whether the user has spoken since the request before, and what. Prompts that no request was made for are passed over.
    fn hear(&mut self, setup: &RunSetup, request: &Request) -> Option<UserText> {
        let heard = self.next_said(setup, request);
        let said = match heard {
            Some(said) => said,
            // The agent of the first request was asked for something, no matter what.
            None if self.said.is_empty() => UserText { origin: AnswerOrigin::Prompt(1), is_absorbed: false },
            None => return None,
        };
        if let AnswerOrigin::Prompt(number) = said.origin {
            let unheard = (1..number).map(AnswerOrigin::Prompt).filter(|origin| self.is_new(*origin)).collect::<Vec<_>>();
            self.said.extend(unheard.into_iter().map(|origin| UserText { origin, is_absorbed: false }));
        }
        self.said.push(said);
        Some(said)
    }

    fn next_said(&self, setup: &RunSetup, request: &Request) -> Option<UserText> {
        let last = last_user_blocks(setup, request);
        let has_results = last.iter().any(|block| matches!(block.kind(), BlockKind::ToolResult { .. }));
        let texts: Vec<&str> = last.iter().filter_map(|block| text_of(block)).collect();
        let says = |content: &[Block]| !content.is_empty() && content.iter().filter_map(text_of).all(|text| texts.contains(&text));
        let prompts = (1..).zip(&setup.scenario.prompts).map(|(number, prompt)| (AnswerOrigin::Prompt(number), &*prompt.content));
        let interrupts = (1..).zip(&setup.scenario.interrupts).filter_map(|(number, interrupt)| match &interrupt.kind {
            InterruptKind::Interrupt(content) => Some((AnswerOrigin::Interrupt(number), &**content)),
            _ => None,
        });
        let (origin, _) = prompts.chain(interrupts).find(|(origin, content)| self.is_new(*origin) && says(content))?;
        Some(UserText { origin, is_absorbed: has_results && matches!(origin, AnswerOrigin::Interrupt(_)) })
    }

    fn is_new(&self, origin: AnswerOrigin) -> bool {
        !self.said.iter().any(|said| said.origin == origin)
    }

    fn origins(&self, setup: &RunSetup, agent: &Agent, id: RequestId) -> Vec<AnswerOrigin> {
        if let Some(address) = agent.tool_use_id() {
            if let Some((number, _)) = (0..).zip(&setup.threads).skip(1).find(|(_, thread)| *thread.name == *address) {
                return vec![AnswerOrigin::Thread(number)];
            }
            let (tool_use, task) = address.split_once('.').map_or((address, None), |(tool_use, task)| (tool_use, Some(task)));
            let known = setup.scripted_id(tool_use);
            let known = task.map_or_else(|| known.into(), |task| format!("{known}.{task}"));
            return setup.agents.get(&*known).copied().into_iter().collect();
        }
        // Who summarises what was said before a prompt does not say the prompt.
        let own = self.said.get((id.prompt as usize).saturating_sub(1)).map_or(AnswerOrigin::Prompt(id.prompt), |said| said.origin);
        let absorbed = self.said.iter().filter(|said| said.is_absorbed).map(|said| said.origin);
        // A client whose user says something else than the scenario still gets its answers in their order.
        let later = (id.prompt..).take(setup.scenario.prompts.len()).map(|number| AnswerOrigin::Prompt(number + 1));
        core::iter::once(own).chain(absorbed).chain(later).collect()
    }
}

impl ExpectedAgent {
    /// The agent that a request may be the first of, among those that have not asked yet. `body` is its body.
    fn find(setup: &RunSetup, callers: &[CallerThread], tasks: &[(Arc<str>, String)], (body, request): (&str, &Request)) -> Self {
        let is_new = |agent: &Agent| !callers.iter().any(|caller| caller.agent == *agent);
        let is_like = |(likeness, agent): &(ConversationLikeness, Agent)| {
            *likeness >= ConversationLikeness::Tools || (agent.is_root() && *likeness >= ConversationLikeness::Kind)
        };
        match recorded_agent(setup, is_new, body) {
            Some((likeness, agent)) if likeness >= ConversationLikeness::Setting => Self::Certain(agent),
            recorded => match task_agent(setup, is_new, tasks, request) {
                Some(agent) => Self::Certain(agent),
                None => recorded.filter(is_like).map_or(Self::Nobody, |(_, agent)| Self::Possible(agent)),
            },
        }
    }
}

/// The thread of the tape that a conversation is, by how it begins: the one most alike, the first of equals.
fn recorded_agent(setup: &RunSetup, is_new: impl Fn(&Agent) -> bool, body: &str) -> Option<(ConversationLikeness, Agent)> {
    let agents = setup.threads.iter().enumerate().map(|(at, thread)| match at {
        0 => (Agent::ROOT, thread),
        _ => (Agent::child(&thread.name), thread),
    });
    let new: Vec<_> = agents.filter(|(agent, _)| is_new(agent)).collect();
    if new.is_empty() {
        return None;
    }
    let conversation = comparable(setup, body)?;
    let likeness = |recorded: &RecordedThread| {
        let first = recorded.first.as_ref().and_then(|first| comparable(setup, first));
        first.map_or(ConversationLikeness::Different, |first| conversation.likeness(&first))
    };
    // Of equals `max_by_key` takes the last.
    new.into_iter().map(|(agent, recorded)| (likeness(recorded), agent)).rev().max_by_key(|(likeness, _)| *likeness)
}

/// The agent whose task the request begins with: one that the scenario has answers for.
fn task_agent(setup: &RunSetup, is_new: impl Fn(&Agent) -> bool, tasks: &[(Arc<str>, String)], request: &Request) -> Option<Agent> {
    let first = request.messages.iter().find(|message| message.role == Role::User)?;
    let texts: Vec<&str> = first.content.iter().filter_map(text_of).collect();
    let is_asked = |address: &str| {
        let (id, _) = address.split_once('.').unwrap_or((address, ""));
        let made_by = tasks.iter().find(|(known, _)| &**known == id);
        made_by.is_some_and(|(_, task)| texts.iter().any(|text| text.contains(&**task)))
    };
    setup.agents.keys().filter(|address| is_asked(address)).map(|address| Agent::child(address)).find(|agent| is_new(agent))
}

/// A request as one conversation is held against another, without what may vary.
fn comparable(setup: &RunSetup, request: &str) -> Option<ConversationDigest> {
    match (&setup.varying, serde_json::from_str(request)) {
        (Some(varying), Ok(value)) => ConversationDigest::from_body(&varying.for_request(&value).json(value).to_string()),
        _ => ConversationDigest::from_body(request),
    }
}

/// The user's last content: the last message. Messages that the host puts before and behind it are passed over.
fn last_user_blocks<'a>(setup: &RunSetup, request: &'a Request) -> Vec<&'a Block> {
    let is_answer = |message: &&Arc<Message>| message.role == Role::Assistant;
    let is_user = |message: &&Arc<Message>| message.role == Role::User;
    let newest = request.messages.iter().rev();
    let said: Vec<&Arc<Message>> = match setup.scenario.settings.session.host_messages.is_empty() {
        true => newest.take(1).filter(is_user).collect(),
        false => newest.skip_while(is_answer).take_while(|message| !is_answer(message)).filter(is_user).collect(),
    };
    said.into_iter().flat_map(|message| &message.content).collect()
}

fn text_of(block: &Block) -> Option<&str> {
    match block.kind() {
        BlockKind::Text(text) => Some(text),
        _ => None,
    }
}
