//! What an abort does to tool uses, where engines in the field differ (T-13, T-15a, T-19).

use serde::{Deserialize, Serialize};

/// T-15a: when a queued tool use that is aborted gets its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortResultOrder {
    /// In the step that aborts it.
    #[default]
    AtOnce,
    /// When it would have started, behind those that still execute.
    InTurn,
}

/// T-15a: what becomes of a queued *block* tool when a message was submitted that stopped the *cancel* tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueuedBlockPolicy {
    /// It is answered and never starts.
    #[default]
    Answered,
    /// It starts when there is room, and the prompt ends after it.
    Run,
}

/// T-19: what becomes of tools that run when their answer is discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscardPolicy {
    /// They are told to stop, and count as executing until they do.
    #[default]
    Stop,
    /// Nobody is told, and they are in nobody's way: a hazard.
    Ignore,
}
