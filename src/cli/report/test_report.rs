//! The document of `test`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{REPORT_VERSION, UnreadEntry, verdict_word};

/// Everything that a `test` has to say.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct TestReportDocument {
    reenact_test_report: u32,
    /// The tests, in the order of the scenarios.
    tests: Vec<TestEntry>,
    /// Snapshots without a scenario.
    orphans: Vec<String>,
    /// The files that could not be run.
    unread: Vec<UnreadEntry>,
    /// How many scenarios were not run.
    unrun: usize,
    /// How many tests failed.
    failed: usize,
    /// The exit code.
    exit: u8,
}

/// One scenario.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct TestEntry {
    scenario: String,
    path: String,
    /// `ok` or `failed`.
    verdict: &'static str,
    /// All that failed, a paragraph each.
    failures: Vec<String>,
    /// The snapshot that was written, where snapshots are.
    #[serde(skip_serializing_if = "Option::is_none")]
    wrote: Option<String>,
}

impl TestReportDocument {
    pub(in crate::cli) fn new(tests: Vec<TestEntry>, orphans: &[PathBuf], unread: Vec<UnreadEntry>, unrun: usize, exit: u8) -> Self {
        let failed = tests.iter().filter(|test| !test.failures.is_empty()).count();
        let orphans = orphans.iter().map(|path| path.display().to_string()).collect();
        Self { reenact_test_report: REPORT_VERSION, tests, orphans, unread, unrun, failed, exit }
    }
}

impl TestEntry {
    pub(in crate::cli) fn new((scenario, path): (&str, &Path), failures: Vec<String>, wrote: Option<&Path>) -> Self {
        let verdict = verdict_word(failures.is_empty());
        let wrote = wrote.map(|path| path.display().to_string());
        Self { scenario: scenario.into(), path: path.display().to_string(), verdict, failures, wrote }
    }
}
