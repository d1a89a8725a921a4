//! `docs/agent-tables.md`: for each agent what its last sweep found. The part of an agent that is not run stays as it is.

use super::findings::{AgentFinding, FindingPlaces, RepeatRate};
use super::report::{AgentMoment, AgentReport, AgentVerdict};

/// The page, below the root of the checkout.
pub(super) const PATH: &str = "docs/agent-tables.md";

/// The part of a section that says that there are no rows.
const NEVER_RUN: &str = "Not run so far.";

/// One agent's sweep.
#[derive(Debug)]
pub(super) struct AgentSweep<'a> {
    pub(super) agent: &'a str,
    pub(super) version: &'a str,
    pub(super) date: &'a str,
    pub(super) report: &'a AgentReport,
    pub(super) findings: &'a [AgentFinding],
}

/// The outcome for an agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AgentOutcome {
    /// It was swept; its section.
    Swept(String),
    /// Other agents were named on the command line.
    NotNamed,
    NotInstalled,
    /// It could not be swept, for this reason.
    Failed(String),
}

/// The page with the sections of the agents that were swept, and the others as they were. `agents` are all agents in their order.
pub(super) fn page(old: &str, date: &str, agents: &[(&str, AgentOutcome)]) -> String {
    let is_missing = |outcome: &AgentOutcome| matches!(outcome, AgentOutcome::NotInstalled | AgentOutcome::Failed(_));
    let missing = agents.iter().filter(|(_, outcome)| is_missing(outcome)).map(|(agent, outcome)| format!("{agent} ({outcome})"));
    let missing: Vec<String> = missing.collect();
    let missing = if missing.is_empty() { String::from("none") } else { missing.join(", ") };
    let sections = agents.iter().map(|(agent, outcome)| match outcome {
        AgentOutcome::Swept(section) => section.clone(),
        _ => old_section(old, agent).unwrap_or_else(|| format!("## {agent}\n\n{NEVER_RUN}\n")),
    });
    format!(
        "# Agents and interrupts\n\n\
         `cargo xtask clients --agents` writes this page. It sweeps each shipped agent that is installed: at every moment of its scenario in `scenarios/clients`, SIGINT and SIGTERM, to\n\
         the process and to its group (as Ctrl-C does), each in a run of its own. Then the session is resumed. [Profiles](profiles.md#what-is-judged) says what is judged, and\n\
         [clients](clients.md#interrupt-a-client-at-every-boundary) which moments there are.\n\n\
         A problem stands in the words of its rows, once for each kind of moment. The last column has, for each action, what to append to\n\
         `reenact drive scenarios/clients/NAME.toml` to see it, and the rows that had it. Then this command was run with `--repeat 3`: how often the problem came again. Where\n\
         it did not come each time, two further rows were tried, and the best one stands here.\n\n\
         Not run on {date}, and with the rows of an earlier run: {missing}.\n\n{}",
        sections.collect::<Vec<_>>().join("\n")
    )
}

