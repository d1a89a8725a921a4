//! The document of `shrink`, and the small run of a finding.

use serde::Serialize;

use super::{REPORT_VERSION, UnreadEntry};

/// Everything that a `shrink` has to say.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ShrinkReportDocument {
    reenact_shrink_report: u32,
    /// The small runs, in the order of the scenarios.
    shrunk: Vec<ShrinkEntry>,
    /// The files that could not be run.
    unread: Vec<UnreadEntry>,
    /// The exit code.
    exit: u8,
}

impl ShrinkReportDocument {
    pub(in crate::cli) fn new(shrunk: Vec<ShrinkEntry>, unread: Vec<UnreadEntry>, exit: u8) -> Self {
        Self { reenact_shrink_report: REPORT_VERSION, shrunk, unread, exit }
    }
}

/// A small run that breaks a rule, and the reasons.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ShrinkEntry {
    /// The file that the small scenario was made from.
    pub(in crate::cli) path: String,
    /// Which rule.
    pub(in crate::cli) oracle: &'static str,
    /// The observation, with `#` for ids and figures.
    pub(in crate::cli) observation: String,
    /// The file of the small scenario.
    pub(in crate::cli) regression: String,
    /// Its snapshot.
    pub(in crate::cli) snapshot: String,
    /// How many injections are left.
    pub(in crate::cli) injections: usize,
    /// How many parts of the scenario were taken out.
    pub(in crate::cli) removed: usize,
    /// How many runs that took.
    pub(in crate::cli) runs: u32,
    /// Whether everything was tried.
    pub(in crate::cli) complete: bool,
    /// The violations of the small run.
    pub(in crate::cli) violations: Vec<String>,
    /// For each injection where it fails.
    pub(in crate::cli) choices: Vec<ShrinkChoiceEntry>,
    /// The nearest run that passes; `null` where the run fails without any injection.
    pub(in crate::cli) nearest: Option<NearestRunEntry>,
    /// The smaller budgets in which no run breaks the rule.
    pub(in crate::cli) without: Vec<String>,
    /// The smaller budgets in which another run breaks the rule.
    pub(in crate::cli) refuted: Vec<String>,
    /// The smaller budgets that were not finished.
    pub(in crate::cli) unproven: Vec<String>,
}

/// Where an injection fails.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ShrinkChoiceEntry {
    /// In words.
    pub(in crate::cli) text: String,
    /// The commands of the outermost runs that fail.
    pub(in crate::cli) borders: Vec<BorderEntry>,
}

/// A run at a border.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct BorderEntry {
    /// Its place.
    pub(in crate::cli) place: String,
    /// The command that makes it.
    pub(in crate::cli) command: String,
}

/// The nearest run that passes.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct NearestRunEntry {
    /// Its difference, in words.
    pub(in crate::cli) text: String,
    /// How far it is, in microseconds; `null` where it is not a matter of time.
    pub(in crate::cli) distance: Option<u64>,
    /// The command that makes it.
    pub(in crate::cli) command: String,
    /// The first line in which they differ, of the run that fails.
    pub(in crate::cli) fails: Option<String>,
    /// The same of the run that passes.
    pub(in crate::cli) passes: Option<String>,
}
