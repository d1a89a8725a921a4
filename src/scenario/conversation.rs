//! The attribution of requests to threads of conversation: a request continues a thread, forks from it, or begins one (M-3).
//!
//! A request belongs to the thread whose earlier conversation it extends. That is all that a plain recording shows: a sub-agent, a side
//! call (a title, a summary) and a second conversation of the same client look alike, so each is a thread: `main`, `thread-2`, `thread-3`, … in the
//! order in which they begin.
//!
//! [`ThreadLineage::place`] decides it for all who ask. They differ in what they know:
//!
//! | who asks | a request that extends no other | answers | later requests |
//! | --- | --- | --- | --- |
//! | the recorder | begins a thread | are not there yet | are not there yet |
//! | an importer ([`ThreadAssignment`]) | begins a thread | say what may continue from them | say which fork is the thread |
//! | a server | may be a history that its client has written anew ([`RequestSource::Client`]) | are known if it says so | are not there yet |

mod answer_fate;
mod digest;
#[cfg(test)]
mod random_tests;
mod recorded_threads;
mod server_threads;
#[cfg(test)]
mod tests;

use crate::tape::asks_for_message;
use reenact_wire::answer::CompleteAnswer;
use reenact_wire::prelude::*;

pub use self::answer_fate::AnswerFate;
pub(super) use self::answer_fate::may_be_repeated;
pub use self::digest::{ConversationDigest, ConversationLikeness};
pub use self::recorded_threads::{ThreadAssignment, assign, whole_bodies};
pub use self::server_threads::{CompleteRequest, IncompleteRequest, JsonConversation};

use self::server_threads::ServerThreads;

/// The first thread.
pub const MAIN: &str = "main";

/// The thread of requests that hold no conversation: `count_tokens`, `models` and other requests.
pub const OTHER: &str = "other";

/// The identity of a thread of conversation, in the order in which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadId(u32);

impl ThreadId {
    /// The thread [`OTHER`].
    pub const OTHER: Self = Self(0);

    /// The thread [`MAIN`].
    pub const MAIN: Self = Self(1);

    /// `main`, `thread-2`, `thread-3`, …, or `other`.
    pub fn name(self) -> Arc<str> {
        match self {
            Self::OTHER => OTHER.into(),
            Self::MAIN => MAIN.into(),
            Self(number) => format!("thread-{number}").into(),
        }
    }
}

/// Where a request belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPlacement {
    /// Its thread.
    pub thread: ThreadId,
    /// Its relation to the requests before it.
    pub relation: RequestRelation,
}

/// The relation of a request to those before it. Numbers are the ids of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRelation {
    /// It holds no conversation.
    Apart,
    /// It is the first of its thread.
    Beginning,
    /// It asks the last of its thread again, which is known to have failed.
    FurtherAttempt(u32),
    /// It holds the same conversation as this one: a further attempt, or the same question once more.
    Repetition(u32),
    /// Its conversation is longer than that of this one.
    Continuation(u32),
    /// The same, where another request has continued from this one. Both are in one thread, until all of a recording is known.
    Fork(u32),
    /// It extends none, and yet it is not the first of its thread.
    RewrittenHistory,
}

impl RequestRelation {
    /// The request whose conversation it extends or repeats.
    pub fn parent(self) -> Option<u32> {
        match self {
            Self::Apart | Self::Beginning | Self::RewrittenHistory => None,
            Self::FurtherAttempt(parent) | Self::Repetition(parent) | Self::Continuation(parent) | Self::Fork(parent) => Some(parent),
        }
    }
}

/// The knowledge of a request beside its content.
pub enum RequestSource<'a> {
    /// Nothing. If it extends none, it begins a thread.
    Recording,
    /// It comes from a running client. Such a client may write its history anew, by a compaction or with changed prompts, and is still the same
    /// agent. If the request extends none, the function is called: it says whether the request begins a thread that the server expects. If it does
    /// not, the request continues the first thread with the same system prompt and tools.
    Client(&'a mut dyn FnMut() -> bool),
    /// Its client says that it is of this thread, and is believed.
    Statement(ThreadId),
}

/// Assigns requests to threads as they come in, and holds what the API holds of them.
#[derive(Clone, Debug, Default)]
pub struct ThreadLineage {
    held: ServerThreads,
    requests: Vec<KnownRequest>,
    /// How many threads have been numbered.
    numbered: u32,
}

/// A request with a conversation.
#[derive(Clone, Debug)]
struct KnownRequest {
    id: u32,
    thread: ThreadId,
    conversation: ConversationDigest,
    /// The place of the request that it extends or repeats.
    parent: Option<usize>,
    reply: AnswerFate,
    /// The how many-th attempt at the same it is, from 1.
    attempt: u32,
    /// Whether another request continues from it.
    is_continued: bool,
    /// Whether it has to be made again, as far as its client was told.
    is_failed: bool,
}

