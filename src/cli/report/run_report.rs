//! The document of `run`.

use serde::Serialize;

use super::super::coverage::CoverageEntry;
use super::{REPORT_VERSION, UnreadEntry, ViolationEntry, verdict_word};
use crate::oracle::Violation;
use crate::prelude::*;

/// Everything that a `run` has to say.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct RunReportDocument {
    reenact_run_report: u32,
    /// The runs, in the order of the scenarios.
    pub(in crate::cli) runs: Vec<RunEntry>,
    /// The files that could not be run.
    pub(in crate::cli) unread: Vec<UnreadEntry>,
    /// How many runs were left out at this level.
    pub(in crate::cli) skipped: usize,
    /// How many runs failed.
    pub(in crate::cli) failed: usize,
    /// The coverage of the runs, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) coverage: Option<CoverageEntry>,
    /// The exit code.
    pub(in crate::cli) exit: u8,
}

impl RunReportDocument {
    /// `skipped` and `failed` are numbers of runs.
    pub(in crate::cli) fn new(
        runs: Vec<RunEntry>,
        unread: Vec<UnreadEntry>,
        (skipped, failed): (usize, usize),
        coverage: Option<CoverageEntry>,
        exit: u8,
    ) -> Self {
        Self { reenact_run_report: REPORT_VERSION, runs, unread, skipped, failed, coverage, exit }
    }
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct RunEntry {
    /// The scenario's name.
    pub(in crate::cli) scenario: String,
    /// Its file, as it is named on the command line.
    pub(in crate::cli) path: String,
    /// The root of all draws.
    pub(in crate::cli) seed: u64,
    /// `ok` or `failed`.
    pub(in crate::cli) verdict: &'static str,
    /// The last terminal, or the run's own end; `None` after a panic.
    pub(in crate::cli) terminal: Option<String>,
    /// The terminal of each prompt that ended.
    pub(in crate::cli) terminals: Vec<String>,
    /// How the run ended; `None` after a panic.
    pub(in crate::cli) end: Option<String>,
    /// When it ended.
    pub(in crate::cli) t: Option<u64>,
    /// The digest of its transcript.
    pub(in crate::cli) digest: Option<String>,
    /// Everything that failed, a text each; violations among them.
    pub(in crate::cli) failures: Vec<String>,
    /// The broken rules; `None` where they were not asked.
    pub(in crate::cli) violations: Option<Vec<ViolationEntry>>,
    /// The command that makes the run again.
    pub(in crate::cli) command: String,
}

impl RunEntry {
    /// Adds failures that are seen beside the run.
    pub(in crate::cli) fn fail(&mut self, failures: &[String]) {
        self.failures.extend_from_slice(failures);
        self.verdict = verdict_word(self.failures.is_empty());
    }

    /// The entries of violations.
    pub(in crate::cli) fn violations(violations: &[Violation]) -> Vec<ViolationEntry> {
        violations.iter().map(ViolationEntry::from).collect()
    }
}
