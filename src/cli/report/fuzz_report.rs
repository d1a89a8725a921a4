//! The document of `fuzz`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::{REPORT_VERSION, UnreadEntry, verdict_word};
use crate::prelude::*;

/// Everything that a `fuzz` has to say.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct FuzzReportDocument {
    reenact_fuzz_report: u32,
    /// The searches, in the order of the scenarios.
    searches: Vec<FuzzEntry>,
    /// The files that could not be searched.
    unread: Vec<UnreadEntry>,
    /// How many findings there are in all.
    findings: usize,
    /// The exit code.
    exit: u8,
}

/// The search of one scenario.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct FuzzEntry {
    scenario: String,
    path: String,
    /// `ok` or `failed`.
    verdict: &'static str,
    /// How many cases were made, with those that the campaign had.
    cases: u64,
    /// How many of them the campaign had.
    earlier: u64,
    /// How many different steps the engine was seen to make.
    behaviours: usize,
    /// How often each oracle was asked; one that is missing was not.
    asked: BTreeMap<String, u64>,
    findings: Vec<FuzzFindingEntry>,
    /// The parts that were not looked at.
    notes: Vec<String>,
}

/// A defect.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct FuzzFindingEntry {
    /// Which rule.
    oracle: String,
    /// The observation, with `#` for ids and figures.
    observation: String,
    /// How many cases broke it.
    count: u64,
    /// The number of the case with the fewest decisions.
    case: u64,
    /// Its decisions.
    decisions: Vec<String>,
    /// Its violations.
    violations: Vec<String>,
    /// The command that makes it again.
    command: String,
}

impl FuzzReportDocument {
    pub(in crate::cli) fn new(searches: Vec<FuzzEntry>, unread: Vec<UnreadEntry>, exit: u8) -> Self {
        let findings = searches.iter().map(|entry| entry.findings.len()).sum();
        Self { reenact_fuzz_report: REPORT_VERSION, searches, unread, findings, exit }
    }
}

impl FuzzEntry {
    pub(in crate::cli) fn new(
        (scenario, path): (&str, &Path),
        notes: Vec<String>,
        (cases, earlier, behaviours): (u64, u64, usize),
        asked: BTreeMap<String, u64>,
        findings: Vec<FuzzFindingEntry>,
    ) -> Self {
        let verdict = verdict_word(findings.is_empty() && cases > 0);
        Self { scenario: scenario.into(), path: path.display().to_string(), verdict, cases, earlier, behaviours, asked, findings, notes }
    }
}

impl FuzzFindingEntry {
    /// `defect` is a fingerprint as it is written.
    pub(in crate::cli) fn new(
        defect: &str,
        (count, case): (u64, u64),
        (decisions, violations): (&[String], &[String]),
        command: &str,
    ) -> Self {
        let (oracle, observation) = defect.split_once(": ").unwrap_or((defect, ""));
        Self {
            oracle: oracle.into(),
            observation: observation.into(),
            count,
            case,
            decisions: decisions.to_vec(),
            violations: violations.to_vec(),
            command: command.into(),
        }
    }
}
