//! The report of tests for CI, in the form of JUnit (V-5).

use std::path::Path;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{TestSummary, TestedScenario};
use crate::files::atomic;

/// Writes the report.
pub(super) fn write(path: &Path, summary: &TestSummary<'_>) -> Result<(), String> {
    let text = report(summary).to_string().map_err(|error| format!("--junit {}: {error}", path.display()))?;
    atomic::write(path, text.as_bytes()).map_err(|error| format!("--junit {}: {error}", path.display()))
}

fn report(summary: &TestSummary<'_>) -> Report {
    let mut suite = TestSuite::new("scenarios");
    suite.add_test_cases(summary.tested.iter().map(case));
    let failure = |name: String, message: &str| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(message);
        TestCase::new(name, status)
    };
    let orphans = summary.orphans.iter().map(|path| failure(path.display().to_string(), "no scenario has this snapshot"));
    suite.add_test_cases(orphans);
    suite.add_test_cases(summary.unread.iter().map(|unread| failure(unread.path.clone(), &unread.problem)));
    let mut report = Report::new("reenact test");
    report.add_test_suite(suite);
    report
}

fn case(test: &TestedScenario<'_>) -> TestCase {
    let problems = test.verdict.plain_problems();
    let status = match problems.first() {
        None => TestCaseStatus::success(),
        Some(first) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(first.lines().next().unwrap_or_default()).set_description(problems.join("\n"));
            status
        }
    };
    let mut case = TestCase::new(test.scenario.name.clone(), status);
    case.set_classname("scenarios").set_time(test.took);
    case
}
