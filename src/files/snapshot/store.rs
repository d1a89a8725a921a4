//! Snapshot files in their folder: compare, leave pending, accept, reject.
//!
//! A person accepts with this program or with `cargo insta`; both do the same: the pending file takes the place of the old one.

use super::{ParseSnapshotError, Snapshot};
use crate::{atomic, open};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// How a new snapshot stands to the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotOutcome {
    /// The contents are equal. Metadata may differ: it says where a snapshot comes from, not what was approved.
    Same,
    /// There is no file yet.
    Missing,
    /// The contents differ.
    Different {
        /// The approved contents.
        old: String,
    },
}

/// Why a snapshot could not be compared, written, accepted or rejected.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file is there and cannot be read.
    #[error("cannot read snapshot {}: {error}; it must be a file of UTF-8 text that may be read", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file cannot be written or removed.
    #[error("cannot change snapshot {}: {error}; check the folder's permissions and the free space", path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file is no snapshot.
    #[error("cannot read snapshot {}: {error}", path.display())]
    Format {
        /// The path of the file.
        path: PathBuf,
        /// The mistake in it.
        error: ParseSnapshotError,
    },
    /// There is nothing to accept.
    #[error("nothing is pending for {}: a run with another transcript leaves one", path.display())]
    NothingPending {
        /// The accepted snapshot's path.
        path: PathBuf,
    },
}

/// Compares `new` with the file at `path`, and changes nothing.
///
/// # Errors
/// The file is there but cannot be read, or is no snapshot.
pub fn compare(path: &Path, new: &Snapshot) -> Result<SnapshotOutcome, SnapshotError> {
    let Some(old) = read(path)? else { return Ok(SnapshotOutcome::Missing) };
    let is_same = old.contents() == new.contents();
    Ok(if is_same { SnapshotOutcome::Same } else { SnapshotOutcome::Different { old: old.contents } })
}

/// Compares, and leaves `new` pending if it is not the same; if it is, a pending file of an earlier run is stale and removed (V-1).
///
/// # Errors
/// As [`compare`], and when the pending file cannot be written or removed.
pub fn compare_and_leave_pending(path: &Path, new: &Snapshot) -> Result<SnapshotOutcome, SnapshotError> {
    let outcome = compare(path, new)?;
    match outcome {
        SnapshotOutcome::Same => drop(reject(path)?),
        SnapshotOutcome::Missing | SnapshotOutcome::Different { .. } => drop(write_pending(path, new)?),
    }
    Ok(outcome)
}

/// Writes `new` beside the snapshot at `path`, for a person to accept or reject. Returns where.
///
/// # Errors
/// The file cannot be written.
pub fn write_pending(path: &Path, new: &Snapshot) -> Result<PathBuf, SnapshotError> {
    let pending = pending_path(path);
    write(&pending, new)?;
    Ok(pending)
}

/// Puts the pending snapshot in the place of the one at `path`, and returns it. The line of an assertion, which insta notes in pending
/// files, is left out: it would change with every edit above it.
///
/// # Errors
/// Nothing is pending, the pending file is no snapshot, or a file cannot be written.
pub fn accept(path: &Path) -> Result<Snapshot, SnapshotError> {
    let pending = read(&pending_path(path))?;
    let mut snapshot = pending.ok_or_else(|| SnapshotError::NothingPending { path: path.to_path_buf() })?;
    snapshot.metadata = snapshot.metadata.without("assertion_line");
    write(path, &snapshot)?;
    reject(path)?;
    Ok(snapshot)
}

/// Makes a snapshot and its pending one what they were: `old` is the whole text of the file at `path`, or none where there was no file.
///
/// # Errors
/// A file cannot be written or removed.
pub fn restore(path: &Path, old: Option<&str>, pending: &str) -> Result<(), SnapshotError> {
    write_text(&pending_path(path), pending)?;
    match old {
        Some(old) => write_text(path, old),
        None => remove(path).map(drop),
    }
}

/// Whether [`reject`] found something to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionOutcome {
    /// A pending file was there and is gone.
    Removed,
    /// Nothing was pending.
    NothingPending,
}

/// Removes the pending snapshot of the one at `path`, if there is any.
///
/// # Errors
/// The pending file cannot be removed.
pub fn reject(path: &Path) -> Result<RejectionOutcome, SnapshotError> {
    remove(&pending_path(path))
}

fn remove(path: &Path) -> Result<RejectionOutcome, SnapshotError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(RejectionOutcome::Removed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RejectionOutcome::NothingPending),
        Err(error) => Err(SnapshotError::Write { path: path.to_path_buf(), error }),
    }
}

/// Where the pending snapshot of the one at `path` stands: `a.snap` -> `a.snap.new`.
pub fn pending_path(path: &Path) -> PathBuf {
    let mut pending = OsString::from(path);
    pending.push(".new");
    PathBuf::from(pending)
}

/// A transcript of more is not one that people look at.
const SNAPSHOT_BYTES_MAX: u64 = 256 << 20;

/// The snapshot at `path`, or none if there is no file.
fn read(path: &Path) -> Result<Option<Snapshot>, SnapshotError> {
    let parse = |text: String| Snapshot::parse(&text).map_err(|error| SnapshotError::Format { path: path.to_path_buf(), error });
    read_text(path)?.map(parse).transpose()
}

