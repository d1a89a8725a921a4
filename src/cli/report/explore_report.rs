//! The document of `explore`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::{REPORT_VERSION, ShrinkEntry, UnreadEntry, verdict_word};
use crate::explore::explorer::{ExploreOutcome, ExploreReport, FinishedExploration};

/// Everything that an `explore` has to say.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ExploreReportDocument {
    reenact_explore_report: u32,
    /// The explorations, in the order of the scenarios.
    explorations: Vec<ExploreEntry>,
    /// The files that could not be explored.
    unread: Vec<UnreadEntry>,
    /// How many findings there are in all.
    findings: usize,
    /// The exit code.
    exit: u8,
}

impl ExploreReportDocument {
    pub(in crate::cli) fn new(explorations: Vec<ExploreEntry>, unread: Vec<UnreadEntry>, exit: u8) -> Self {
        let findings = explorations.iter().map(|entry| entry.findings.len()).sum();
        Self { reenact_explore_report: REPORT_VERSION, explorations, unread, findings, exit }
    }
}

/// The exploration of one scenario.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ExploreEntry {
    /// The scenario's name.
    pub(in crate::cli) scenario: String,
    /// Its file, as it is named on the command line.
    pub(in crate::cli) path: String,
    /// The root of all draws.
    pub(in crate::cli) seed: u64,
    /// `ok` or `failed`.
    pub(in crate::cli) verdict: &'static str,
    /// The budgets, in the order in which they were explored.
    pub(in crate::cli) budgets: Vec<ExploreBudgetEntry>,
    /// How often each oracle was asked in the largest budget that was finished.
    pub(in crate::cli) asked: BTreeMap<&'static str, u64>,
    /// Whether the certificate was written that was asked for, and nothing has changed against another one.
    #[serde(skip)]
    pub(in crate::cli) is_certified: bool,
    /// The findings, each defect once.
    pub(in crate::cli) findings: Vec<ExploreFindingEntry>,
    /// Notes on the parts that were not looked at.
    pub(in crate::cli) notes: Vec<String>,
}

/// One budget.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ExploreBudgetEntry {
    /// Deviations, faults and inputs.
    pub(in crate::cli) budget: String,
    /// `finished` or `stopped`.
    pub(in crate::cli) outcome: &'static str,
    /// How many states there are.
    pub(in crate::cli) states: usize,
    /// How many decisions were made.
    pub(in crate::cli) transitions: u64,
    /// How many of them led to a state that was known.
    pub(in crate::cli) merged: u64,
    /// In how many pairs of states with one key both runs were made to their ends and compared.
    pub(in crate::cli) audited: usize,
    /// At how many states another arrival could come first.
    pub(in crate::cli) swaps: u64,
    /// How many faults were tried.
    pub(in crate::cli) faults: u64,
    /// How many inputs were tried.
    pub(in crate::cli) inputs: u64,
}

/// A defect.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ExploreFindingEntry {
    /// Which rule.
    pub(in crate::cli) oracle: &'static str,
    /// The observation, with `#` for ids and figures.
    pub(in crate::cli) observation: String,
    /// The smallest budget that shows it.
    pub(in crate::cli) budget: String,
    /// The smaller budgets of which all was looked at: no run within them shows it.
    pub(in crate::cli) without: Vec<String>,
    /// How many decisions led to it.
    pub(in crate::cli) count: usize,
    /// The decisions of the smallest run.
    pub(in crate::cli) decisions: Vec<String>,
    /// The broken rules of this run.
    pub(in crate::cli) violations: Vec<String>,
    /// The command that makes this run again.
    pub(in crate::cli) command: String,
    /// How far it is from the run as it is, in microseconds, where it is a matter of time and was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) distance: Option<u64>,
    /// For each decision where it fails, where that was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::cli) reasons: Vec<String>,
    /// The small run, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) shrunk: Option<ShrinkEntry>,
}

impl ExploreEntry {
    pub(in crate::cli) fn new(scenario: &str, path: &Path, seed: u64) -> Self {
        Self {
            scenario: scenario.into(),
            path: path.display().to_string(),
            seed,
            verdict: verdict_word(false),
            budgets: Vec::new(),
            asked: BTreeMap::new(),
            is_certified: true,
            findings: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl ExploreBudgetEntry {
    pub(in crate::cli) fn new(explored: &FinishedExploration) -> Self {
        let ExploreReport { budget, outcome, states, transitions, merged, swaps, faults, inputs, .. } = &explored.report;
        Self {
            budget: budget.to_string(),
            outcome: if *outcome == ExploreOutcome::Finished { "finished" } else { "stopped" },
            states: *states,
            transitions: *transitions,
            merged: *merged,
            audited: explored.equal_states.len(),
            swaps: *swaps,
            faults: *faults,
            inputs: *inputs,
        }
    }

    /// Whether all of it was looked at.
    pub(in crate::cli) fn is_finished(&self) -> bool {
        self.outcome == "finished"
    }
}
