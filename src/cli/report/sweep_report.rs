//! The document of `sweep`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::super::coverage::CoverageEntry;
use super::{REPORT_VERSION, UnreadEntry, ViolationEntry};
use crate::explore::finding_group::SweepFindingGroup;
use crate::explore::interrupt::{BoundaryPlace, InjectionKind, RunBoundary};
use crate::explore::sweep::SweepFinding;
use crate::prelude::*;

/// Everything that a `sweep` has to say.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct SweepReportDocument {
    reenact_sweep_report: u32,
    /// The sweeps, in the order of the scenarios.
    pub(in crate::cli) sweeps: Vec<SweepEntry>,
    /// The findings, each defect once.
    pub(in crate::cli) groups: Vec<GroupEntry>,
    /// The files that could not be swept.
    pub(in crate::cli) unread: Vec<UnreadEntry>,
    /// How many runs were made.
    pub(in crate::cli) runs: usize,
    /// How many findings there are in all.
    pub(in crate::cli) findings: usize,
    /// The coverage of the runs, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) coverage: Option<CoverageEntry>,
    /// The exit code.
    pub(in crate::cli) exit: u8,
}

impl SweepReportDocument {
    pub(in crate::cli) fn new(
        sweeps: Vec<SweepEntry>,
        groups: Vec<GroupEntry>,
        unread: Vec<UnreadEntry>,
        coverage: Option<CoverageEntry>,
        exit: u8,
    ) -> Self {
        let (runs, findings) = sweeps.iter().fold((0, 0), |(runs, findings), sweep| (runs + sweep.runs, findings + sweep.findings));
        Self { reenact_sweep_report: REPORT_VERSION, sweeps, groups, unread, runs, findings, coverage, exit }
    }
}

/// The sweep of one scenario.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct SweepEntry {
    /// The scenario's name.
    pub(in crate::cli) scenario: String,
    /// Its file, as it is named on the command line.
    pub(in crate::cli) path: String,
    /// The root of all draws.
    pub(in crate::cli) seed: u64,
    /// `ok` or `failed`.
    pub(in crate::cli) verdict: &'static str,
    /// How many places there are before and after events.
    pub(in crate::cli) boundaries: usize,
    /// How many runs were made.
    pub(in crate::cli) runs: usize,
    /// How many findings there are.
    pub(in crate::cli) findings: usize,
    /// How many interrupts were not made.
    pub(in crate::cli) left_out: usize,
    /// In how many runs a rule was broken of which the scenario says so.
    pub(in crate::cli) shown: usize,
    /// The statements of the scenario that the run without an interrupt does not meet.
    pub(in crate::cli) unmet: Vec<String>,
    /// Remarks on the sweep, a sentence each.
    pub(in crate::cli) notes: Vec<String>,
    /// The findings one by one, with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) all: Option<Vec<FindingEntry>>,
}

/// The findings with one fingerprint.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct GroupEntry {
    /// Rule and observation, without ids and figures.
    fingerprint: String,
    /// The rule.
    oracle: &'static str,
    /// How many findings these are.
    findings: usize,
    /// The scenarios that have some.
    scenarios: Vec<String>,
    /// How many are runs without an interrupt.
    uninterrupted: usize,
    /// How many are runs with each kind of interrupt.
    interrupts: BTreeMap<&'static str, usize>,
    /// How many were interrupted before or after each kind of input.
    boundaries: BTreeMap<&'static str, usize>,
    /// The fingerprints of what else is broken in these runs, with the number of runs.
    others: BTreeMap<String, usize>,
    /// The smallest run.
    smallest: FindingEntry,
}

/// A run, and what did not hold in it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct FindingEntry {
    /// The scenario's name.
    scenario: String,
    /// The interrupt, if there was one.
    interrupt: Option<SweepInterruptEntry>,
    /// The broken rules, in the order in which they were seen.
    violations: Vec<ViolationEntry>,
    /// The command that makes the run again.
    command: String,
}

/// Where and how a run was interrupted.
#[derive(Clone, Debug, Serialize)]
struct SweepInterruptEntry {
    /// `cancel` or `interrupt`.
    kind: &'static str,
    /// Which input, from 1.
    event: u64,
    /// `before` or `after` it.
    side: &'static str,
    /// When, in microseconds.
    t: u64,
    /// The kind of the input.
    input: &'static str,
    /// The input in a few words.
    text: String,
}

impl FindingEntry {
    pub(in crate::cli) fn new(scenario: &str, finding: &SweepFinding, command: String) -> Self {
        Self {
            scenario: scenario.into(),
            interrupt: finding.interrupt.as_ref().map(interrupt_entry),
            violations: finding.violations.iter().map(ViolationEntry::from).collect(),
            command,
        }
    }
}

fn interrupt_entry((place, kind): &(BoundaryPlace, InjectionKind)) -> SweepInterruptEntry {
    let (kind, RunBoundary { event, side }) = (kind.as_str(), place.boundary);
    SweepInterruptEntry { kind, event, side: side.as_str(), t: place.at.0, input: place.kind.as_str(), text: place.event.clone() }
}

/// The entries of groups. `name` is that of a sweep by its position, `command` makes a finding of it again.
pub(in crate::cli) fn group_entries(
    groups: &[SweepFindingGroup],
    name: impl Fn(usize) -> String,
    command: impl Fn(usize, &SweepFinding) -> String,
) -> Vec<GroupEntry> {
    let entry = |group: &SweepFindingGroup| {
        let (sweep, finding) = (group.smallest.sweep, &group.smallest.finding);
        GroupEntry {
            fingerprint: group.fingerprint.to_string(),
            oracle: group.fingerprint.oracle,
            findings: group.findings,
            scenarios: group.sweeps.iter().map(|sweep| name(*sweep)).collect::<BTreeSet<_>>().into_iter().collect(),
            uninterrupted: group.uninterrupted,
            interrupts: group.interrupts.iter().map(|(kind, count)| (kind.as_str(), *count)).collect(),
            boundaries: group.boundaries.iter().map(|(kind, count)| (kind.as_str(), *count)).collect(),
            others: group.others.iter().map(|(other, count)| (other.to_string(), *count)).collect(),
            smallest: FindingEntry::new(&name(sweep), finding, command(sweep, finding)),
        }
    };
    groups.iter().map(entry).collect()
}
