//! A run's transcript as a snapshot: where it is kept, what it says of itself, how it compares.

use std::path::{Path, PathBuf};

use reenact_files::scenario::{LoadedScenario, path_beside_snapshots, snapshot_path};
use reenact_files::snapshot::{Snapshot, SnapshotError, SnapshotMetadata, SnapshotOutcome, accept, compare, reject, write_pending};
use reenact_sim::report::RunReport;
use reenact_transcript::text::DetailLevel;
use reenact_wire::prelude::*;

/// How a transcript stands to the one that was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotStanding {
    /// Equal.
    Same,
    /// Nothing was approved yet; the new one waits beside its place.
    New {
        /// The pending file, or why it could not be written.
        pending: Result<PathBuf, String>,
    },
    /// Not equal; the new one waits beside the old.
    Changed {
        /// The pending file, or why it could not be written.
        pending: Result<PathBuf, String>,
        /// The text that was approved.
        old: String,
    },
    /// Written as approved.
    Accepted {
        /// The file.
        path: PathBuf,
    },
}

/// Compares with the approved transcript and leaves a pending file where it differs, for `cargo insta review` or `--accept`.
///
/// # Errors
/// When the snapshot cannot be read or written.
pub fn check<E>(scenario: &LoadedScenario, report: &RunReport<E>) -> Result<SnapshotStanding, SnapshotError> {
    let path = snapshot_path(&scenario.path);
    let new = snapshot_of(scenario, report);
    Ok(match compare(&path, &new)? {
        SnapshotOutcome::Same => {
            reject(&path)?; // what waited from an earlier run is out of date
            SnapshotStanding::Same
        }
        SnapshotOutcome::Missing => SnapshotStanding::New { pending: pending(&path, &new) },
        SnapshotOutcome::Different { old } => SnapshotStanding::Changed { pending: pending(&path, &new), old },
    })
}

/// Where the new transcript waits, or why it does not: that must not hide what changed.
fn pending(path: &Path, new: &Snapshot) -> Result<PathBuf, String> {
    write_pending(path, new).map_err(|error| error.to_string())
}

/// Approves the transcript as it is now.
///
/// # Errors
/// When the snapshot cannot be read or written.
pub fn approve<E>(scenario: &LoadedScenario, report: &RunReport<E>) -> Result<SnapshotStanding, SnapshotError> {
    let path = snapshot_path(&scenario.path);
    let new = snapshot_of(scenario, report);
    if compare(&path, &new)? == SnapshotOutcome::Same {
        reject(&path)?;
        return Ok(SnapshotStanding::Same);
    }
    write_pending(&path, &new)?;
    accept(&path)?;
    Ok(SnapshotStanding::Accepted { path })
}

fn snapshot_of<E>(scenario: &LoadedScenario, report: &RunReport<E>) -> Snapshot {
    let title = scenario.setup.scenario.title.as_deref().unwrap_or(&scenario.name);
    let metadata = SnapshotMetadata::default()
        .with("source", &path_beside_snapshots(&scenario.file).to_string_lossy().replace('\\', "/"))
        .with("description", title)
        .with("expression", "transcript, detail normal");
    Snapshot::new(metadata, &report.text(DetailLevel::Normal))
}

/// A unified diff with three lines around each change. No limit of time: what it shows must not depend on the machine's load.
pub fn diff(old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new).unified_diff().context_radius(3).header("approved", "now").to_string()
}
