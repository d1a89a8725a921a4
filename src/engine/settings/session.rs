//! The settings of a session beside the model and its tools (S-1 to S-11).

use serde::{Deserialize, Serialize};

use super::table::settings;
use crate::budget::{Date, NanoUsd};
use crate::permission::PermissionAnswer;
use crate::settings::host::{HostMessage, RequestChange};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

settings! {
    ($)
    /// Settings of the session.
    pub struct SessionSettings, keys session_keys {
        /// The model that takes over when the first one is overloaded (R-8, Q-19).
        fallback_model: Option<Arc<str>> as Option<ModelName> = None;
        /// How many turns a prompt may have (S-10).
        max_turns: Option<u32> = None, unit("turns"), example("20"), above_zero("a prompt has at least 1 turn");
        /// The cap on output tokens after an answer reached the first one (Q-15). By default 64,000, and only where `max_tokens` has its default.
        raised_max_tokens: Option<u64> = None, unit("tokens"), example("32000");
        /// How often the model is asked to continue after the output limit (Q-15).
        max_output_recoveries: u32 = 3;
        /// How many output tokens a turn should have (Q-17).
        token_budget: Option<u64> = None, unit("tokens"), example("50000"), above_zero("a budget must be more than nothing");
        /// The budget of the session (S-10).
        max_budget: Option<NanoUsd> as Option<Readable<NanoUsd>> = None, key("max_budget_usd");
        /// The token budget of the task that requests give the API (S-10).
        task_budget: Option<u64> = None, unit("tokens"), example("200000"), above_zero("a budget must be more than nothing");
        /// The day by which prices hold (S-10).
        date: Date as Readable<Date> = Date::default();
        /// The JSON Schema of the structured output. It is enforced if the tool `StructuredOutput` exists (S-9).
        json_schema: Option<Json> as Option<JsonObjectText> = None, example("'{\"type\":\"object\"}'");
        /// How often the model is asked for its structured output (S-9).
        max_structured_output_retries: u32 = 5, above_zero("it is asked for at least once");
        /// Commands beside the built-in ones (S-3).
        commands: Vec<SlashCommand> as NoKey<Vec<SlashCommand>> = Vec::new();
        /// Whether a prompt that begins with a slash is a command (S-3). Otherwise the model gets it unchanged.
        slash_commands: bool = true;
        /// Whether the user's messages are repeated to consumers (S-7).
        replay_user_messages: bool = false;
        /// Whether the state of the files is kept for each prompt (S-6).
        file_history: bool = false;
        /// The working directory, an absolute path.
        cwd: Arc<str> = "/w".into(), example("\"/w/project\""), checked(problem_with_folder);
        /// The names of the tools' servers, for the init message (S-4).
        mcp_servers: Vec<Arc<str>> = Vec::new(), example("[\"github\"]");
        /// The names of the kinds of agents, for the init message.
        agents: Vec<Arc<str>> = Vec::new(), example("[\"reviewer\"]");
        /// Whether skills are looked up before the first request (S-4).
        look_up_skills: bool = false;
        /// Whether plugins are looked up before the first request (S-4).
        look_up_plugins: bool = false;
        /// Whether and how the model thinks. By default the API decides.
        thinking: Option<ThinkingSetting> as Flat<Option<ThinkingSetting>> = None;
        /// An answer about a tool use of an earlier session, which did not run yet (S-3).
        orphaned_permission: Option<OrphanedPermission> as Option<Section<OrphanedPermission>> = None;
        /// A made-up answer of the model between the results of `[[history]]` that the engine adds and the prompt (S-3). By default results and prompt are one
        /// message.
        orphan_reply: Option<Arc<str>> = None, not_blank("a blank answer cannot be sent; leave it out");
        /// Whether questions of tools' servers are answered (S-11). Otherwise every such question is declined at once.
        elicitation_handler: bool = false;
        /// Whether the session reports that it sends a request, summarises or is idle (S-11).
        status_reports: bool = false;
        /// Whether results have the time of their call, and progress a name and a time (T-32).
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        tool_details: bool = false;
        /// Whether the session's own store loses dead messages as well (S-7, C-1). Otherwise it keeps them, and each request leaves them out.
        snip_replay: bool = true;
        /// Whether consumers get a report of each hook and of each level of compaction (S-11).
        verbose: bool = false;
        /// The model that summarises the tools of each turn in one line (S-7). By default there is no such line.
        tool_use_summaries: Option<Arc<str>> = None, example("\"claude-haiku-4-5\""), not_blank("`tool_use_summaries` names the model that is asked; leave it out if none is");
        /// Whether requests name the container of the API's own tools (S-11).
        keep_container: bool = false;
        /// Changes of requests from some request on, in the order of their places (S-11).
        #[serde(skip_serializing_if = "Vec::is_empty")]
        changes: Vec<RequestChange> as NoKey<Vec<RequestChange>> = Vec::new();
        /// Messages of the host for the conversation, in the order of the places (S-11).
        #[serde(skip_serializing_if = "Vec::is_empty")]
        host_messages: Vec<HostMessage> as NoKey<Vec<HostMessage>> = Vec::new();
    }
}

/// S-11: the `thinking` of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct OrphanedPermission {
    /// Which tool use of the starting messages it is about.
    pub tool_use_id: Arc<str>,
    /// The answer.
    pub answer: PermissionAnswer,
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: Arc<str>,
    /// Its effect.
    pub does: CommandAction,
    /// Rules for tool uses that may run from then on without a question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allows: Vec<Arc<str>>,
}

/// The effect of a slash command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandAction {
    /// It answers without the model.
    Answer(Arc<str>),
    /// It asks the model this; `$ARGUMENTS` is the text behind the command.
    Ask(Arc<str>),
    /// It changes the model.
    Switch(Arc<str>),
}
