//! Threads of conversation: which exchanges of a recording belong together (M-3).
//!
//! A request belongs to the thread whose earlier conversation it extends. That is all that a plain recording shows: a sub-agent, a side
//! call (a title, a summary) and a second conversation of the same client look alike, so each is a thread: `main`, `thread-2`, `thread-3`, … in the
//! order in which they begin. Where all of a recording is known, [`assign`] looks at the answers, too: a request that does not continue from what was
//! answered begins a thread of its own, and so does the same request after a success.
//!
//! Conversations are compared block by block, not message by message, because a client may add to a message that it has sent (text typed after a
//! result), and without what may differ between equal requests ([`VolatileMember`]): a cache breakpoint that moves changes no conversation.

mod answer_fate;
mod forks;

use serde_json::Value;

use self::answer_fate::{BlockGist, RequestTerms};
use super::tape::Exchange;
use reenact_wire::answer::AnswerReader;
use reenact_wire::compare::VolatileMember;
use reenact_wire::json::push_string;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};
use reenact_wire::server_threads::{CompleteRequest, ServerThreads};

#[doc(hidden)]
pub use self::answer_fate::AnswerFate;
pub(super) use self::answer_fate::may_be_repeated;

use self::forks::Forks;

/// The first thread.
pub const MAIN: &str = "main";

/// The thread of requests that hold no conversation: `count_tokens`, `models` and other requests.
pub const OTHER: &str = "other";

/// Gives each exchange its thread and its parent, in the order given.
///
/// Messages exchanges without a request body (sources that keep answers only) follow each other in `main`: nothing says otherwise.
pub fn assign(exchanges: &mut [Exchange]) {
    let mut threads = Threads::default();
    for exchange in exchanges.iter() {
        threads.push(exchange);
    }
    for (exchange, place) in exchanges.iter_mut().zip(threads.finish()) {
        (exchange.thread, exchange.parent) = place;
    }
}

/// The same for exchanges that are given one by one: of each it keeps digests.
#[derive(Debug, Default)]
pub struct Threads {
    held: ServerThreads,
    forks: Forks,
}

impl Threads {
    /// Takes the next exchange; the body of its request with what the API held for it, where that is another one.
    pub fn push(&mut self, exchange: &Exchange) -> Option<Vec<u8>> {
        let body = whole_body(&mut self.held, exchange);
        self.forks.push(exchange, core::str::from_utf8(&body).ok().and_then(ConversationDigest::from_body));
        match body {
            Cow::Borrowed(_) => None,
            Cow::Owned(body) => Some(body),
        }
    }

    /// Thread and parent of each, in the order given.
    pub fn finish(self) -> Vec<(Arc<str>, Option<u32>)> {
        self.forks.finish()
    }
}

/// The request body of each exchange, in the order given, with what the API held for it: the same for clients that send only what is new as for
/// those that send everything. Where the recording does not hold what a request continues from, it stays as it is.
pub fn whole_bodies(exchanges: &[Exchange]) -> Vec<Cow<'_, [u8]>> {
    let mut held = ServerThreads::default();
    exchanges.iter().map(|exchange| whole_body(&mut held, exchange)).collect()
}

fn whole_body<'a>(held: &mut ServerThreads, exchange: &'a Exchange) -> Cow<'a, [u8]> {
    let text = core::str::from_utf8(&exchange.body).ok().filter(|_| exchange.asks_for_message());
    let Some(Ok(CompleteRequest { body, conversation })) = text.map(|text| held.complete_request(text)) else {
        return Cow::from(&*exchange.body);
    };
    let answer = &exchange.answer;
    // A client may continue, or leave, as soon as the message is whole, whatever becomes of the connection.
    if let Some(conversation) = conversation.filter(|_| answer.status == 200) {
        let mut reply = AnswerReader::new(answer.is_event_stream());
        answer.chunks.iter().for_each(|chunk| reply.feed(&chunk.bytes));
        if let Some(replied) = reply.finish() {
            held.hold(conversation, &replied);
        }
    }
    match body {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// A conversation as it is compared: a digest for each content block with its role, and one for what surrounds it.
#[derive(Clone, Debug)]
pub struct ConversationDigest {
    blocks: Arc<[BlockDigest]>,
    setting: DigestBits,
    /// `None` when none are offered.
    tools: Option<DigestBits>,
    /// The parts of a request that are not conversation: [`AnswerFate`] says whether it is made again under the same terms.
    terms: RequestTerms,
}

impl PartialEq for ConversationDigest {
    fn eq(&self, other: &Self) -> bool {
        (&self.blocks, self.setting, self.tools) == (&other.blocks, other.setting, other.tools)
    }
}

/// One content block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockDigest {
    digest: DigestBits,
    /// The gist of an answer, by which it is found again when it comes back with changes; `None` for anything else.
    gist: Option<BlockGist>,
}

