//! Whether a tool may run (T-24, P-1): what is asked and answered at the boundary, and the settings that decide before anyone is asked.

pub mod command;
pub mod path;
pub mod rule;

pub(crate) mod context;
pub(crate) mod decide;

use serde::{Deserialize, Serialize};

use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// A tool's own check of an input before it runs (T-22, T-24).
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCheck {
    /// A mistake in the values (the file was not read before, old and new text are the same …): the use is answered with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Arc<str>>,
    /// The decision of the check about the permission; `None` when it leaves that to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<PermissionWord>,
    /// The reason of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// Rules that would make a question needless, in place of the usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Arc<str>>,
    /// Whether the decision is about a path outside of the working directories: then no mode overrides it, and no rule a denial (P-4).
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub is_about_path: bool,
}

words! {
    /// A word on whether something may happen; a later one of this list wins over an earlier one (P-1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PermissionWord {
        /// It may.
        Allow = "allow",
        /// A person decides.
        Ask = "ask",
        /// It may not.
        Deny = "deny",
    }
}

/// The person's answer (T-24).
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    /// It may run.
    Allow {
        /// With another input: one JSON object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_input: Option<Json>,
        /// Rules that hold from now on, so that the question is not asked again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<Arc<str>>,
    },
    /// It may not; the turn continues.
    Refuse {
        /// The reason.
        reason: Arc<str>,
    },
    /// It may not, and the query is aborted (T-14).
    RefuseAndAbort {
        /// The reason.
        reason: Arc<str>,
    },
}

/// The settings' part of the decision (P-1).
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionSettings {
    /// The handling of calls without a deciding rule.
    pub mode: PermissionMode,
    /// The rules, in the order in which they are written.
    pub rules: Vec<PermissionRule>,
    /// Where the mode `accept_edits` lets edits happen, besides the working directory.
    pub directories: Vec<Arc<str>>,
    /// Whether a shell command that a tool of its own could do is denied (P-2).
    pub dedicated_tools: bool,
}

words! {
    /// P-1: the handling of calls without a deciding rule.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PermissionMode default Default {
        /// A person is asked.
        Default = "default",
        /// Edits inside the working directories may happen; for the rest a person is asked.
        AcceptEdits = "accept_edits",
        /// Only tools that read may run.
        Plan = "plan",
        /// All calls may run, except those that a rule denies.
        Bypass = "bypass",
    }
}

/// `Tool` or `Tool(pattern)`, with a word and where it comes from (P-1).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PermissionRule {
    /// Its content.
    pub word: PermissionWord,
    /// The tool uses that it is about: `Bash`, `Bash(git *)`, `Edit(/w/src/*)`.
    pub about: Arc<str>,
    /// Its source.
    pub source: RuleSource,
}

words! {
    /// The source of a rule, the highest rank first (P-1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RuleSource default User {
        /// The administrator of the machine: such a rule decides.
        Policy = "policy",
        /// The command line, and answers of the person during the session.
        CommandLine = "command_line",
        /// The project's settings of this user.
        Local = "local",
        /// The project's settings.
        Project = "project",
        /// The user's settings.
        User = "user",
    }
}
