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
