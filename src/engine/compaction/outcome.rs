//! The outcome of a compaction: a shorter conversation or a failure, and in both cases its cost.

use crate::call::{ApiCall, CallStanding, CompletedAnswer};
use crate::contract::RequestId;
use crate::conversation::Conversation;
use crate::emission::CompactTrigger;
use crate::retry::AttemptFailure;
use crate::time::{Micros, Time};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::usage::Usage;

/// A compaction that helped.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct SuccessfulCompaction {
    /// Its name, like no other: the summary's.
    pub(crate) id: Arc<str>,
    /// The new conversation.
    pub(crate) conversation: Conversation,
    /// The context before and after, in tokens: the first is what goes from the task budget (C-6).
    pub(crate) tokens: (u64, u64),
    /// Its usage.
    pub(crate) spent: CompactionUsage,
}

/// A compaction that did not.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct FailedCompaction {
    /// Its cause.
    pub(crate) trigger: CompactTrigger,
    /// The reason.
    pub(crate) failure: AttemptFailure,
    /// Its usage: a failed compaction costs, too.
    pub(crate) spent: CompactionUsage,
}

/// The usage of a compaction's calls.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct CompactionUsage {
    /// The last request that was made: the next one comes after it. `None` when none was made.
    pub(crate) last: Option<RequestId>,
    /// Time with a request under way.
    pub(crate) api_time: Micros,
    /// Tokens by model.
    pub(crate) usage: Vec<(Arc<str>, Usage)>,
    /// The state that later calls continue from.
    pub(crate) standing: CallStanding,
    /// The summaries that were refused, and are not asked for again in this prompt.
    pub(crate) refusals: Vec<SummaryRefusal>,
}

/// A summarising request that was too long itself, or invalid. It is not made again in the same prompt, whichever level wants the summary. One whose
/// answer was no use may be: a model may answer otherwise.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct SummaryRefusal {
    pub(super) request: Box<Request>,
    /// The words of the API.
    pub(super) failure: AttemptFailure,
}

impl CompactionUsage {
    pub(super) fn count(&mut self, call: &ApiCall, ended: &CompletedAnswer) {
        self.last = Some(call.id());
        self.api_time = self.api_time + ended.took;
        self.standing = call.standing();
        self.usage.push((ended.model.clone(), ended.usage));
    }

    pub(super) fn count_lost(&mut self, now: Time, call: &ApiCall) {
        self.last = Some(call.id());
        self.api_time = self.api_time + now.since(call.since());
        self.standing = call.standing();
        self.count_attempt(call, *call.usage());
    }

    /// Counts the usage of an attempt. Its answer is lost, and paid for.
    pub(super) fn count_attempt(&mut self, call: &ApiCall, usage: Usage) {
        if usage != Usage::default() {
            self.usage.push((call.model().clone(), usage));
        }
    }
}
