//! Random stories of several agents at once: each request is taken for what it is.
//!
//! A story draws its steps: an agent goes on, tries again, forks, asks for a title or compacts its history, or a sub-agent begins. So the requests of
//! all threads come mixed, and only the requests of one thread are in order.

use serde_json::{Value, json};

use super::tests::answered_exchange;
use super::*;
use crate::tape::Exchange;
use reenact_engine::random::{KeyedDraws, Seed};

const STORIES: u64 = 60;
const STEPS: u64 = 40;

/// A request as its story knows it.
struct StoryRequest {
    /// Which system prompt and tools it has: those of its agent.
    agent: usize,
    /// The request that it continues, forks from or repeats.
    parent: Option<usize>,
    messages: Vec<Value>,
    is_failed: bool,
}

struct ThreadStory {
    draws: KeyedDraws,
    requests: Vec<StoryRequest>,
    agents: usize,
}

impl ThreadStory {
    fn new(number: u64) -> Self {
        let mut story = Self { draws: Seed(number).draws("story", ""), requests: Vec::new(), agents: 0 };
        story.begin_agent();
        for _ in 0..STEPS {
            story.step();
        }
        story
    }

    fn step(&mut self) {
        let at = self.draws.below(self.requests.len() as u64) as usize;
        let StoryRequest { agent, parent, ref messages, is_failed } = self.requests[at];
        let messages = messages.clone();
        match self.draws.below(12) {
            _ if is_failed && self.is_continued(at) => (),
            _ if is_failed => self.ask(agent, Some(at), messages),
            0 => self.begin_agent(),
            // A title has the same messages.
            1 if parent.is_none() => {
                self.agents += 1;
                self.ask(self.agents, None, messages);
            }
            2 => {
                let summary = self.said();
                self.ask(agent, None, vec![summary]);
            }
            // A fork continues from a request that another one continues from.
            kind if kind > 9 || !self.is_continued(at) => {
                let answer = json!({ "role": "assistant", "content": [{ "type": "text", "text": answer(at) }] });
                let messages = [messages, vec![answer, self.said()]].concat();
                self.ask(agent, Some(at), messages);
            }
            _ => (),
        }
    }

    fn begin_agent(&mut self) {
        self.agents += 1;
        let task = self.said();
        self.ask(self.agents, None, vec![task]);
    }

    fn ask(&mut self, agent: usize, parent: Option<usize>, messages: Vec<Value>) {
        let is_failed = self.draws.below(5) == 0;
        self.requests.push(StoryRequest { agent, parent, messages, is_failed });
    }

    /// Words that nobody has said before, spelled in one of several ways.
    fn said(&mut self) -> Value {
        let words = format!("words {}", self.requests.len());
        match self.draws.below(3) {
            0 => json!({ "role": "user", "content": words }),
            1 => json!({ "role": "user", "content": [{ "type": "text", "text": words }] }),
            _ => json!({ "content": [{ "type": "text", "text": words, "cache_control": { "type": "ephemeral" } }], "role": "user" }),
        }
    }

    fn is_continued(&self, at: usize) -> bool {
        self.requests.iter().any(|request| request.parent == Some(at))
    }

    /// The request with which its thread begins, forks counted to the thread that they leave.
    fn root(&self, at: usize) -> usize {
        self.requests[at].parent.map_or(at, |parent| self.root(parent))
    }

    /// How many requests continue from one, itself counted.
    fn size(&self, at: usize) -> usize {
        let children = (at + 1..self.requests.len()).filter(|child| self.requests[*child].parent == Some(at));
        1 + children.map(|child| self.size(child)).sum::<usize>()
    }

    /// The body of a client that sends everything.
    fn body(&self, at: usize) -> Value {
        let StoryRequest { agent, messages, .. } = &self.requests[at];
        json!({ "model": "m", "system": format!("agent {agent}"), "tools": [{ "name": "Read" }], "messages": messages })
    }

    /// The body of a client that sends only what is new.
    fn short_body(&self, at: usize) -> Value {
        let mut body = self.body(at);
        let mut answered = self.requests[at].parent;
        while let Some(parent) = answered.filter(|parent| self.requests[*parent].is_failed) {
            answered = self.requests[parent].parent;
        }
        body["thread"] = json!({ "type": "create" });
        if let (Some(parent), Some(members)) = (answered, body.as_object_mut()) {
            members.retain(|name, _| !["system", "tools"].contains(&name.as_str()));
            let new = self.requests[at].messages.last();
            members.insert("messages".into(), json!([new]));
            members.insert("thread".into(), json!({ "type": "continue", "previous_message_id": format!("msg_{parent}") }));
        }
        body
    }

    /// The exchange of a request with this body. Ids count from 1.
    fn exchange(&self, at: usize, body: &Value) -> Exchange {
        let content = json!([{ "type": "text", "text": answer(at) }]);
        let message = json!({ "type": "message", "id": format!("msg_{at}"), "content": content, "stop_reason": "end_turn" });
        let status = if self.requests[at].is_failed { 529 } else { 200 };
        answered_exchange(id(at), body.to_string(), (status, message.to_string()))
    }
}

fn answer(at: usize) -> String {
    format!("answer {at}")
}

fn id(at: usize) -> u32 {
    u32::try_from(at).unwrap() + 1
}

