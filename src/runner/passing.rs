//! Whether what scenario files say comes to pass: runs put together by their files, and each file judged by all that it has (F-10).

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::scenario::Loaded;
use crate::prelude::*;
use crate::scenario::statement::Passed;
use crate::sim::passing::{self, NotAsked, PlayedRun, View};
use crate::sim::report::Report;
use crate::transcript::event::{RunEnd, Transcript};

/// What came of asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passing {
    /// What a file says and none of its runs showed, by the position of the file's first run.
    pub failures: Vec<(usize, Vec<String>)>,
    /// The files that were not asked, with the reason in a few words.
    pub not_asked: Vec<(String, &'static str)>,
}

/// Why a file is not asked of which some runs were made and others not.
const IN_PART: &str = "only some of its runs were made";

/// What is known of a run that is over.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// What came to pass.
    pub passed: &'a Passed,
    /// What happened.
    pub transcript: &'a Transcript,
    /// Why it was over.
    pub end: &'a RunEnd,
}

impl<'a, E> From<&'a Report<E>> for Ran<'a> {
    fn from(report: &'a Report<E>) -> Self {
        Self { passed: &report.passed, transcript: &report.transcript, end: &report.end }
    }
}

/// Asks of each file whether all that it says came to pass in some of its runs. Files of which not all runs are here, or did not come to their own
/// end (`None` after a panic), are not asked. A tape by itself says nothing.
pub fn judge(runs: &[(&Loaded, Option<Ran<'_>>)], view: View) -> Passing {
    let mut passing = Passing::default();
    let mut files: Vec<&Path> = Vec::new();
    for (first, (loaded, _)) in runs.iter().enumerate() {
        if files.contains(&&*loaded.file) || loaded.places.is_empty() {
            continue;
        }
        files.push(&loaded.file);
        let of_file = runs[first..].iter().filter(|(other, _)| other.file == loaded.file);
        match played(of_file) {
            Err(reason) => passing.not_asked.push((loaded.file.display().to_string(), reason)),
            Ok(played) => {
                let failures = passing::failures(&played, view);
                passing.failures.extend((!failures.is_empty()).then_some((first, failures)));
            }
        }
    }
    passing
}

/// All runs of a file, or why they are not all, or cannot say.
fn played<'a>(of_file: impl Iterator<Item = &'a (&'a Loaded, Option<Ran<'a>>)>) -> Result<Vec<PlayedRun<'a>>, &'static str> {
    let (mut runs, mut combinations, mut wanted) = (Vec::new(), BTreeSet::new(), 0);
    for (loaded, ran) in of_file {
        let Some(Ran { passed, transcript, end }) = *ran else { return Err(NotAsked::CutShort.as_str()) };
        let run = PlayedRun { setup: &loaded.setup, places: &loaded.places, passed, transcript, end };
        if let Some(reason) = run.not_asked() {
            return Err(reason.as_str());
        }
        runs.push(run);
        combinations.insert(&loaded.combination);
        wanted = loaded.runs;
    }
    if combinations.len() < wanted { Err(IN_PART) } else { Ok(runs) }
}

#[cfg(test)]
mod misspelt;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod tests;