/// `swept`, or the reason why not.
impl core::fmt::Display for AgentOutcome {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Swept(_) => f.write_str("swept"),
            Self::NotNamed => f.write_str("not asked for"),
            Self::NotInstalled => f.write_str("not installed"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// The section of an agent on a page.
fn old_section(page: &str, agent: &str) -> Option<String> {
    let sections = page.split("\n## ").skip(1);
    let is_of_agent = |section: &&str| section.lines().next().is_some_and(|title| title.split(' ').next() == Some(agent));
    sections.into_iter().find(is_of_agent).map(|section| format!("## {}\n", section.trim_end()))
}

impl AgentSweep<'_> {
    pub(super) fn section(&self) -> String {
        let Self { agent, version, date, report, .. } = self;
        let rows = report.rows.len();
        let [failed, flaky, late, shell] =
            [AgentVerdict::Failed, AgentVerdict::Flaky, AgentVerdict::TooLate, AgentVerdict::NotAsked].map(|verdict| report.count(verdict));
        let mut counts = vec![format!("{rows} rows"), format!("{failed} failed"), format!("{late} too late")];
        counts.extend(
            [(flaky, "flaky"), (shell, "not asked")].into_iter().filter(|(count, _)| *count > 0).map(|(n, word)| format!("{n} {word}")),
        );
        let not_asked = if report.not_asked.is_empty() { String::from("nothing") } else { report.not_asked.join(", ") };
        let table: String = AgentMoment::ALL.into_iter().map(|kind| self.rows_of(kind)).collect();
        format!(
            "## {agent} {version}\n\n{date}: {}. Not asked: {not_asked}.\n\n\
             | moment | rows | found | where, and how often again |\n| --- | --- | --- | --- |\n{table}",
            counts.join(", ")
        )
    }

    /// The lines of one kind of moment: one for each finding, or one that says that nothing was found.
    fn rows_of(&self, kind: AgentMoment) -> String {
        let rows: Vec<_> = self.report.rows.iter().filter(|row| row.kind == kind).collect();
        let late = rows.iter().filter(|row| row.verdict == AgentVerdict::TooLate).count();
        let count = if late > 0 { format!("{}, {late} too late", rows.len()) } else { rows.len().to_string() };
        let found: Vec<&AgentFinding> = self.findings.iter().filter(|finding| finding.kind == kind).collect();
        if found.is_empty() {
            let nothing = if late == rows.len() { "not asked" } else { "nothing" };
            return format!("| {} | {count} | {nothing} | |\n", kind.title());
        }
        let line = |finding: &&AgentFinding| {
            let asked = |action: &str| rows.iter().filter(|row| row.action == action && row.verdict != AgentVerdict::TooLate).count();
            // Actions with the same outcome share a line.
            let mut lines: Vec<(Vec<&str>, &FindingPlaces, usize)> = Vec::new();
            for (action, places) in &finding.places {
                let asked = asked(action);
                match lines.iter_mut().find(|(_, known, of)| (*known, *of) == (places, asked)) {
                    Some((actions, ..)) => actions.push(action),
                    None => lines.push((vec![action], places, asked)),
                }
            }
            let places: Vec<String> = lines.iter().map(|(actions, places, asked)| shown_places(actions, places, *asked)).collect();
            let places = places.join("<br>");
            format!("| {} | {count} | {} | {places} |\n", kind.title(), escaped(&finding.text))
        };
        found.iter().map(line).collect()
    }
}

/// `` `--sweep SIGINT:process --only 1:head`: 2 of 18 rows (1:head, 1:5), again 3 of 3 ``. Several actions have the same numbers, each for itself.
fn shown_places(actions: &[&str], places: &FindingPlaces, asked: usize) -> String {
    const SHOWN_MAX: usize = 4;
    let moments = &places.moments;
    let shown = match &moments[..] {
        [first, .., last] if moments.len() > SHOWN_MAX => format!("{first} … {last}"),
        _ => moments.join(", "),
    };
    let again = places.example.as_ref().map(|example| example.rate);
    let again = again.map_or_else(|| String::from("not repeated"), |RepeatRate { found, of }| format!("again {found} of {of}"));
    // A signal without a target goes to both.
    let words = ["SIGINT", "SIGTERM"]
        .into_iter()
        .fold(actions.join(","), |words, signal| words.replace(&format!("{signal}:group,{signal}:process"), signal));
    let each = if actions.len() > 1 { ", each" } else { "" };
    format!("`--sweep {words} --only {}`: {} of {asked} rows ({shown}), {again}{each}", places.shown_moment(), moments.len())
}

/// For a cell of a table.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::super::findings::{FindingExample, add_rates, findings, tests::report};
    use super::*;

    #[test]
    fn k_9_an_agent_that_is_not_run_keeps_its_rows() {
        let report = report();
        let mut found = findings(&report);
        add_rates(&mut found, &report);
        let sweep = AgentSweep { agent: "a", version: "1.2", date: "2026-01-02", report: &report, findings: &found };
        let section = sweep.section();
        let line = "| inside an answer | 3 | O-1: a \\| b | `--sweep SIGINT:group --only 1:4`: 1 of 1 rows (1:4), again 1 of 1<br>\
                    `--sweep SIGINT:process --only 1:3`: 2 of 2 rows (1:3, 1:4), again 2 of 2 |\n";
        assert!(section.contains(line) && section.contains("| while it starts | 0 |"), "{section}");
        assert!(section.starts_with("## a 1.2\n\n2026-01-02: 5 rows, 4 failed, 1 too late. Not asked: result lines.\n"), "{section}");
        let example = FindingExample { moment: "1:5".into(), rate: RepeatRate { found: 1, of: 3 } };
        let places = FindingPlaces { moments: vec!["1:5".into()], example: Some(example) };
        let both = shown_places(&["SIGINT:group", "SIGINT:process", "SIGTERM:group"], &places, 2);
        assert_eq!(both, "`--sweep SIGINT,SIGTERM:group --only 1:5`: 1 of 2 rows (1:5), again 1 of 3, each");
        let old = page("", "2026-01-02", &[("a", AgentOutcome::Swept(section.clone())), ("b", AgentOutcome::NotInstalled)]);
        assert!(old.contains("Not run on 2026-01-02, and with the rows of an earlier run: b (not installed)."), "{old}");
        assert!(old.ends_with("## b\n\nNot run so far.\n"), "{old}");
        let new = page(&old, "2026-02-03", &[("a", AgentOutcome::NotNamed), ("b", AgentOutcome::Failed("it hangs".into()))]);
        assert!(new.contains(&section) && new.contains("2026-02-03, and with the rows of an earlier run: b (it hangs).\n"), "{new}");
        assert_eq!(old.split_once("## a").map(|(_, sections)| sections), new.split_once("## a").map(|(_, sections)| sections));
    }
}
