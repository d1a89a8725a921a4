//! Scripted replies of hooks, people and the store of results (M-7). By default hooks are silent,
//! people allow everything, and there is no place to store anything; all of it at once.

use crate::language::forms::TrueMark;
use crate::language::keys::keys;
use crate::latency::Latency;
use reenact_engine::hook::{HookDefinition, HookOutcome};
use reenact_engine::permission::PermissionAnswer;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// A hook: as the engine knows it, and what it says here.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedHook {
    /// The definition of the hook for the engine.
    pub definition: HookDefinition,
    /// How long an answer takes that does not say so itself.
    pub latency: Latency,
    /// The answers, run by run; the last one counts for all further runs. None at all: it is silent.
    pub replies: Vec<ScriptedReply<HookOutcome>>,
    /// Whether it need not come to pass (F-10).
    pub may: bool,
}

/// The person who is asked whether a tool may run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedPermission {
    /// The questions that this is for, as rules are written (`Bash`, `Bash(git *)`); `None` for all. The first that fits a question counts.
    pub about: Option<Arc<str>>,
    /// How long an answer takes that does not say so itself.
    pub latency: Latency,
    /// The answers, question by question; the last one counts for all further questions.
    pub replies: Vec<ScriptedReply<PermissionAnswer>>,
    /// Whether it need not come to pass (F-10).
    pub may: bool,
}

/// A question of a tool's server to the user while the tool runs (S-11), with its results. The tool waits for the answer for any time,
/// and needs the rest of its latency from then on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedElicitation {
    /// The question.
    pub message: Arc<str>,
    /// When after the tool's start, its end at the latest.
    pub after: Micros,
    /// The user's answer, `None` to decline, with its latency, at once by default.
    pub reply: ScriptedReply<Option<Arc<str>>>,
    /// The tool's result when the question is declined; `None` for an error that says so.
    pub if_declined: Option<Arc<str>>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedReply<T> {
    /// How long it takes; `None` for its owner's latency.
    pub latency: Option<Latency>,
    /// The answer; `None` when it never comes.
    pub says: Option<T>,
    /// Whether it need not come to pass (F-10).
    pub may: bool,
}

impl<T: Default> Default for ScriptedReply<T> {
    fn default() -> Self {
        Self { latency: None, says: Some(T::default()), may: false }
    }
}

keys! {
    /// `[files]`: where large results are stored (T-27).
    pub struct ResultStore {
        /// The folder of stored results. Without one, large results are cut.
        folder: Option<Arc<str>> = None, key("store"), example("\"/tmp/results\""), not_blank("`store` is a folder; leave it out for none");
        /// How long it takes to store a result.
        latency: Latency = AT_ONCE;
        /// No answer ever comes.
        never_answers: bool as TrueMark = false;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

keys! {
    /// The results of an engine's lookups (S-4).
    pub struct ScriptedLookups {
        /// The names of the skills.
        skills: Vec<Arc<str>> = Vec::new();
        /// The names of the plugins.
        plugins: Vec<Arc<str>> = Vec::new();
        /// How long it takes to find the skills.
        skills_latency: Latency = AT_ONCE;
        /// How long it takes to find the plugins.
        plugins_latency: Latency = AT_ONCE;
        /// No answer ever comes.
        never_answers: bool as TrueMark = false;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

/// The latency of everything without a latency of its own.
pub const AT_ONCE: Latency = Latency::Fixed(Micros::ZERO);