/// How much two conversations have in common: the more, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversationLikeness {
    /// In one of the two tools are offered, in the other none.
    Different,
    /// Tools are offered in both, or in none.
    Kind,
    /// The same tools are offered, and not none.
    Tools,
    /// The same system prompt and tools.
    Setting,
    /// The same tools, and the same last message.
    Words,
    /// It is the same.
    Equal,
}

type DigestBits = [u8; 16];

impl ConversationDigest {
    /// Of a request body; `None` when it has no `messages`.
    pub fn from_body(body: &str) -> Option<Self> {
        let request = RawObject::parse(body).ok()?;
        let messages = elements(request.get("messages")?).ok()?;
        let volatile = VolatileMember::default();
        let blocks = messages.into_iter().flat_map(|message| message_digests(&volatile, message)).collect();
        let [system, tools] = ["system", "tools"].map(|name| normalised(&volatile, name, request.get(name).unwrap_or("null")));
        let setting = digest(&format!("{system}\n{tools}"));
        let offers_tools = request.get("tools").and_then(|tools| elements(tools).ok()).is_some_and(|tools| !tools.is_empty());
        Some(Self { blocks, setting, tools: offers_tools.then(|| digest(&tools)), terms: RequestTerms::from_request(&request) })
    }

    /// How many content blocks it has.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether it has no messages.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How much it has in common with `other`.
    pub fn likeness(&self, other: &Self) -> ConversationLikeness {
        let has_same_tools = self.tools == other.tools;
        match other {
            other if self == other => ConversationLikeness::Equal,
            other if has_same_tools && self.blocks.last() == other.blocks.last() => ConversationLikeness::Words,
            other if self.setting == other.setting => ConversationLikeness::Setting,
            _ if has_same_tools && self.tools.is_some() => ConversationLikeness::Tools,
            other if self.tools.is_some() == other.tools.is_some() => ConversationLikeness::Kind,
            _ => ConversationLikeness::Different,
        }
    }

    /// With how many blocks both begin.
    pub fn shared(&self, other: &Self) -> usize {
        self.blocks.iter().zip(&*other.blocks).take_while(|(one, other)| one.digest == other.digest).count()
    }

    /// Whether it begins with all of `earlier`, or is it.
    pub fn begins_with(&self, earlier: &Self) -> bool {
        self.blocks.starts_with(&earlier.blocks)
    }
}

/// One entry for each block of a message.
fn message_digests(volatile: &VolatileMember, message: &str) -> Vec<BlockDigest> {
    let wrapped = serde_json::from_str::<Value>(message).map(|message| {
        let mut request = serde_json::Map::new();
        request.insert(String::from("messages"), Value::Array(vec![message]));
        volatile.normalised(Value::Object(request))
    });
    // Text that is JSON and not Unicode (half of a pair in an escape) is compared as it stands.
    let Ok(request) = wrapped else { return vec![BlockDigest { digest: digest(message), gist: None }] };
    let message = &request["messages"][0];
    let role = message["role"].as_str().unwrap_or_default();
    let one = core::slice::from_ref(&message["content"]);
    let content = message["content"].as_array().map_or(one, Vec::as_slice);
    let said = |block: &Value| BlockDigest {
        digest: digest(&format!("{role}\n{}", canonical(block))),
        gist: (role == "assistant").then(|| BlockGist::from_block(block)),
    };
    content.iter().map(said).collect()
}

fn normalised(volatile: &VolatileMember, name: &str, value: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(value) else { return String::from(value) };
    let mut request = serde_json::Map::new();
    request.insert(String::from(name), value);
    canonical(&volatile.normalised(Value::Object(request)))
}

fn digest(text: &str) -> DigestBits {
    let mut first = [0; 16];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    first
}

