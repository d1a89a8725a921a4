//! When and how the context is shortened: figures of C-1 to C-5 and Q-5.

use serde::{Deserialize, Serialize};

/// Settings of the compaction cascade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionSettings {
    /// The model's context window in tokens; `None` when it is not known, and then nothing that depends on it happens (C-3, C-4, Q-5).
    pub context_window: Option<u64>,
    /// Whether dead messages go (C-1).
    pub snip: bool,
    /// How old results are cleared (C-2).
    pub microcompact: Microcompact,
    /// How many of the newest results stay (C-2).
    pub keep_results: u32,
    /// Whether staged summaries are committed (C-3).
    pub collapse: bool,
    /// From how many percent of the effective window on they are (C-3).
    pub collapse_percent: u32,
    /// Whether all is summarised when the context comes near the window (C-4).
    pub auto: bool,
    /// Whether all is summarised after the API said too long (C-5).
    pub reactive: bool,
}

/// C-2: the two ways, or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Microcompact {
    /// Results stay.
    #[default]
    Off,
    /// The content is replaced in the messages.
    Local,
    /// The messages stay, and the API is told what to clear.
    Cached,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            context_window: None,
            snip: true,
            microcompact: Microcompact::Off,
            keep_results: 5,
            collapse: true,
            collapse_percent: 90,
            auto: true,
            reactive: true,
        }
    }
}
