//! Scenarios as tests: each run against its snapshot, its expectations and the oracles (V-1).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anstream::adapter::strip_str;
use reenact_files::scenario::{LoadedScenario, absolute, possible_owners, snapshot_path};
use reenact_files::shell_word::quoted_path;
use reenact_files::snapshot::snapshots_below;
use reenact_runner::RunOutcome;
use reenact_runner::snapshot::{self, SnapshotStanding};
use reenact_transcript::diff::{TranscriptDiff, compare};
use reenact_transcript::text::DetailLevel;
use reenact_wire::prelude::*;

use super::diff_text::{self, DiffLayout};

/// The verdict on one scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioVerdict {
    /// All that failed, a paragraph each; with escapes for colours in a diff.
    pub problems: Vec<String>,
    /// The snapshot that was written, where snapshots are.
    pub wrote: Option<PathBuf>,
}

impl ScenarioVerdict {
    /// The same without colours.
    pub fn plain_problems(&self) -> Vec<String> {
        self.problems.iter().map(|problem| strip_str(problem).to_string()).collect()
    }
}

/// The fate of a transcript that is new or has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotUse {
    /// Nobody asks for it.
    Ignore,
    /// It waits beside its place, and the test fails.
    Compare,
    /// It is the new snapshot.
    Update,
}

/// Judges a run.
pub fn verdict<E>(scenario: &LoadedScenario, outcome: &RunOutcome<E>, snapshots: SnapshotUse) -> ScenarioVerdict {
    let report = match outcome {
        Ok(report) => report,
        Err(panic) => return ScenarioVerdict { problems: vec![panic.to_string()], wrote: None },
    };
    let mut verdict = ScenarioVerdict { problems: report.failures.clone(), wrote: None };
    let standing = match snapshots {
        SnapshotUse::Ignore => return verdict,
        SnapshotUse::Compare => snapshot::check(scenario, report),
        SnapshotUse::Update => snapshot::approve(scenario, report),
    };
    match standing {
        Ok(SnapshotStanding::Same) => (),
        Ok(SnapshotStanding::Accepted { path }) => verdict.wrote = Some(path),
        Ok(SnapshotStanding::New { pending }) => {
            verdict.problems.push(format!("it has no snapshot; {}", where_it_waits(scenario, &pending)))
        }
        Ok(SnapshotStanding::Changed { pending, old }) => {
            let new = report.text(DetailLevel::Normal);
            let changes = changes_text(&compare(&old, &new), (&old, &new));
            verdict.problems.push(format!("its transcript has changed:\n{changes}\n{}", where_it_waits(scenario, &pending)));
        }
        Err(error) => verdict.problems.push(error.to_string()),
    }
    verdict
}

/// The changes of events, or the lines that differ where no event does.
fn changes_text(diff: &TranscriptDiff<'_>, (old, new): (&str, &str)) -> String {
    if diff.changes.is_empty() { snapshot::diff(old, new) } else { diff_text::text(diff, DiffLayout::Unified) }
}

fn where_it_waits(scenario: &LoadedScenario, pending: &Result<PathBuf, String>) -> String {
    match pending {
        Ok(path) => format!(
            "the new transcript is in {}: look at it with `reenact review {}`, and if it is right take it, or with `reenact test {} --update`",
            path.display(),
            quoted_path(&snapshot_path(&scenario.path)),
            quoted_path(&scenario.path)
        ),
        Err(problem) => problem.clone(),
    }
}

/// The snapshots that no scenario has. `folder` was named, and these are all scenarios that are read with it. The snapshot of a scenario that is left
/// out of folders, and can be named, is no orphan.
///
/// # Errors
/// When a folder of snapshots cannot be read.
pub fn orphans(folder: &Path, scenarios: &[LoadedScenario]) -> Result<Vec<PathBuf>, String> {
    let known: BTreeSet<PathBuf> = scenarios.iter().map(|scenario| snapshot_path(&scenario.path)).collect();
    let root = snapshot_path(&absolute(folder).join("any.toml")).parent().map(Path::to_path_buf);
    let folders: BTreeSet<PathBuf> = known.iter().filter_map(|path| path.parent().map(Path::to_path_buf)).chain(root).collect();
    let mut found = BTreeMap::new();
    for folder in folders {
        let below = snapshots_below(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        found.extend(below.into_iter().map(|path| (absolute(&path), path)));
    }
    let known: BTreeSet<PathBuf> = known.iter().map(|path| absolute(path)).collect();
    let read: BTreeSet<PathBuf> = scenarios.iter().map(|scenario| absolute(&scenario.file)).collect();
    let is_orphan =
        |path: &Path| !known.contains(path) && possible_owners(path).iter().all(|file| !file.is_file() || read.contains(&absolute(file)));
    Ok(found.into_iter().filter(|(whole, _)| is_orphan(whole)).map(|(_, path)| path).collect())
}

/// The scenarios that have one snapshot together, by its path. Each would overwrite those of the others.
pub fn shared_snapshots<'a>(scenarios: impl IntoIterator<Item = &'a LoadedScenario>) -> BTreeMap<PathBuf, Vec<&'a Path>> {
    let mut paths: BTreeMap<PathBuf, Vec<&Path>> = BTreeMap::new();
    scenarios.into_iter().for_each(|scenario| paths.entry(snapshot_path(&scenario.path)).or_default().push(&scenario.path));
    paths.retain(|_, paths| paths.len() > 1);
    paths
}

/// The problem of a scenario that has a snapshot of [`shared_snapshots`].
pub fn shared_snapshot_problem(snapshot: &Path, owners: &[&Path]) -> String {
    let names: Vec<String> = owners.iter().map(|path| path.display().to_string()).collect();
    format!("{} is the snapshot of {}: give them different names", snapshot.display(), names.join(" and of "))
}

/// The names that a pattern fits: it stands somewhere in the name, or is a glob for all of it (`executor/*`).
#[derive(Clone, Debug)]
pub struct NameFilter {
    text: String,
    glob: Option<glob::Pattern>,
}

impl NameFilter {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it has signs of a glob, and is none.
    pub fn new(text: &str) -> Result<Self, String> {
        let is_glob = text.contains(['*', '?', '[']);
        let glob = is_glob.then(|| glob::Pattern::new(text)).transpose().map_err(|error| format!("`{text}` is not a pattern: {error}"))?;
        Ok(Self { text: text.into(), glob })
    }

    /// Whether it fits a name.
    pub fn fits(&self, name: &str) -> bool {
        self.glob.as_ref().map_or_else(|| name.contains(&self.text), |glob| glob.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_1_a_filter_is_a_part_of_the_name_or_a_glob_of_all_of_it() {
        let fits = |filter: &str, name: &str| NameFilter::new(filter).unwrap().fits(name);
        assert!(fits("order", "executor/order") && fits("executor/o", "executor/order") && !fits("orders", "executor/order"));
        assert!(fits("executor/*", "executor/order") && fits("*order", "executor/order") && !fits("*orde", "executor/order"));
        assert!(fits("executor/[a-o]*", "executor/order") && !fits("executor/?", "executor/order"));
        assert!(NameFilter::new("[a").unwrap_err().contains("is not a pattern"));
    }
}
