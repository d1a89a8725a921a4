//! Figures of the pipeline that each tool use goes through (T-13, T-27, T-29).

use serde::{Deserialize, Serialize};

use crate::engine::time::Micros;

/// Settings of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PipelineSettings {
    /// Whether inputs are held against the schemas of their tools before anything else (T-21). Where what came of each use is known already, a client
    /// that did not look should not be replayed by one that does.
    pub check_inputs: bool,
    /// The size of a result, in characters, over which it is stored or cut where its tool names no other (T-27, B-12).
    pub result_limit: u64,
    /// How many characters of a stored result the model sees (T-27).
    pub result_preview: u64,
    /// Whether a shell command that ends with another exit code than 0 aborts its siblings, like one that cannot start or takes too long (T-13, T-28).
    pub exit_code_aborts: bool,
    /// From how long on the hooks of a point are worth a word (T-29).
    pub hooks_shown_from: Micros,
    /// From how long on any other step is (T-29).
    pub slow_from: Micros,
}

impl Default for PipelineSettings {
    fn default() -> Self {
        Self {
            check_inputs: true,
            result_limit: 100_000,
            result_preview: 2_000,
            exit_code_aborts: true,
            hooks_shown_from: Micros::from_millis(500),
            slow_from: Micros::from_secs(2),
        }
    }
}
