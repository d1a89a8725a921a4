//! `--format json`: what `run`, `sweep`, `explore`, `fuzz`, `doctor` and others found, and what `show` read, as one document for programs.
//!
//! `report/schema.json` is its schema, and docs/reports.md shows it. Members may be added; anything else raises the version. Times are in microseconds of
//! virtual time, as in transcripts.

mod doctor_report;
mod explore_report;
mod fuzz_report;
mod run_report;
mod show_report;
mod shrink_report;
mod sweep_report;
mod test_report;

pub(super) use doctor_report::DoctorReportDocument;
pub(super) use explore_report::{ExploreBudgetEntry, ExploreEntry, ExploreFindingEntry, ExploreReportDocument};
pub(super) use fuzz_report::{FuzzEntry, FuzzFindingEntry, FuzzReportDocument};
pub(super) use run_report::{RunEntry, RunReportDocument};
pub(super) use show_report::ShowReportDocument;
pub(super) use shrink_report::{BorderEntry, NearestRunEntry, ShrinkChoiceEntry, ShrinkEntry, ShrinkReportDocument};
pub(super) use sweep_report::{FindingEntry, SweepEntry, SweepReportDocument, group_entries};
pub(super) use test_report::{TestEntry, TestReportDocument};

use serde::Serialize;

use super::output::print_line;
use crate::oracle::Violation;
use crate::prelude::*;

/// The version of these documents.
const REPORT_VERSION: u32 = 1;

/// A file that could not be run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct UnreadEntry {
    /// The file.
    pub(super) path: String,
    /// Everything that is wrong with it.
    pub(super) problem: String,
}

/// A rule that did not hold.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ViolationEntry {
    /// When it was seen, in microseconds.
    t: u64,
    /// Which: `O-2`.
    oracle: &'static str,
    /// The observation.
    text: String,
}

impl From<&Violation> for ViolationEntry {
    fn from(violation: &Violation) -> Self {
        Self { t: violation.at.0, oracle: violation.oracle, text: violation.text.clone() }
    }
}

/// The word of a verdict.
pub(super) fn verdict_word(is_fine: bool) -> &'static str {
    if is_fine { "ok" } else { "failed" }
}

/// The rules of which a verdict says nothing, in words; `None` where each was asked.
pub(super) fn unasked_text(rules: &[&str]) -> Option<String> {
    (!rules.is_empty()).then(|| format!("never asked, so nothing is claimed of them: {}", rules.join(", ")))
}

/// Writes a document to standard output.
pub(super) fn print_document(document: &impl Serialize) {
    // A document of texts and figures has a JSON form.
    print_line(&serde_json::to_string_pretty(document).unwrap_or_default());
}