impl ThreadLineage {
    /// A request with all that the API holds for it; one that says everything is whole as it is.
    ///
    /// # Errors
    /// When it continues from what is not held, or is none that the API would take.
    pub fn complete_request<'a>(&self, body: &'a str) -> Result<CompleteRequest<'a>, IncompleteRequest> {
        self.held.complete_request(body)
    }

    /// The same for a recorded request: where the recording does not hold what it continues from, it stays as it is. `None` for one that is not
    /// answered with a message, or that is no text.
    pub fn recorded_request<'a>(&self, (method, path): (&str, &str), body: &'a [u8]) -> Option<CompleteRequest<'a>> {
        let text = core::str::from_utf8(body).ok().filter(|_| asks_for_message(method, path))?;
        Some(self.complete_request(text).unwrap_or_else(|_| CompleteRequest::as_it_is(text)))
    }

    /// Holds the conversation of a request that was answered with a complete message.
    pub fn hold(&mut self, conversation: JsonConversation, replied: &CompleteAnswer) {
        self.held.hold(conversation, replied);
    }

    /// Where the request belongs; it is remembered under `id`.
    ///
    /// Among the requests that it extends the longest counts; of equal ones that with the same system prompt and tools, then that whose answer comes
    /// back as it was, then one that nothing continues from yet, then the latest. The same messages with another system prompt or other tools are not
    /// a further attempt but another question about them: a new thread.
    ///
    /// Requests without a body follow each other in `main`: their source keeps answers only, and nothing says otherwise.
    pub fn place(&mut self, id: u32, request: Option<&CompleteRequest<'_>>, source: RequestSource<'_>) -> ThreadPlacement {
        let Some(conversation) = request.and_then(|request| ConversationDigest::from_body(&request.body)) else {
            let has_no_body = request.is_some_and(|request| request.body.is_empty());
            let thread = match source {
                RequestSource::Statement(thread) => thread,
                _ if has_no_body => ThreadId::MAIN,
                _ => ThreadId::OTHER,
            };
            return ThreadPlacement { thread, relation: RequestRelation::Apart };
        };
        let parent = self.parent(&conversation);
        let extended = parent.map(|index| self.extended(index, &conversation));
        let is_repetition = matches!(extended, Some((_, RequestRelation::Repetition(_))));
        let (thread, relation) = match (extended, source) {
            (extended, RequestSource::Statement(thread)) => (thread, extended.map_or(RequestRelation::Beginning, |(_, relation)| relation)),
            (Some(extended), _) => extended,
            (None, source) => self.unextended(&conversation, source),
        };
        let relation = self.failed_before(thread, &conversation).map_or(relation, RequestRelation::FurtherAttempt);
        let mut known = KnownRequest {
            id,
            thread,
            conversation,
            parent,
            reply: AnswerFate::Unknown,
            attempt: 1,
            is_continued: false,
            is_failed: false,
        };
        if let Some(before) = parent.map(|index| &mut self.requests[index]) {
            before.is_continued = true;
            known.attempt += if is_repetition { before.attempt } else { 0 };
        }
        self.requests.push(known);
        ThreadPlacement { thread, relation }
    }

    /// A thread of its own, for a client that names its threads.
    pub fn begin(&mut self) -> ThreadId {
        self.numbered += 1;
        ThreadId(self.numbered)
    }

    /// The reply to the request that was placed last; `reply` gets the number of its attempt.
    #[doc(hidden)]
    pub fn on_replied(&mut self, reply: impl FnOnce(u32) -> AnswerFate) {
        if let Some(known) = self.requests.last_mut() {
            known.reply = reply(known.attempt);
        }
    }

    /// The last request of a thread has to be made again: its answer is an error, or not whole.
    pub fn on_failed(&mut self, thread: ThreadId) {
        if let Some(known) = self.requests.iter_mut().rfind(|known| known.thread == thread) {
            known.is_failed = true;
        }
    }

    /// The place of the request that this conversation extends or repeats.
    fn parent(&self, conversation: &ConversationDigest) -> Option<usize> {
        let fits = |(index, known): (usize, &KnownRequest)| {
            let fit = known.reply.fit(&known.conversation, conversation)?;
            // What was tried again is over; only of requests whose answers nobody knows are several attempts under way.
            if known.is_continued && known.reply != AnswerFate::Unknown && known.conversation.len() == conversation.len() {
                return None;
            }
            let is_same_setting = known.conversation.setting == conversation.setting;
            Some((known.conversation.len(), is_same_setting, fit, !known.is_continued, index))
        };
        self.requests.iter().enumerate().filter_map(fits).max().map(|best| best.4)
    }

    /// The thread of a request that extends or repeats the one at this place.
    fn extended(&self, index: usize, conversation: &ConversationDigest) -> (ThreadId, RequestRelation) {
        let known = &self.requests[index];
        let relation = match known.conversation.len() == conversation.len() {
            true => RequestRelation::Repetition(known.id),
            false if known.is_continued => RequestRelation::Fork(known.id),
            false => RequestRelation::Continuation(known.id),
        };
        (known.thread, relation)
    }

    /// The thread of a request that extends none. Each of them uses up a number, also where it continues a thread.
    fn unextended(&mut self, conversation: &ConversationDigest, source: RequestSource<'_>) -> (ThreadId, RequestRelation) {
        let own = self.begin();
        let may_be_rewritten = match source {
            RequestSource::Client(begins) => !begins(),
            RequestSource::Recording | RequestSource::Statement(_) => false,
        };
        let is_same_setting = |known: &&KnownRequest| may_be_rewritten && known.conversation.setting == conversation.setting;
        match self.requests.iter().filter(is_same_setting).map(|known| known.thread).min() {
            Some(first) => (first, RequestRelation::RewrittenHistory),
            None => (own, RequestRelation::Beginning),
        }
    }

    /// The last request of this thread, if it has failed and this is the same: its conversation, or as many messages for another model, which
    /// cannot read all of them.
    fn failed_before(&self, thread: ThreadId, conversation: &ConversationDigest) -> Option<u32> {
        let last = self.requests.iter().rfind(|known| known.thread == thread).filter(|last| last.is_failed)?;
        (last.conversation == *conversation || conversation.is_for_another_model(&last.conversation)).then_some(last.id)
    }
}
