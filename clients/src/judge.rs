//! The expected behaviour of a client beside the observed one.

use std::fmt;

use super::case_world::RequestGap;
use super::install::InstallProblem;
use super::run::{CaseRun, ClientObservation};

/// A client may be this much later than it meant to be: it shares its machine.
const LATE_US_MAX: u64 = 3_000_000;

/// And this much earlier: timers count in whole milliseconds.
const EARLY_US_MAX: u64 = 2_000;

/// One line of the table.
#[derive(Debug)]
pub(super) struct JudgeRow {
    pub(super) case: &'static str,
    pub(super) client: &'static str,
    pub(super) expected: String,
    pub(super) seen: String,
    /// The outcome that the client reports.
    pub(super) outcome: String,
    pub(super) remark: Option<&'static str>,
    /// The differences; empty when all is as expected.
    pub(super) problems: Vec<String>,
    /// Output to look at when something is wrong.
    pub(super) said: Vec<String>,
}

/// A client that was to do exactly this.
pub(super) fn row(run: &CaseRun, seen: ClientObservation) -> JudgeRow {
    let mut row = row_of_requests(run.case, run.client, run.gaps, run.outcome, seen);
    row.remark = run.remark;
    if row.outcome != run.outcome {
        row.problems.push(format!("the client reports `{}`, and not `{}`", row.outcome, run.outcome));
    }
    row
}

/// A client that was to ask this often, at these distances; its report is judged elsewhere.
pub(super) fn row_of_requests(
    case: &'static str,
    client: &'static str,
    gaps: &[RequestGap],
    outcome: &str,
    seen: ClientObservation,
) -> JudgeRow {
    let gaps_us: Vec<u64> = seen.requests_us.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let mut problems = seen.problems;
    if seen.requests_us.len() != gaps.len() + 1 {
        problems.push(format!("{} requests, and not {}", seen.requests_us.len(), gaps.len() + 1));
    }
    for (gap, seen_us) in gaps.iter().zip(&gaps_us) {
        if !gap.holds(*seen_us) {
            problems.push(format!("{} between two requests, and not {gap}", seconds(*seen_us)));
        }
    }
    JudgeRow {
        case,
        client,
        expected: line(gaps.len() + 1, gaps.iter().map(RequestGap::to_string).collect(), outcome),
        seen: line(seen.requests_us.len(), gaps_us.iter().map(|us| seconds(*us)).collect(), &seen.outcome),
        outcome: seen.outcome,
        remark: None,
        problems,
        said: seen.said,
    }
}

/// A client that could not be driven: what the others did is told all the same.
pub(super) fn row_of_a_problem(case: &'static str, client: &'static str, problem: InstallProblem) -> JudgeRow {
    let (InstallProblem::Lacking(what) | InstallProblem::Wrong(what)) = problem;
    JudgeRow {
        case,
        client,
        expected: "a run".to_string(),
        seen: "none".to_string(),
        outcome: String::new(),
        remark: None,
        problems: vec![what],
        said: Vec::new(),
    }
}

/// `3 requests, 0.375s..0.500s and 0.750s..1.000s apart; OverloadedError`.
pub(super) fn cell(gaps: &[RequestGap], outcome: &str) -> String {
    let waits = gaps.iter().any(|gap| gap.at_most_ms > 0);
    let shown = gaps.iter().filter(|_| waits).map(RequestGap::to_string).collect();
    line(gaps.len() + 1, shown, &outcome.replace('|', "\\|"))
}

fn line(requests: usize, gaps: Vec<String>, outcome: &str) -> String {
    let plural = if requests == 1 { "" } else { "s" };
    let apart = if gaps.is_empty() { String::new() } else { format!(", {} apart", gaps.join(" and ")) };
    format!("{requests} request{plural}{apart}; {outcome}")
}

fn seconds(us: u64) -> String {
    format!("{}.{:03}s", us / 1_000_000, us % 1_000_000 / 1_000)
}

impl JudgeRow {
    pub(super) fn is_as_expected(&self) -> bool {
        self.problems.is_empty()
    }
}

impl RequestGap {
    fn holds(&self, us: u64) -> bool {
        self.at_least_ms * 1_000 <= us + EARLY_US_MAX && us <= self.at_most_ms * 1_000 + LATE_US_MAX
    }
}

impl fmt::Display for RequestGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (seconds(self.at_least_ms * 1_000), seconds(self.at_most_ms * 1_000));
        if least == most { f.write_str(&least) } else { write!(f, "{least}..{most}") }
    }
}

impl fmt::Display for JudgeRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_as_expected() { "ok" } else { "DIFFERENT" };
        writeln!(f, "{:<58} {:<12} {word}", self.case, self.client)?;
        write!(f, "    expected  {}\n    seen      {}", self.expected, self.seen)?;
        if let Some(remark) = self.remark {
            write!(f, "\n    remark    {remark}")?;
        }
        self.problems.iter().try_for_each(|problem| write!(f, "\n    PROBLEM   {problem}"))?;
        let said = if self.is_as_expected() { &[] } else { &*self.said };
        said.iter().try_for_each(|line| write!(f, "\n              {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::CASES;
    use super::*;

    /// The longest that a client waits of itself before its first retry.
    const FIRST_RETRY_MS_MAX: u64 = 500;

    #[test]
    fn k_7_what_a_case_tells_apart_is_further_apart_than_a_client_may_be_late() {
        let only = |part: &str| CASES.iter().find(|case| case.name.contains(part)).unwrap();
        let beside = only("retry-after-ms");
        let (_, ignored_s) = beside.name.split_once("beside retry-after ").unwrap();
        assert!(!beside.gaps[0].holds(ignored_s.parse::<u64>().unwrap() * 1_000_000), "a client that ignores the finer header passes");
        for told in [beside, only("429, retry-after 2")] {
            assert!(!told.gaps[0].holds(FIRST_RETRY_MS_MAX * 1_000), "a client that ignores `{}` passes", told.name);
        }
        for growing in CASES.iter().filter(|case| case.name.starts_with("529")) {
            assert!(!growing.gaps[0].holds(0), "a client that does not wait passes `{}`", growing.name);
            assert!(!growing.gaps[1].holds(FIRST_RETRY_MS_MAX * 1_000), "a client whose waits do not grow passes `{}`", growing.name);
        }
    }

    #[test]
    fn k_7_a_client_that_could_not_be_driven_is_a_row_that_is_not_as_expected() {
        let row = row_of_a_problem("529 twice", "Python", InstallProblem::Wrong("no such program".to_string()));
        assert!(!row.is_as_expected());
        let shown = row.to_string();
        assert!(shown.starts_with("529 twice ") && shown.contains("PROBLEM   no such program"), "{shown}");
    }
}
