//! Whether what scenario files say comes to pass: runs put together by their files, and each file judged by all that it has (F-10).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::RunOutcome;
use reenact_files::scenario::LoadedScenario;
use reenact_scenario::statement::PassedStatements;
use reenact_sim::report::RunReport;
use reenact_sim::statements::{self, Failure, PlayedRun, RunView, SkippedJudgement};
use reenact_transcript::event::{RunEnd, Transcript};
use reenact_wire::prelude::*;

/// The verdict on the statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementsVerdict {
    /// The statements of a file that none of its runs showed, by the position of the file's first run, and the mistakes of single runs, by theirs.
    pub failures: Vec<(usize, Vec<String>)>,
    /// The files that were not asked, with the reason in a few words.
    pub not_asked: Vec<(String, &'static str)>,
}

/// Why a file is not asked of which some runs were made and others not.
const IN_PART: &str = "only some of its runs were made";

/// Why a file is not asked for what it takes from another scenario.
const IN_BASE: &str = "those of the scenario that it extends are checked where that one is run";

/// The facts about a finished run.
#[derive(Clone, Copy, Debug)]
pub struct RunEvidence<'a> {
    /// The statements that came to pass.
    pub passed: &'a PassedStatements,
    /// The record of the run.
    pub transcript: &'a Transcript,
    /// The reason of the end.
    pub end: &'a RunEnd,
}

impl<'a, E> From<&'a RunReport<E>> for RunEvidence<'a> {
    fn from(report: &'a RunReport<E>) -> Self {
        Self { passed: &report.passed, transcript: &report.transcript, end: &report.end }
    }
}

/// The same as [`judge`], of finished runs with their scenarios.
pub fn judge_outcomes<'a, E>(
    scenarios: impl IntoIterator<Item = &'a LoadedScenario>,
    outcomes: &'a [RunOutcome<E>],
    view: RunView,
) -> StatementsVerdict {
    let ran = outcomes.iter().map(|outcome| outcome.as_ref().ok().map(RunEvidence::from));
    judge(&scenarios.into_iter().zip(ran).collect::<Vec<_>>(), view)
}

/// Asks of each file whether all that it says came to pass in some of its runs. Files of which not all runs are here, or did not come to their own
/// end (`None` after a panic), are not asked. A tape by itself says nothing.
pub fn judge(runs: &[(&LoadedScenario, Option<RunEvidence<'_>>)], view: RunView) -> StatementsVerdict {
    let mut verdict = StatementsVerdict::default();
    let mut files: Vec<&Path> = Vec::new();
    for (first, (loaded, _)) in runs.iter().enumerate() {
        if files.contains(&&*loaded.file) || loaded.places.is_empty() {
            continue;
        }
        files.push(&loaded.file);
        let of_file = runs[first..].iter().filter(|(other, _)| other.file == loaded.file);
        let positions: Vec<usize> =
            (first..).zip(&runs[first..]).filter(|(_, (other, _))| other.file == loaded.file).map(|(at, _)| at).collect();
        let failures = match played(of_file) {
            Err(reason) => {
                verdict.not_asked.push((loaded.file.display().to_string(), reason));
                continue;
            }
            Ok((played, true)) => statements::failures(&played, view),
            Ok((played, false)) => {
                verdict.not_asked.push((loaded.file.display().to_string(), IN_PART));
                statements::failures_of_each(&played, view)
            }
        };
        if statements::has_base_of_its_own(&loaded.places) {
            verdict.not_asked.push((loaded.file.display().to_string(), IN_BASE));
        }
        verdict.failures.extend(by_run(failures, |nth| (positions[nth], &runs[positions[nth]].0.combination)));
    }
    verdict.failures.sort_by_key(|(at, _)| *at);
    verdict
}

/// The failures of each run by its position. A failure of a combination with one seed is not repeated with the next.
fn by_run<'a>(failures: Vec<Failure>, run: impl Fn(usize) -> (usize, &'a Option<String>)) -> Vec<(usize, Vec<String>)> {
    let mut by_run: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut told = BTreeSet::new();
    for Failure { run: nth, text } in failures {
        let (position, combination) = run(nth);
        if told.insert((combination, text.clone())) {
            by_run.entry(position).or_default().push(text);
        }
    }
    by_run.into_iter().collect()
}

/// The runs of a file, and whether they are all of them; or why they cannot say.
fn played<'a>(
    of_file: impl Iterator<Item = &'a (&'a LoadedScenario, Option<RunEvidence<'a>>)>,
) -> Result<(Vec<PlayedRun<'a>>, bool), &'static str> {
    let (mut runs, mut combinations, mut wanted) = (Vec::new(), BTreeSet::new(), 0);
    for (loaded, ran) in of_file {
        let Some(RunEvidence { passed, transcript, end }) = *ran else { return Err(SkippedJudgement::CutShort.as_str()) };
        let run = PlayedRun { setup: &loaded.setup, places: &loaded.places, passed, transcript, end };
        if let Some(reason) = run.not_asked() {
            return Err(reason.as_str());
        }
        runs.push(run);
        combinations.insert(&loaded.combination);
        wanted = loaded.runs;
    }
    Ok((runs, combinations.len() >= wanted))
}

#[cfg(test)]
mod misspellings;
#[cfg(test)]
mod planted_statements;
#[cfg(test)]
mod tests;