/// JSON text with sorted members and one way to write each number, so that equal values have equal text.
fn canonical(value: &Value) -> String {
    let mut out = String::new();
    push_canonical(&mut out, value);
    out
}

fn push_canonical(out: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            for (position, name) in names.into_iter().enumerate() {
                out.push(if position == 0 { '{' } else { ',' });
                push_string(out, name);
                out.push(':');
                push_canonical(out, &members[name]);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                push_canonical(out, item);
                out.push(',');
            }
            out.push(']');
        }
        // `1` and `1.0` are the same number, as in `compare`.
        Value::Number(number) => out.push_str(&number.as_f64().map_or_else(|| number.to_string(), |float| float.to_string())),
        Value::String(text) => push_string(out, text),
        Value::Bool(_) | Value::Null => out.push_str(&value.to_string()),
    }
}

/// Where a request belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPlacement {
    /// The thread's name.
    pub thread: Arc<str>,
    /// The request whose conversation it extends or repeats.
    pub parent: Option<u32>,
    /// Its relation to its parent.
    pub step: LineageStep,
}

/// The relation of a request to its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineageStep {
    /// The first of its thread.
    First,
    /// The same conversation again: a further attempt.
    FurtherAttempt,
    /// A longer conversation.
    Further,
}

/// Assigns requests to threads as they come in.
#[derive(Clone, Debug, Default)]
pub struct ThreadLineage {
    threads: Vec<Arc<str>>,
    requests: Vec<KnownThread>,
}

#[derive(Clone, Debug)]
struct KnownThread {
    id: u32,
    thread: usize,
    conversation: ConversationDigest,
    reply: AnswerFate,
    /// The how many-th attempt at the same it is, from 1.
    attempt: u32,
    /// Whether another request continues from it.
    is_continued: bool,
}

impl ThreadLineage {
    /// Before the first request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the request belongs; it is remembered under `id`.
    ///
    /// Among the requests that it extends the longest counts; of equal ones that with the same system prompt and tools, then that whose answer comes
    /// back as it was, then one that nothing continues from yet, then the latest. The same messages with another system prompt or other tools are not
    /// a further attempt but another question about them: a new thread.
    pub fn place(&mut self, id: u32, conversation: &ConversationDigest) -> ThreadPlacement {
        let fits = |(index, known): (usize, &KnownThread)| {
            let fit = known.reply.fit(&known.conversation, conversation)?;
            // What was tried again is over; only of requests whose answers nobody knows are several attempts under way.
            if known.is_continued && known.reply != AnswerFate::Unknown && known.conversation.len() == conversation.len() {
                return None;
            }
            let is_same_setting = known.conversation.setting == conversation.setting;
            Some((known.conversation.len(), is_same_setting, fit, !known.is_continued, index))
        };
        let parent = self.requests.iter().enumerate().filter_map(fits).max().map(|best| best.4);
        let (thread, step) = match parent.map(|index| &self.requests[index]) {
            Some(known) if known.conversation.len() == conversation.len() => (known.thread, LineageStep::FurtherAttempt),
            Some(known) => (known.thread, LineageStep::Further),
            None => (self.threads.len(), LineageStep::First),
        };
        if step == LineageStep::First {
            self.threads.push(if thread == 0 { MAIN.into() } else { format!("thread-{}", thread + 1).into() });
        }
        let attempt = parent.filter(|_| step == LineageStep::FurtherAttempt).map_or(1, |index| self.requests[index].attempt + 1);
        if let Some(parent) = parent {
            self.requests[parent].is_continued = true;
        }
        let known =
            KnownThread { id, thread, conversation: conversation.clone(), reply: AnswerFate::Unknown, attempt, is_continued: false };
        self.requests.push(known);
        ThreadPlacement { thread: Arc::clone(&self.threads[thread]), parent: parent.map(|index| self.requests[index].id), step }
    }

