//! Scripted replies of hooks, people and the store of results (M-7). By default hooks are silent,
//! people allow everything, and there is no place to store anything; all of it at once.

use crate::engine::hook::{HookDefinition, HookOutcome};
use crate::engine::permission::PermissionAnswer;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::latency::Latency;

/// A hook: as the engine knows it, and what it says here.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedHook {
    /// What the engine knows of it.
    pub definition: HookDefinition,
    /// How long an answer takes that does not say so itself.
    pub latency: Latency,
    /// What it says, run by run; the last one counts for all further runs. None at all: it is silent.
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
    /// What is answered, question by question; the last one counts for all further questions.
    pub replies: Vec<ScriptedReply<PermissionAnswer>>,
    /// Whether it need not come to pass (F-10).
    pub may: bool,
}

/// What a tool's server asks the user while the tool runs (S-11), and what comes of it. The tool waits for the answer, however long that takes,
/// and needs the rest of its latency from then on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedElicitation {
    /// The question.
    pub message: Arc<str>,
    /// When after the tool's start, its end at the latest.
    pub after: Micros,
    /// What the user answers, `None` to decline; and how long that takes, at once by default.
    pub reply: ScriptedReply<Option<Arc<str>>>,
    /// What the tool gives when the question is declined; `None` for an error that says so.
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

/// Where large results are stored (T-27).
#[derive(Clone, Debug, PartialEq)]
pub struct ResultStore {
    /// The folder; `None` when there is no place.
    pub folder: Option<Arc<str>>,
    /// How long storing takes.
    pub latency: Latency,
    /// Whether no answer ever comes.
    pub never_answers: bool,
    /// Whether nothing need be stored (F-10).
    pub may: bool,
}

impl Default for ResultStore {
    fn default() -> Self {
        Self { folder: None, latency: AT_ONCE, never_answers: false, may: false }
    }
}

/// What is found when an engine looks up what there is (S-4).
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedLookups {
    /// Skills.
    pub skills: Vec<Arc<str>>,
    /// Plugins.
    pub plugins: Vec<Arc<str>>,
    /// How long it takes to find the skills.
    pub skills_latency: Latency,
    /// And the plugins.
    pub plugins_latency: Latency,
    /// Whether no answer ever comes.
    pub never_answers: bool,
    /// Whether the lookup may stay out (F-10).
    pub may: bool,
}

impl Default for ScriptedLookups {
    fn default() -> Self {
        Self {
            skills: Vec::new(),
            plugins: Vec::new(),
            skills_latency: AT_ONCE,
            plugins_latency: AT_ONCE,
            never_answers: false,
            may: false,
        }
    }
}

/// The latency of everything without a latency of its own.
pub const AT_ONCE: Latency = Latency::Fixed(Micros::ZERO);