/// The text of the file at `path`, or none if there is no file.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn read_text(path: &Path) -> Result<Option<String>, SnapshotError> {
    let text = open::read(path, SNAPSHOT_BYTES_MAX)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)));
    match text {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SnapshotError::Read { path: path.to_path_buf(), error }),
    }
}

fn write(path: &Path, snapshot: &Snapshot) -> Result<(), SnapshotError> {
    write_text(path, &snapshot.to_string())
}

fn write_text(path: &Path, text: &str) -> Result<(), SnapshotError> {
    atomic::write(path, text.as_bytes()).map_err(|error| SnapshotError::Write { path: path.to_path_buf(), error })
}

/// All snapshots in a folder and in those below it; none where it does not exist.
///
/// # Errors
/// When a folder cannot be read.
pub fn snapshots_below(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    files_below(folder, |_| true, |path| path.extension().is_some_and(|extension| extension == "snap").then(|| path.to_path_buf()))
}

/// The snapshots in a folder and in those below it that have a pending one beside them, be they there themselves or not. What programs build or install
/// is not looked at: hidden folders, `target`, `node_modules`.
///
/// # Errors
/// When a folder cannot be read.
pub fn pending_below(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let is_ours = |name: &str| !name.starts_with('.') && !["target", "node_modules"].contains(&name);
    files_below(folder, is_ours, |path| {
        let snapshot = path.file_name()?.to_str()?.strip_suffix(".new").filter(|name| name.ends_with(".snap"))?;
        Some(path.with_file_name(snapshot))
    })
}

/// Chosen files of a folder and of those below it whose names are to be entered.
fn files_below(
    folder: &Path,
    is_entered: impl Fn(&str) -> bool,
    chosen: impl Fn(&Path) -> Option<PathBuf>,
) -> io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.extend(Some(path).filter(|_| entry.file_name().to_str().is_none_or(&is_entered)));
            } else {
                found.extend(chosen(&path));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::SnapshotMetadata;
    use super::*;

    fn snapshot(contents: &str) -> Snapshot {
        Snapshot::new(SnapshotMetadata::default().with("source", "a.toml"), contents)
    }

    #[test]
    fn v_1_from_missing_to_accepted_to_different_and_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("retry/a.snap");
        assert_eq!(compare(&path, &snapshot("one")).expect("compares"), SnapshotOutcome::Missing);
        assert!(!folder.path().join("retry").exists(), "comparing writes nothing");
        assert_eq!(compare_and_leave_pending(&path, &snapshot("one")).expect("compares"), SnapshotOutcome::Missing);
        assert_eq!(accept(&path).expect("accepts"), snapshot("one"));
        assert!(!pending_path(&path).exists());
        assert_eq!(compare(&path, &snapshot("one\n\n")).expect("compares"), SnapshotOutcome::Same);
        let different = SnapshotOutcome::Different { old: "one".to_string() };
        assert_eq!(compare_and_leave_pending(&path, &snapshot("two")).expect("compares"), different);
        assert!(pending_path(&path).exists());
        assert_eq!(compare_and_leave_pending(&path, &snapshot("one")).expect("compares"), SnapshotOutcome::Same);
        assert!(!pending_path(&path).exists(), "a stale pending file is removed");
    }

    #[test]
    fn v_1_accepting_drops_the_assertions_line_and_keeps_the_rest() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.snap");
        let pending = Snapshot::new(snapshot("").metadata.with("assertion_line", "12").with("ours", "x"), "text");
        write_pending(&path, &pending).expect("writes");
        accept(&path).expect("accepts");
        let text = std::fs::read_to_string(&path).expect("the accepted file");
        assert_eq!(text, "---\nsource: a.toml\nours: x\n---\ntext\n");
    }

    #[test]
    fn v_3_pending_snapshots_are_found_with_or_without_an_approved_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["a.snap", "a.snap.new", "deep/b.snap.new", "c.snap", "d.new", "target/e.snap.new", ".git/f.snap.new"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in the folder")).expect("creates");
            fs::write(path, "").expect("writes");
        }
        let found = pending_below(folder.path()).expect("reads");
        let names: Vec<_> = found.iter().map(|path| path.strip_prefix(folder.path()).expect("it is below").to_path_buf()).collect();
        assert_eq!(names, [PathBuf::from("a.snap"), PathBuf::from("deep/b.snap")]);
    }

    #[test]
    fn v_1_errors_name_the_file_and_what_to_do() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.snap");
        assert!(accept(&path).expect_err("nothing is pending").to_string().ends_with("a run with another transcript leaves one"));
        assert_eq!(reject(&path).expect("nothing to reject"), RejectionOutcome::NothingPending);
        std::fs::write(&path, "no snapshot").expect("writes");
        let error = compare(&path, &snapshot("")).expect_err("no snapshot").to_string();
        assert!(error.contains("a.snap") && error.contains("not `---`"), "{error}");
        std::fs::write(&path, b"---\n\xff").expect("writes");
        assert!(matches!(compare(&path, &snapshot("")), Err(SnapshotError::Read { .. })));
    }
}