/// Asks for the place of each request of each story.
fn each_place(mut check: impl FnMut(&ThreadStory, usize, &CompleteRequest<'_>, &mut ThreadLineage)) {
    for number in 0..STORIES {
        let (story, mut lineage) = (ThreadStory::new(number), ThreadLineage::default());
        for at in 0..story.requests.len() {
            let body = story.body(at).to_string();
            check(&story, at, &CompleteRequest::as_it_is(&body), &mut lineage);
        }
    }
}

#[test]
fn m_3_while_a_story_is_recorded_each_request_is_in_the_thread_of_its_beginning() {
    each_place(|story, at, request, lineage| {
        let placement = lineage.place(id(at), Some(request), RequestSource::Recording);
        let roots: Vec<usize> = (0..=at).filter(|at| story.requests[*at].parent.is_none()).collect();
        let expected = roots.iter().position(|root| *root == story.root(at)).unwrap();
        assert_eq!(placement.thread, ThreadId(id(expected)), "request {at}");
        let StoryRequest { parent, messages, .. } = &story.requests[at];
        let is_fork = |parent: &usize| (parent + 1..at).any(|other| story.requests[other].parent == Some(*parent));
        let relation = match parent {
            None => RequestRelation::Beginning,
            Some(parent) if messages.len() == story.requests[*parent].messages.len() => RequestRelation::Repetition(id(*parent)),
            Some(parent) if is_fork(parent) => RequestRelation::Fork(id(*parent)),
            Some(parent) => RequestRelation::Continuation(id(*parent)),
        };
        assert_eq!(placement.relation, relation, "request {at}");
    });
}

#[test]
fn m_3_each_request_of_a_client_is_in_the_thread_of_its_agent() {
    each_place(|story, at, request, lineage| {
        let StoryRequest { agent, parent, .. } = story.requests[at];
        let firsts: Vec<usize> =
            (0..=at).filter(|at| story.requests[..*at].iter().all(|before| before.agent != story.requests[*at].agent)).collect();
        let placement = lineage.place(id(at), Some(request), RequestSource::Client(&mut || firsts.contains(&at)));
        let first = firsts.iter().copied().find(|first| story.requests[*first].agent == agent).unwrap();
        let rewritten = (0..first).filter(|at| story.requests[*at].parent.is_none()).count();
        assert_eq!(placement.thread, ThreadId(id(rewritten)), "request {at}");
        let is_rewritten = placement.relation == RequestRelation::RewrittenHistory;
        assert_eq!(is_rewritten, parent.is_none() && first != at, "request {at}: {:?}", placement.relation);
        let is_again = parent.is_some_and(|parent| parent + 1 == at && story.requests[parent].is_failed);
        assert!(!is_again || placement.relation == RequestRelation::FurtherAttempt(id(at) - 1), "request {at}: {:?}", placement.relation);
        if story.requests[at].is_failed {
            lineage.on_failed(placement.thread);
        }
    });
}

#[test]
fn m_3_a_story_that_is_whole_has_a_thread_for_each_fork() {
    for number in 0..STORIES {
        let story = ThreadStory::new(number);
        let exchanges = (0..story.requests.len()).map(|at| story.exchange(at, &story.body(at)));
        let mut exchanges: Vec<Exchange> = exchanges.collect();
        assign(&mut exchanges);
        let thread = |at: usize| &exchanges[at].thread;
        for (at, request) in story.requests.iter().enumerate() {
            assert_eq!(exchanges[at].parent, request.parent.map(id), "story {number}, request {at}");
            let is_elsewhere = |other: usize| story.requests[other].parent != request.parent && thread(other) == thread(at);
            let Some(parent) = request.parent else {
                assert!((0..at).all(|other| thread(other) != thread(at)), "story {number}: {at} begins a thread");
                continue;
            };
            let siblings = || (parent + 1..story.requests.len()).filter(|other| story.requests[*other].parent == Some(parent));
            let heir = siblings().max_by_key(|child| (story.size(*child), core::cmp::Reverse(*child)));
            assert_eq!(thread(at) == thread(parent), heir == Some(at), "story {number}: {at} continues from {parent}");
            assert!(heir == Some(at) || (0..at).all(|other| !is_elsewhere(other)), "story {number}: {at} begins a thread");
        }
    }
}

#[test]
fn k_6_a_story_is_the_same_when_the_api_holds_its_threads() {
    for number in 0..STORIES {
        let story = ThreadStory::new(number);
        let of_client = |body: fn(&ThreadStory, usize) -> Value| {
            let mut exchanges: Vec<Exchange> = (0..story.requests.len()).map(|at| story.exchange(at, &body(&story, at))).collect();
            assign(&mut exchanges);
            exchanges
        };
        let (long, short) = (of_client(ThreadStory::body), of_client(ThreadStory::short_body));
        for ((long, short), whole) in long.iter().zip(&short).zip(whole_bodies(&short)) {
            assert_eq!((&long.thread, long.parent), (&short.thread, short.parent), "story {number}, exchange {}", long.id);
            let digests = [&*long.body, &*whole].map(|body| ConversationDigest::from_body(core::str::from_utf8(body).unwrap()));
            assert!(digests[0] == digests[1], "story {number}, exchange {}", long.id);
        }
    }
}
