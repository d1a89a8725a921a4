//! Shortening the context: the cascade before each request (C-1 to C-4), and the machine that has the model summarise (C-4, C-5, C-9).
//!
//! ```text
//!   cascade ──> Call                       nothing more to do: the request goes out
//!          ├──> Compact ──> Compaction     the model summarises first
//!          └──> Blocked                    over the hard limit, and nothing is left that could help (Q-5)
//! ```

use super::call::Standing;
use super::contract::{Effects, Input, RequestId};
use super::conversation::Conversation;
use super::emission::CompactTrigger;
use super::retry::Failure;
use super::session::prompt::Frame;
use super::settings::Environment;
use super::time::{Micros, Time};
use crate::prelude::*;
use crate::wire::usage::Usage;

/// What a session remembers of compactions, from request to request and from prompt to prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tracking {
    /// Automatic compactions that failed in a row (C-4).
    pub(crate) failures: u32,
    /// Whether reactive compaction was tried in this chain (Q-13).
    pub(crate) reactively_compacted: bool,
}

/// What follows the cascade.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub(crate) enum Next {
    /// The request goes out.
    Call,
    /// The model summarises first (C-4).
    Compact,
    /// Nothing is left that could shorten it (Q-5).
    Blocked {
        /// About how many tokens the context has.
        tokens: u64,
        /// The hard limit.
        limit: u64,
    },
}

/// Runs C-1 to C-3 on the conversation, and says whether C-4 or Q-5 applies.
pub(crate) fn cascade(_env: &Environment, _conversation: &mut Conversation, _tracking: &mut Tracking, _effects: &mut Effects) -> Next {
    Next::Call
}

/// Commits all staged collapses, whatever the estimate (Q-13); `false` when there are none.
pub(crate) fn drain_collapses(_conversation: &mut Conversation, _effects: &mut Effects) -> bool {
    false
}

/// Why the model is asked to summarise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    /// Who asked for it.
    pub(crate) trigger: CompactTrigger,
    /// What the user wants the summary to mind (C-9).
    pub(crate) instructions: Option<Arc<str>>,
    /// How many tokens have to go, where the API said so (C-5).
    pub(crate) excess: Option<u64>,
    /// Whether media are left out (Q-14).
    pub(crate) without_media: bool,
}

/// A compaction under way: hooks, the summarising call, hooks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compaction {}

/// What only the owner can decide.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub(crate) enum Verdict {
    /// It goes on.
    Running,
    /// The conversation is shorter.
    Done(Box<Compacted>),
    /// It failed: the conversation stays as it was.
    Failed(Box<Failed>),
}

/// A compaction that helped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compacted {
    /// What takes the conversation's place.
    pub(crate) conversation: Conversation,
    /// The context before and after, in tokens (C-6).
    pub(crate) tokens: (u64, u64),
    /// What it cost.
    pub(crate) spent: Spent,
}

/// A compaction that did not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failed {
    /// Why.
    pub(crate) failure: Failure,
    /// What it cost all the same.
    pub(crate) spent: Spent,
}

/// What the calls of a compaction used up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    /// The last request that was made: the next one comes after it. `None` when none was made.
    pub(crate) last: Option<RequestId>,
    /// Time with a request under way.
    pub(crate) api_time: Micros,
    /// Tokens by model.
    pub(crate) usage: Vec<(Arc<str>, Usage)>,
    /// What later calls go on from.
    pub(crate) standing: Standing,
}

impl Compaction {
    /// Begins; the first request that it makes is `id`.
    #[expect(clippy::too_many_arguments, reason = "a compaction starts from all that a request starts from")]
    pub(crate) fn start(
        _env: &Environment,
        _now: Time,
        _cause: Cause,
        _id: RequestId,
        _frame: &Frame,
        _conversation: &Conversation,
        _standing: Standing,
        _effects: &mut Effects,
    ) -> Self {
        Self {}
    }

    /// Takes whatever happens while it is under way.
    pub(crate) fn step(&mut self, _env: &Environment, _now: Time, _input: &Input, _effects: &mut Effects) -> Verdict {
        Verdict::Running
    }

    /// Ends it at once (C-8); returns what it cost.
    pub(crate) fn abort(&mut self, _now: Time, _effects: &mut Effects) -> Spent {
        Spent::default()
    }
}