    /// The reply to the request that was placed last; `reply` gets the number of its attempt.
    #[doc(hidden)]
    pub fn replied(&mut self, reply: impl FnOnce(u32) -> AnswerFate) {
        if let Some(known) = self.requests.last_mut() {
            known.reply = reply(known.attempt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places requests given as lists of messages: `u:` and `a:` with text; what stands before `|` is the system prompt.
    fn threads(requests: &[&str]) -> Vec<String> {
        let mut lineage = ThreadLineage::new();
        requests
            .iter()
            .zip(1..)
            .map(|(request, id)| {
                let (system, messages) = request.split_once('|').unwrap_or(("", request));
                let messages: Vec<String> = messages
                    .split_whitespace()
                    .map(|word| {
                        let (role, text) = word.split_once(':').unwrap();
                        let role = if role == "u" { "user" } else { "assistant" };
                        format!(r#"{{"role":"{role}","content":"{text}"}}"#)
                    })
                    .collect();
                let body = format!(r#"{{"system":"{system}","messages":[{}]}}"#, messages.join(","));
                let placement = lineage.place(id, &ConversationDigest::from_body(&body).unwrap());
                format!("{} {:?} {:?}", placement.thread, placement.parent.unwrap_or(0), placement.step)
            })
            .collect()
    }

    #[test]
    fn m_3_a_request_belongs_to_the_conversation_it_extends() {
        assert_eq!(
            threads(&["u:hi", "u:sub", "u:hi a:yes u:more", "u:sub a:ok u:result", "u:hi a:yes u:more", "u:hi a:yes u:more a:x u:y"]),
            ["main 0 First", "thread-2 0 First", "main 1 Further", "thread-2 2 Further", "main 3 FurtherAttempt", "main 5 Further"]
        );
    }

    #[test]
    fn m_3_an_edited_history_is_a_new_thread_and_a_branch_is_not() {
        assert_eq!(
            threads(&["u:hi", "u:hi a:yes u:more", "u:hi a:no u:more", "u:summary a:yes"]),
            ["main 0 First", "main 1 Further", "main 1 Further", "thread-2 0 First"]
        );
    }

    #[test]
    fn m_3_the_same_messages_put_differently_are_a_side_call() {
        assert_eq!(
            threads(&["agent|u:hi", "title|u:hi", "agent|u:hi a:yes u:more", "title|u:hi"]),
            ["main 0 First", "thread-2 0 First", "main 1 Further", "thread-2 2 FurtherAttempt"]
        );
    }

    #[test]
    fn m_3_what_may_differ_makes_no_new_thread() {
        let mut lineage = ThreadLineage::new();
        let first = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}"#;
        let second = r#"{"messages":[{"content":"a","role":"user"},{"role":"assistant","content":[{"n":1.0}]}],"stream":true}"#;
        let third =
            r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"n":1}]},{"role":"user","content":"\ud83d"}]}"#;
        for (body, id) in [first, second, third, third].into_iter().zip(1..) {
            let placement = lineage.place(id, &ConversationDigest::from_body(body).unwrap());
            assert_eq!((&*placement.thread, placement.parent), ("main", id.checked_sub(1).filter(|parent| *parent > 0)));
        }
        assert!(ConversationDigest::from_body("{}").is_none() && ConversationDigest::from_body("[]").is_none());
    }

    #[test]
    fn m_3_the_more_two_conversations_have_in_common_the_more_they_are_alike() {
        let asks = |system: &str, tools: &str, texts: &[&str]| {
            let blocks: Vec<String> = texts.iter().map(|text| format!(r#"{{"type":"text","text":"{text}"}}"#)).collect();
            let content = blocks.join(",");
            let tools = tools.split_whitespace().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect::<Vec<_>>().join(",");
            ConversationDigest::from_body(&format!(
                r#"{{"system":"{system}","tools":[{tools}],"messages":[{{"role":"user","content":[{content}]}}]}}"#
            ))
            .unwrap()
        };
        let known = asks("s", "Read", &["Monday", "Look left."]);
        for (other, likeness) in [
            (asks("s", "Read", &["Monday", "Look left."]), ConversationLikeness::Equal),
            (asks("t", "Read", &["Tuesday", "Look left."]), ConversationLikeness::Words),
            (asks("s", "Read", &["Monday", "Look right."]), ConversationLikeness::Setting),
            (asks("t", "Read", &["Monday", "Look right."]), ConversationLikeness::Tools),
            (asks("s", "Bash", &["Monday", "Look left."]), ConversationLikeness::Kind),
            (asks("s", "", &["Monday", "Look left."]), ConversationLikeness::Different),
        ] {
            assert_eq!(known.likeness(&other), likeness);
        }
        assert_eq!(asks("s", "", &["a"]).likeness(&asks("t", "", &["b"])), ConversationLikeness::Kind, "no tools are no likeness in tools");
    }
}
