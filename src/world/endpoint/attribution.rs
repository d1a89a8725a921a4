//! Attribution: the agent, the prompt and the number of the attempt of a request, by its content alone (M-3).
//!
//! A request belongs to the conversation that it extends. Where it extends none, because its client wrote the history anew, it continues from the
//! conversation with the same system prompt and tools; else it begins another. Its last message shows whether the user has spoken.

use crate::setup::{RecordedThread, RunSetup};
use crate::user::count;
use reenact_engine::contract::{Agent, RequestId};
use reenact_scenario::interrupt::InterruptKind;
use reenact_scenario::script::AnswerOrigin;
use reenact_scenario::thread::{AnswerFate, ConversationDigest, ConversationLikeness, ThreadLineage};
use reenact_wire::answer::CompleteAnswer;
use reenact_wire::block::{Block, BlockKind, Message, Role, ToolUse};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// All agents with a request so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestAttribution {
    lineage: ThreadLineage,
    asked: u32,
    threads: Vec<CallerThread>,
    /// The user's messages, in order: prompts and submitted messages share one row of numbers, as in a simulated run.
    said: Vec<UserText>,
    /// Tool uses that were handed out and could have made an agent: id and task.
    tasks: Vec<(Arc<str>, String)>,
}

/// One conversation.
#[derive(Clone, Debug)]
struct CallerThread {
    /// The names that its requests have in the lineage.
    names: Vec<Arc<str>>,
    agent: Agent,
    last: RequestId,
    /// The content of the last request, and its model.
    asked: Option<(ConversationDigest, Arc<str>)>,
    /// How many messages it had.
    messages: usize,
    /// Whether the last request has to be made again.
    is_failed: bool,
    /// System prompts and tools that it was seen with.
    frames: Vec<FrameHash>,
}

/// The frame of a conversation.
type FrameHash = (Option<Json>, Option<Json>);

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

impl RequestAttribution {
    /// Places a request; `text` is its body. A client that says itself whose it is, is believed.
    pub(super) fn place(&mut self, setup: &RunSetup, text: &str, request: &Request, named: Option<(Agent, RequestId)>) -> RequestCaller {
        self.asked += 1;
        let conversation = ConversationDigest::from_body(text);
        let placed = conversation.as_ref().map(|conversation| self.lineage.place(self.asked, conversation).thread);
        let at = match &named {
            Some((agent, _)) => self.thread_of(agent),
            None => self.thread(setup, &placed.unwrap_or_else(|| "other".into()), text, request),
        };
        let is_again = self.threads[at].is_made_again(conversation.as_ref(), request);
        let is_root = self.threads[at].agent.is_root();
        let spoken = if is_again || !is_root { None } else { self.hear(setup, request) };
        let prompt = count(self.said.len());
        let thread = &mut self.threads[at];
        let last = thread.last;
        thread.last = match (named, spoken) {
            (Some((_, id)), _) => id,
            _ if is_again => RequestId { attempt: last.attempt + 1, ..last },
            (None, Some(UserText { is_absorbed: false, .. })) => RequestId::first(prompt),
            _ => RequestId { turn: last.turn + 1, attempt: 1, ..last },
        };
        thread.take_note(conversation, request);
        let (agent, id) = (thread.agent.clone(), thread.last);
        let origins = self.origins(setup, &agent, id);
        let is_after_interrupt = self.said.iter().any(|said| matches!(said.origin, AnswerOrigin::Interrupt(_)));
        RequestCaller { agent, id, origins, is_after_interrupt }
    }

    /// The request has to be made again: its answer is an error, or not whole.
    pub(super) fn on_failed(&mut self, agent: &Agent, id: RequestId) {
        if let Some(thread) = self.threads.iter_mut().find(|thread| thread.agent == *agent && thread.last == id) {
            thread.is_failed = true;
        }
    }

