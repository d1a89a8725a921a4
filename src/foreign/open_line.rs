//! The line that opens a run in virtual time (G-1).

use alloc::collections::BTreeMap;

use serde::Deserialize;

use reenact_wire::prelude::*;

/// A run begins.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenLine {
    /// The version that the client speaks.
    pub protocol: u32,
    /// The file of the scenario, or of a finding.
    pub scenario: String,
    /// In place of the scenario's seed.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Keys of the scenario, each with its value as TOML has it.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The text of a plan, in place of the scenario's own.
    #[serde(default)]
    pub plan: Option<String>,
    /// Rules that are not asked: `O-21` for a client that shortens its history.
    #[serde(default)]
    pub without: Vec<String>,
    /// Whether the verdict has the trace of the run, for an exploration.
    #[serde(default)]
    pub trace: bool,
}
