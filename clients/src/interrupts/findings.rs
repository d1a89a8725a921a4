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
    /// At least one.
    pub(super) moments: Vec<String>,
    /// The row that was done again, of several the one that showed the problem most often.
    pub(super) example: Option<FindingExample>,
}

/// A row that was done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FindingExample {
    pub(super) moment: String,
    pub(super) rate: RepeatRate,
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

/// How many rows of a finding are done again at most: until one shows the problem each time.
pub(super) const EXAMPLES_MAX: usize = 3;

/// The moments to do again in this round, for each action: a further one of each finding that did not come again each time.
pub(super) fn examples(findings: &[AgentFinding], round: usize) -> BTreeMap<&str, Vec<&str>> {
    let mut examples: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (action, places) in findings.iter().flat_map(|finding| &finding.places) {
        let is_sure = places.example.as_ref().is_some_and(|example| example.rate.found > 0 && example.rate.found == example.rate.of);
        let Some(moment) = places.candidate(round).filter(|_| !is_sure) else { continue };
        let moments = examples.entry(action).or_default();
        if !moments.contains(&moment) {
            moments.push(moment);
        }
    }
    examples
}

/// Notes how often each finding came again in these rows.
pub(super) fn add_rates(findings: &mut [AgentFinding], again: &AgentReport) {
    for AgentFinding { text, places, .. } in findings {
        for (action, places) in places {
            let is_place = |row: &&AgentRow| row.action == *action && places.moments.contains(&row.moment);
            let examples = again.rows.iter().filter(is_place).map(|row| {
                let found = row.problems.iter().find(|problem| problem.text == *text).map_or(0, |problem| problem.runs);
                FindingExample { moment: row.moment.clone(), rate: RepeatRate { found, of: row.runs_in_time() } }
            });
            for example in examples.collect::<Vec<_>>() {
                if places.example.as_ref().is_none_or(|known| known.rate.found < example.rate.found) {
                    places.example = Some(example);
                }
            }
        }
    }
}

impl FindingPlaces {
    /// The row whose command is printed.
    pub(super) fn shown_moment(&self) -> &str {
        self.example.as_ref().map_or(&self.moments[0], |example| &example.moment)
    }

    /// The row to do again in a round: the first one, the last one, the middle one.
    fn candidate(&self, round: usize) -> Option<&str> {
        let last = self.moments.len() - 1;
        let order: [usize; EXAMPLES_MAX] = [0, last, last / 2];
        let place = order.get(round).filter(|_| round <= last)?;
        Some(&self.moments[*place])
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
        assert_eq!(examples(&found, 0), BTreeMap::from([("SIGINT:process", vec!["1:3"]), ("SIGINT:group", vec!["1:4", "done+50ms"])]));
        add_rates(&mut found, &report());
        let example = found[0].places["SIGINT:process"].example.clone();
        let rate = RepeatRate { found: 2, of: 2 };
        assert_eq!(example, Some(FindingExample { moment: "1:3".into(), rate }), "the run that came too late does not count");
    }

    #[test]
    fn k_9_a_finding_that_does_not_come_again_is_tried_at_another_moment() {
        let moments = ["1:3", "1:4", "1:5", "1:6"].map(String::from).to_vec();
        let mut places = FindingPlaces { moments, example: None };
        let rounds = |places: &FindingPlaces| {
            let finding = AgentFinding {
                kind: AgentMoment::Answer,
                text: "O-1: a | b".into(),
                places: BTreeMap::from([("a".into(), places.clone())]),
            };
            (0..=EXAMPLES_MAX)
                .map(|round| examples(core::slice::from_ref(&finding), round).remove("a").map(|m| m.join(" ")))
                .collect::<Vec<_>>()
        };
        assert_eq!(rounds(&places), [Some("1:3".into()), Some("1:6".into()), Some("1:4".into()), None]);
        places.example = Some(FindingExample { moment: "1:6".into(), rate: RepeatRate { found: 3, of: 3 } });
        assert_eq!((rounds(&places), places.shown_moment()), (vec![None; 4], "1:6"));
        let two = FindingPlaces { moments: vec!["1:3".into(), "1:4".into()], example: None };
        assert_eq!(rounds(&two), [Some("1:3".into()), Some("1:4".into()), None, None]);
    }

    #[test]
    fn a_report_of_another_version_is_not_read() {
        let text = r#"{ "version": 2, "baseline": { "failures": [] }, "not_asked": [], "rows": [] }"#;
        assert!(AgentReport::parse(text).unwrap_err().contains("version 2"));
    }
}