    /// The request that was placed last was answered so.
    pub(super) fn on_replied(&mut self, replied: &CompleteAnswer) {
        self.lineage.replied(|_| AnswerFate::answered(replied));
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

    /// The conversation of this name, of these surroundings, or a new one.
    fn thread(&mut self, setup: &RunSetup, name: &Arc<str>, text: &str, request: &Request) -> usize {
        if let Some(at) = self.threads.iter().position(|thread| thread.names.contains(name)) {
            return at;
        }
        let recorded = self.recorded(setup, text);
        if let Some((_, agent)) = recorded.as_ref().filter(|(likeness, _)| *likeness >= ConversationLikeness::Setting) {
            return self.begin(agent.clone(), name);
        }
        let frame = frame_of(request);
        let goes_on = |thread: &CallerThread| thread.frames.contains(&frame);
        let agent = self.child(setup, request);
        if let Some(at) = self.threads.iter().position(goes_on).filter(|_| agent.is_none()) {
            self.threads[at].names.push(name.clone());
            return at;
        }
        // Where a tape has several threads, what is like none of them is none of them, and has no answer.
        let agent = agent.or_else(|| match recorded {
            Some((likeness, agent))
                if likeness >= ConversationLikeness::Tools || (agent.is_root() && likeness >= ConversationLikeness::Kind) =>
            {
                Some(agent)
            }
            _ if setup.threads.len() > 1 => Some(Agent::child(&format!("unrecorded-{}", self.threads.len() + 1))),
            _ => None,
        });
        let agent = if self.threads.is_empty() { agent.unwrap_or(Agent::ROOT) } else { agent.unwrap_or_else(|| Agent::child(name)) };
        self.begin(agent, name)
    }

    fn begin(&mut self, agent: Agent, name: &Arc<str>) -> usize {
        self.threads.push(CallerThread::new(agent, vec![name.clone()]));
        self.threads.len() - 1
    }

    /// The thread of the tape that a conversation is, by how it begins: of those that have not begun the one most alike, the first of equals.
    fn recorded(&self, setup: &RunSetup, text: &str) -> Option<(ConversationLikeness, Agent)> {
        let agents = setup.threads.iter().enumerate().map(|(at, thread)| match at {
            0 => (Agent::ROOT, thread),
            _ => (Agent::child(&thread.name), thread),
        });
        let is_new = |(agent, _): &(Agent, &RecordedThread)| !self.threads.iter().any(|thread| thread.agent == *agent);
        let new: Vec<_> = agents.filter(is_new).collect();
        if new.is_empty() {
            return None;
        }
        let conversation = comparable(setup, text)?;
        let likeness = |recorded: &RecordedThread| {
            let first = recorded.first.as_ref().and_then(|first| comparable(setup, first));
            first.map_or(ConversationLikeness::Different, |first| conversation.likeness(&first))
        };
        // Of equals `max_by_key` takes the last.
        new.into_iter().map(|(agent, recorded)| (likeness(recorded), agent)).rev().max_by_key(|(likeness, _)| *likeness)
    }

    /// The conversation of an agent that names itself.
    fn thread_of(&mut self, agent: &Agent) -> usize {
        self.threads.iter().position(|thread| thread.agent == *agent).unwrap_or_else(|| {
            self.threads.push(CallerThread::new(agent.clone(), Vec::new()));
            self.threads.len() - 1
        })
    }

    /// The agent whose task the request begins with: one that the scenario has answers for, and that has not asked yet.
    fn child(&self, setup: &RunSetup, request: &Request) -> Option<Agent> {
        let first = request.messages.iter().find(|message| message.role == Role::User)?;
        let texts: Vec<&str> = first.content.iter().filter_map(text_of).collect();
        let is_new = |address: &&Arc<str>| !self.threads.iter().any(|thread| thread.agent.tool_use_id() == Some(address));
        let made_by = |address: &str| {
            let (id, _) = address.split_once('.').unwrap_or((address, ""));
            self.tasks.iter().find(|(known, _)| &**known == id)
        };
        let is_asked = |address: &&Arc<str>| made_by(address).is_some_and(|(_, task)| texts.iter().any(|text| text.contains(&**task)));
        setup.agents.keys().filter(is_new).find(is_asked).map(|address| Agent::child(address))
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

impl CallerThread {
    fn new(agent: Agent, names: Vec<Arc<str>>) -> Self {
        let last = RequestId { prompt: 1, turn: 0, attempt: 1 };
        Self { names, agent, last, asked: None, messages: 0, is_failed: false, frames: Vec::new() }
    }

    /// Whether this is what failed: the same conversation, or as many messages for another model, which cannot read all of them.
    fn is_made_again(&self, conversation: Option<&ConversationDigest>, request: &Request) -> bool {
        let Some((asked, model)) = self.asked.as_ref().filter(|_| self.is_failed) else { return false };
        conversation == Some(asked) || (self.messages == request.messages.len() && *model != request.model)
    }

    fn take_note(&mut self, conversation: Option<ConversationDigest>, request: &Request) {
        self.is_failed = false;
        self.messages = request.messages.len();
        self.asked = conversation.map(|conversation| (conversation, request.model.clone()));
        let frame = frame_of(request);
        if !self.frames.contains(&frame) {
            self.frames.push(frame);
        }
    }
}

/// A request as one conversation is held against another, without what may vary.
fn comparable(setup: &RunSetup, request: &str) -> Option<ConversationDigest> {
    match (&setup.varying, serde_json::from_str(request)) {
        (Some(varying), Ok(value)) => ConversationDigest::from_body(&varying.for_request(&value).json(value).to_string()),
        _ => ConversationDigest::from_body(request),
    }
}

fn frame_of(request: &Request) -> FrameHash {
    (request.system.clone(), request.tools.clone())
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
