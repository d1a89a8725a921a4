//! What a session is given beside the model and its tools (S-1 to S-11).

use serde::{Deserialize, Serialize};

use crate::engine::budget::{Date, NanoUsd};
use crate::prelude::*;

/// Settings of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
}
