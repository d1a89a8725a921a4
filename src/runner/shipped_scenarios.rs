//! Every scenario of the repository: it runs, what it expects holds, and its transcript is the one that was approved.
//!
//! A new or changed transcript is left beside its place as `*.snap.new`: look at it, then `cargo run -- run scenarios --accept`
//! or `cargo insta review`. Pending is failure. The test stands here and not in `tests/`, so that a developer who changes the engine on purpose to
//! see what goes red (`cargo xtask mutants`) compiles the library once.

use std::num::NonZeroUsize;
use std::path::Path;

use super::run_all;
use super::snapshot::{SnapshotStanding, check};
use super::statements::judge;
use crate::engine::agent_loop::AgentLoop;
use crate::engine::texts::TEXTS;
use crate::files::scenario::{LoadedScenario, find, load_all};
use crate::sim::report::RunReport;
use crate::sim::statements::RunView;
use crate::transcript::json;

/// The scenarios, each combination of a matrix by itself.
pub(super) fn shipped() -> Vec<LoadedScenario> {
    let (paths, errors) = find(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")]);
    assert!(errors.is_empty(), "{errors:?}");
    paths.iter().flat_map(|path| load_all(path, &[]).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn every_scenario_is_as_expected_and_as_approved() {
    let scenarios = shipped();
    assert!(scenarios.len() >= 95);
    let outcomes = run_all(&scenarios, NonZeroUsize::MIN, AgentLoop::default);
    let reports: Vec<_> = scenarios
        .iter()
        .zip(outcomes)
        .map(|(scenario, outcome)| outcome.unwrap_or_else(|panic| panic!("{}: {panic}", scenario.name)))
        .collect();
    let ran: Vec<_> = scenarios.iter().zip(&reports).map(|(scenario, report)| (scenario, Some(report.into()))).collect();
    let mut problems: Vec<String> = judge(&ran, RunView::Simulated).failures.into_iter().flat_map(|(_, failures)| failures).collect();
    for (scenario, report) in scenarios.iter().zip(&reports) {
        problems.extend(report.failures.iter().map(|failure| format!("{}: {failure}", scenario.name)));
        match check(scenario, report).unwrap_or_else(|error| panic!("{error}")) {
            SnapshotStanding::Same => (),
            SnapshotStanding::Changed { diff, .. } => problems.push(format!("{}: its transcript changed:\n{diff}", scenario.name)),
            other => problems.push(format!("{}: {other:?}", scenario.name)),
        }
    }
    problems.extend(unsaid(&reports));
    assert!(problems.is_empty(), "{}\nif this is right: cargo run -- run scenarios --accept", problems.join("\n"));
}

/// Texts of our loop that occur in no scenario (F-10).
fn unsaid(reports: &[RunReport<AgentLoop>]) -> Vec<String> {
    let mut left: Vec<&str> = TEXTS.to_vec();
    for report in reports {
        let said = json::to_json_lines(&report.transcript);
        left.retain(|text| !said.contains(text));
    }
    left.into_iter().map(|text| format!("no scenario shows that our loop says {text:?}: correct it in engine/texts.rs")).collect()
}
