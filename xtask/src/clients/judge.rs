//! What was expected of a client beside what was seen of it.

use std::fmt;

use super::cases::{Case, Client, Gap};
use super::run::Seen;

/// A client may be this much later than it meant to be: it shares its machine.
const LATE_US_MAX: u64 = 3_000_000;

/// And this much earlier: timers count in whole milliseconds.
const EARLY_US_MAX: u64 = 2_000;

/// One line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) case: &'static str,
    pub(super) client: &'static str,
    pub(super) expected: String,
    pub(super) seen: String,
    /// What the client says came of it.
    pub(super) outcome: String,
    pub(super) remark: Option<&'static str>,
    /// What is not as expected; empty when nothing is.
    pub(super) problems: Vec<String>,
    /// What to look at when something is wrong.
    pub(super) said: Vec<String>,
}

/// A client that was to do exactly this.
pub(super) fn row(case: &Case, client: &Client, seen: Seen) -> Row {
    let outcome = case.outcome(client.sdk);
    let mut row = row_of_requests(case.name, client.sdk.name(), case.gaps, outcome, seen);
    row.remark = case.remark;
    if row.outcome != outcome {
        row.problems.push(format!("the client says `{}`, and not `{outcome}`", row.outcome));
    }
    row
}

/// A client that was to ask this often, at these distances; what it says of it is somebody else's to judge.
pub(super) fn row_of_requests(case: &'static str, client: &'static str, gaps: &[Gap], outcome: &str, seen: Seen) -> Row {
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
    Row {
        case,
        client,
        expected: line(gaps.len() + 1, gaps.iter().map(Gap::to_string).collect(), outcome),
        seen: line(seen.requests_us.len(), gaps_us.iter().map(|us| seconds(*us)).collect(), &seen.outcome),
        outcome: seen.outcome,
        remark: None,
        problems,
        said: seen.said,
    }
}

fn line(requests: usize, gaps: Vec<String>, outcome: &str) -> String {
    let plural = if requests == 1 { "" } else { "s" };
    let apart = if gaps.is_empty() { String::new() } else { format!(", {} apart", gaps.join(" and ")) };
    format!("{requests} request{plural}{apart}; {outcome}")
}

fn seconds(us: u64) -> String {
    format!("{}.{:03}s", us / 1_000_000, us % 1_000_000 / 1_000)
}

impl Row {
    pub(super) fn is_as_expected(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Gap {
    fn holds(&self, us: u64) -> bool {
        self.at_least_ms * 1_000 <= us + EARLY_US_MAX && us <= self.at_most_ms * 1_000 + LATE_US_MAX
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (seconds(self.at_least_ms * 1_000), seconds(self.at_most_ms * 1_000));
        if least == most { f.write_str(&least) } else { write!(f, "{least}..{most}") }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_as_expected() { "ok" } else { "DIFFERENT" };
        writeln!(f, "{:<58} {:<10} {word}", self.case, self.client)?;
        write!(f, "    expected  {}\n    seen      {}", self.expected, self.seen)?;
        if let Some(remark) = self.remark {
            write!(f, "\n    remark    {remark}")?;
        }
        self.problems.iter().try_for_each(|problem| write!(f, "\n    PROBLEM   {problem}"))?;
        let said = if self.is_as_expected() { &[] } else { &*self.said };
        said.iter().try_for_each(|line| write!(f, "\n              {line}"))
    }
}
