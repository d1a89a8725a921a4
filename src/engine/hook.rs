//! Hooks: programs of the user that are asked at fixed points (T-23, T-26, Q-16, C-4).
//!
//! All hooks of a point run at once. What they say is put together in the order in which they are defined: deny wins over ask, ask over
//! allow; the last changed input counts; every context is kept.

mod running_hooks;

pub(crate) use running_hooks::{HOOK_TIMER, HookVerdict, RunningHooks, without_tool};

use serde::{Deserialize, Serialize};

use super::contract::{RequestId, ToolRun};
use super::permission::PermissionWord;
use super::time::Micros;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// A hook as the environment defines it.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct HookDefinition {
    /// The name of the hook in transcripts.
    pub name: Arc<str>,
    /// When it runs.
    pub event: HookEvent,
    /// The tools that it is for, by name (`Bash`, `Read|Edit`, `*`); `None` for all. Not for hooks without a tool.
    pub matcher: Option<Arc<str>>,
    /// How long its answer is waited for; after that it counts as having failed, which stops nothing.
    pub timeout: Micros,
}

impl HookDefinition {
    /// How long is waited where nothing is said.
    pub const TIMEOUT: Micros = Micros::from_secs(60);
}

words! {
    /// The points at which hooks run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum HookEvent {
        /// Before a tool is called (T-23).
        PreToolUse = "pre_tool_use",
        /// After a call that went well (T-26).
        PostToolUse = "post_tool_use",
        /// After a call that failed (T-26).
        PostToolFailure = "post_tool_failure",
        /// Before a prompt would end well.
        Stop = "stop",
        /// Before the conversation is compacted (C-4).
        PreCompact = "pre_compact",
        /// After that (C-4).
        PostCompact = "post_compact",
    }
}

impl HookEvent {
    /// Whether such hooks are asked about a tool.
    pub fn is_about_a_tool(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse | Self::PostToolFailure)
    }
}

/// One run of one hook, named by its definition and what it runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HookRun {
    /// Its position among the environment's hooks, from 0.
    pub hook: u32,
    /// Its subject.
    pub subject: HookSubject,
}

/// The subject of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSubject {
    /// A tool run.
    Tool(ToolRun),
    /// The answer after which the prompt would end.
    Stop(RequestId),
    /// The compaction that begins or ended with this request.
    Compaction(RequestId),
}

/// The input of a hook.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct HookInput {
    /// When it runs.
    pub event: HookEvent,
    /// The tool, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    /// The tool's input, or what else there is to know, as one JSON value.
    pub data: Json,
    /// Whether the turn continues because a stop hook objected before.
    #[serde(default)]
    pub stop_hook_active: bool,
}

/// The outcome of a hook. By default it is silent.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct HookOutcome {
    /// Its decision: about a tool use; `Deny` from a stop hook means that it objects to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<PermissionWord>,
    /// The reason, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The tool's input as the hook wants it: one JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Json>,
    /// Something that the model should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<str>>,
    /// The turn should not continue, and why ("prevent continuation").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Arc<str>>,
    /// The hook itself failed, which stops nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Arc<str>>,
}
