//! The settings of a session beside the model and its tools (S-1 to S-11).

use serde::{Deserialize, Serialize};

use crate::engine::budget::{Date, NanoUsd};
use crate::engine::permission::PermissionAnswer;
use crate::engine::settings::host::{HostMessage, RequestChange};
use crate::prelude::*;
use crate::wire::json::Json;

/// Settings of the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSettings {
    /// The model that takes over when the first one is overloaded (R-8, Q-19).
    pub fallback_model: Option<Arc<str>>,
    /// How many turns a prompt may have (S-10).
    pub max_turns: Option<u32>,
    /// The raised cap on output tokens (Q-15); `None` for the default one, which only takes the place of the default cap. One that is not above the
    /// cap raises nothing.
    pub raised_max_tokens: Option<u64>,
    /// How often the model is asked to continue after the output limit (Q-15).
    pub max_output_recoveries: u32,
    /// How many tokens of output a turn should have (Q-17).
    pub token_budget: Option<u64>,
    /// The budget of the session (S-10).
    pub max_budget: Option<NanoUsd>,
    /// How many tokens the API is told that the task has (S-10).
    pub task_budget: Option<u64>,
    /// The day by which prices hold (S-10).
    pub date: Date,
    /// The form of the structured output; enforced if a tool `StructuredOutput` is there (S-9).
    pub json_schema: Option<Json>,
    /// How often the model is asked for its structured output (S-9).
    pub max_structured_output_retries: u32,
    /// Commands beside the built-in ones (S-3).
    pub commands: Vec<SlashCommand>,
    /// Whether a prompt that begins with a slash is a command (S-3); otherwise it goes to the model as it is.
    pub slash_commands: bool,
    /// Whether the user's messages are repeated to consumers (S-7).
    pub replay_user_messages: bool,
    /// Whether the state of the files is kept for each prompt (S-6).
    pub file_history: bool,
    /// The working directory.
    pub cwd: Arc<str>,
    /// The servers that tools come from, by name: for the init message (S-4).
    pub mcp_servers: Vec<Arc<str>>,
    /// The kinds of agent that there are, by name: for the init message.
    pub agents: Vec<Arc<str>>,
    /// Whether skills are looked up before the first request (S-4).
    pub look_up_skills: bool,
    /// Whether plugins are.
    pub look_up_plugins: bool,
    /// Whether and how the model thinks; `None` to leave it to the API.
    pub thinking: Option<ThinkingSetting>,
    /// What a person answered about a tool use of an earlier session that was not run (S-3).
    pub orphaned_permission: Option<OrphanedPermission>,
    /// What the model is said to have answered to results that nothing was known of, where the prompt would come right behind them (S-3); `None`, and
    /// the prompt is in one turn with them: words that the model never wrote need a setting.
    pub orphan_reply: Option<Arc<str>>,
    /// Whether questions of tools' servers are answered (S-11). Otherwise every such question is declined at once.
    pub elicitation_handler: bool,
    /// Whether consumers are told when the session starts to ask the model, when it summarises, and when it is idle again (S-11).
    pub status_reports: bool,
    /// Whether dead messages go from the session's own store, too (S-7, C-1). Otherwise the store keeps them, and each request leaves them out.
    pub snip_replay: bool,
    /// Whether consumers get a report of each hook and of each level of compaction (S-11).
    pub verbose: bool,
    /// The model that summarises a turn's tools in one line; `None` for no such line (S-7).
    pub tool_use_summaries: Option<Arc<str>>,
    /// Whether requests name the container that the API's own tools were given (S-11).
    pub keep_container: bool,
    /// Changes of requests from some request on, in the order of their places (S-11).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RequestChange>,
    /// Messages of the host for the conversation, in the order of the places (S-11).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_messages: Vec<HostMessage>,
}

/// S-11: the `thinking` of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingSetting {
    /// It does not.
    Off,
    /// As much as it sees fit.
    Adaptive,
    /// At most so many tokens.
    Budget(u32),
}

impl ThinkingSetting {
    /// The least budget that the API takes.
    pub const LEAST_BUDGET: u32 = 1_024;

    /// The greatest budget in a request with this `max_tokens`, which has to be more; `None` where that is less than the API takes.
    pub fn greatest_budget(max_tokens: u64) -> Option<u32> {
        let greatest = u32::try_from(max_tokens.saturating_sub(1)).unwrap_or(u32::MAX);
        (greatest >= Self::LEAST_BUDGET).then_some(greatest)
    }

    /// The member of a request's body.
    pub fn json(self) -> String {
        match self {
            Self::Off => r#"{"type":"disabled"}"#.into(),
            Self::Adaptive => r#"{"type":"adaptive"}"#.into(),
            Self::Budget(tokens) => format!(r#"{{"type":"enabled","budget_tokens":{tokens}}}"#),
        }
    }
}

/// An answer that came when the session that had asked was over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrphanedPermission {
    /// Which tool use of the starting messages it is about.
    pub tool_use_id: Arc<str>,
    /// The answer.
    pub answer: PermissionAnswer,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            fallback_model: None,
            max_turns: None,
            raised_max_tokens: None,
            max_output_recoveries: 3,
            token_budget: None,
            max_budget: None,
            task_budget: None,
            date: Date::default(),
            json_schema: None,
            max_structured_output_retries: 5,
            commands: Vec::new(),
            slash_commands: true,
            replay_user_messages: false,
            file_history: false,
            cwd: "/w".into(),
            mcp_servers: Vec::new(),
            agents: Vec::new(),
            look_up_skills: false,
            look_up_plugins: false,
            thinking: None,
            orphaned_permission: None,
            orphan_reply: None,
            elicitation_handler: false,
            status_reports: false,
            snip_replay: true,
            verbose: false,
            tool_use_summaries: None,
            keep_container: false,
            changes: Vec::new(),
            host_messages: Vec::new(),
        }
    }
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: Arc<str>,
    /// Its effect.
    pub does: CommandAction,
    /// Rules for what may run from then on without being asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allows: Vec<Arc<str>>,
}

/// The effect of a slash command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandAction {
    /// It answers without the model.
    Answer(Arc<str>),
    /// It asks the model this; `$ARGUMENTS` is what follows the command.
    Ask(Arc<str>),
    /// It changes the model.
    Switch(Arc<str>),
}
