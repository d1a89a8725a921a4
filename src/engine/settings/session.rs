//! What a session is given beside the model and its tools (S-1 to S-11).

use serde::{Deserialize, Serialize};

use crate::engine::budget::{Date, NanoUsd};
use crate::prelude::*;
use crate::wire::json::Json;

/// Settings of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSettings {
    /// The model that takes over when the first one is overloaded.
    pub fallback_model: Option<Arc<str>>,
    /// How many turns a prompt may have (S-10).
    pub max_turns: Option<u32>,
    /// The raised cap on output tokens; `None` for the default one, which only takes the place of the default cap.
    pub raised_max_tokens: Option<u64>,
    /// How many tokens of output a turn should have.
    pub token_budget: Option<u64>,
    /// What the session may cost (S-10).
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
    pub commands: Vec<Command>,
    /// Whether what the user says is said again to consumers (S-7).
    pub replay_user_messages: bool,
    /// Whether the state of the files is kept for each prompt (S-6).
    pub file_history: bool,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            fallback_model: None,
            max_turns: None,
            raised_max_tokens: None,
            token_budget: None,
            max_budget: None,
            task_budget: None,
            date: Date::default(),
            json_schema: None,
            max_structured_output_retries: 5,
            commands: Vec::new(),
            replay_user_messages: false,
            file_history: false,
        }
    }
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its name, without the slash.
    pub name: Arc<str>,
    /// What it does.
    pub does: CommandDeed,
}

/// What a slash command does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandDeed {
    /// It answers without the model.
    Answer(Arc<str>),
    /// It asks the model this; `$ARGUMENTS` is what follows the command.
    Ask(Arc<str>),
    /// It changes the model.
    Switch(Arc<str>),
}
