//! The findings of a sweep: each problem once for a kind of moment, with the rows that have it and how often a row shows it again.

use std::collections::BTreeMap;

use super::report::{AgentMoment, AgentReport, AgentRow};

/// A problem at one kind of moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentFinding {
    pub(super) kind: AgentMoment,
    /// In the words of the rows.
    pub(super) text: String,
    /// Where it was found, for each action.
    pub(super) places: BTreeMap<String, FindingPlaces>,
}

/// The rows of one action in which a problem was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FindingPlaces {
    /// At least one. The first is done again.
    pub(super) moments: Vec<String>,
    pub(super) rate: Option<RepeatRate>,
}

/// How often a problem came again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RepeatRate {
    pub(super) found: usize,
    /// Of how many runs in which the action was in time.
    pub(super) of: usize,
}

/// The findings of a sweep, in the order of a run.
pub(super) fn findings(report: &AgentReport) -> Vec<AgentFinding> {
    let mut found: Vec<AgentFinding> = Vec::new();
    for row in &report.rows {
        for problem in &row.problems {
            let at = found.iter().position(|known| (known.kind, &known.text) == (row.kind, &problem.text)).unwrap_or_else(|| {
                found.push(AgentFinding { kind: row.kind, text: problem.text.clone(), places: BTreeMap::new() });
                found.len() - 1
            });
            found[at].places.entry(row.action.clone()).or_default().moments.push(row.moment.clone());
        }
    }
    found.sort_by_key(|finding| finding.kind);
    found
}

/// The moments to do again, for each action.
pub(super) fn examples(findings: &[AgentFinding]) -> BTreeMap<&str, Vec<&str>> {
    let mut examples: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (action, places) in findings.iter().flat_map(|finding| &finding.places) {
        let moments = examples.entry(action).or_default();
        if !moments.contains(&&*places.moments[0]) {
            moments.push(&places.moments[0]);
        }
    }
    examples
}

/// Notes how often each finding came again in these rows.
pub(super) fn add_rates(findings: &mut [AgentFinding], again: &AgentReport) {
    for AgentFinding { text, places, .. } in findings {
        for (action, places) in places {
            let is_example = |row: &&AgentRow| row.action == *action && row.moment == places.moments[0];
            let Some(row) = again.rows.iter().find(is_example) else { continue };
            let found = row.problems.iter().find(|problem| problem.text == *text).map_or(0, |problem| problem.runs);
            places.rate = Some(RepeatRate { found, of: row.runs_in_time() });
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two rows with the same problem, one with another, one that came too late.
    pub(in super::super) fn report() -> AgentReport {
        let row = |moment: &str, kind: &str, action: &str, problems: &[(&str, usize)], runs: &[bool]| {
            let verdict = if problems.is_empty() { "too_late" } else { "failed" };
            let problems: Vec<_> = problems.iter().map(|(text, runs)| serde_json::json!({ "text": text, "runs": runs })).collect();
            let runs: Vec<_> = runs.iter().map(|late| serde_json::json!({ "is_too_late": late })).collect();
            serde_json::json!({ "moment": moment, "kind": kind, "action": action, "verdict": verdict, "problems": problems, "runs": runs })
        };
        let rows = [
            row("done+50ms", "done", "SIGINT:group", &[("K-9: gone", 1)], &[false]),
            row("1:3", "answer", "SIGINT:process", &[("O-1: a | b", 2)], &[false, false, true]),
            row("1:4", "answer", "SIGINT:process", &[("O-1: a | b", 1)], &[false]),
            row("1:4", "answer", "SIGINT:group", &[("O-1: a | b", 1)], &[false]),
            row("done+50ms", "done", "SIGINT:process", &[], &[true]),
        ];
        let report = serde_json::json!({ "version": 1, "baseline": { "failures": [] }, "not_asked": ["result lines"], "rows": rows });
        AgentReport::parse(&report.to_string()).unwrap()
    }

    #[test]
    fn k_9_a_problem_is_one_finding_for_a_kind_of_moment() {
        let mut found = findings(&report());
        let shown: Vec<_> = found.iter().map(|finding| (finding.kind, &*finding.text, finding.places.len())).collect();
        assert_eq!(shown, [(AgentMoment::Answer, "O-1: a | b", 2), (AgentMoment::Done, "K-9: gone", 1)]);
        assert_eq!(found[0].places["SIGINT:process"].moments, ["1:3", "1:4"]);
        assert_eq!(examples(&found), BTreeMap::from([("SIGINT:process", vec!["1:3"]), ("SIGINT:group", vec!["1:4", "done+50ms"])]));
        add_rates(&mut found, &report());
        let rate = found[0].places["SIGINT:process"].rate;
        assert_eq!(rate, Some(RepeatRate { found: 2, of: 2 }), "the run that came too late does not count");
    }

    #[test]
    fn a_report_of_another_version_is_not_read() {
        let text = r#"{ "version": 2, "baseline": { "failures": [] }, "not_asked": [], "rows": [] }"#;
        assert!(AgentReport::parse(text).unwrap_err().contains("version 2"));
    }
}
