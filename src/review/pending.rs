//! Pending snapshots: what was approved beside what a run or a test has left (V-3).
//!
//! A transcript is compared event by event, any other text line by line: tests that use insta leave both.

use std::path::{Path, PathBuf};

use reenact_files::snapshot::{self, Snapshot, SnapshotError, pending_path};
use reenact_transcript::diff::compare;
use reenact_transcript::text::one_line;
use similar::{ChangeTag, TextDiff};

use crate::diff_text::{self, DiffLayout, NEW, OLD, styled};

/// So many lines around a change are shown of a text that is no transcript.
const CONTEXT_LINES: usize = 3;

/// A snapshot with a pending one beside it, as both were when they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingSnapshot {
    /// The path of the snapshot, be there one or not.
    pub path: PathBuf,
    /// The approved file.
    old: Option<String>,
    /// The pending file.
    new: String,
}

/// How a pending snapshot differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingChanges {
    /// The counts by kind, in words.
    pub summary: String,
    /// The changes, with escapes for colours.
    pub text: String,
}

/// Why a decision was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// A run or a test has written one of the files since.
    #[error("{}: it or its pending file is another one than was shown or decided; look at it again", .0.display())]
    OtherFile(PathBuf),
    /// A file cannot be written, or is no snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl PendingSnapshot {
    /// Reads the pending snapshot of the one at `path`, and that one.
    ///
    /// # Errors
    /// Nothing is pending, or a file cannot be read or is no snapshot.
    pub fn read(path: &Path) -> Result<Self, SnapshotError> {
        let pending = pending_path(path);
        let new = snapshot::read_text(&pending)?.ok_or_else(|| SnapshotError::NothingPending { path: path.to_path_buf() })?;
        parse(&pending, &new)?;
        let old = snapshot::read_text(path)?;
        old.as_ref().map_or(Ok(()), |old| parse(path, old).map(drop))?;
        Ok(Self { path: path.to_path_buf(), old, new })
    }

    /// The subject: the scenario's title, or what the test calls it.
    pub fn title(&self) -> Option<String> {
        let metadata = self.new_snapshot().metadata;
        metadata.description().or_else(|| metadata.expression())
    }

    /// The file that it comes from: a scenario or a test.
    pub fn source(&self) -> Option<String> {
        self.new_snapshot().metadata.source()
    }

    /// Its differences, or all of it where nothing was approved before.
    pub fn changes(&self, layout: DiffLayout) -> PendingChanges {
        let (old, new) = (self.old.as_deref().map(contents), self.new_snapshot());
        match old {
            None => PendingChanges { summary: String::from("new"), text: added_lines(new.contents()) },
            Some(old) if old == new.contents() => PendingChanges { summary: String::from("the same contents"), text: String::new() },
            Some(old) if is_transcript(&new) => {
                let diff = compare(&old, new.contents());
                let text = diff_text::text(&diff, layout);
                // The last line is the summary.
                let text = text.rsplit_once('\n').map_or("", |(changes, _)| changes).to_owned();
                PendingChanges { summary: diff_text::summary(&diff), text }
            }
            Some(old) => line_changes(&old, new.contents()),
        }
    }

    /// Takes the pending snapshot.
    ///
    /// # Errors
    /// The files are not those that were read, or cannot be written.
    pub fn accept(&self) -> Result<(), DecisionError> {
        self.expect_unchanged()?;
        snapshot::accept(&self.path)?;
        Ok(())
    }

    /// Removes the pending snapshot.
    ///
    /// # Errors
    /// The files are not those that were read, or cannot be removed.
    pub fn reject(&self) -> Result<(), DecisionError> {
        self.expect_unchanged()?;
        snapshot::reject(&self.path)?;
        Ok(())
    }

    /// Makes both files what they were when they were read. `was_accepted` says how it was decided.
    ///
    /// # Errors
    /// The files are not those that the decision left, or cannot be written or removed.
    pub fn restore(&self, was_accepted: bool) -> Result<(), DecisionError> {
        let decided = if was_accepted { Some(&self.new) } else { self.old.as_ref() };
        let is_as_decided =
            snapshot::read_text(&self.path)?.as_ref() == decided && snapshot::read_text(&pending_path(&self.path))?.is_none();
        if !is_as_decided {
            return Err(DecisionError::OtherFile(self.path.clone()));
        }
        Ok(snapshot::restore(&self.path, self.old.as_deref(), &self.new)?)
    }

    fn expect_unchanged(&self) -> Result<(), DecisionError> {
        match Self::read(&self.path) {
            Ok(now) if now == *self => Ok(()),
            Ok(_) | Err(SnapshotError::NothingPending { .. }) => Err(DecisionError::OtherFile(self.path.clone())),
            Err(error) => Err(error.into()),
        }
    }

    fn new_snapshot(&self) -> Snapshot {
        Snapshot::parse(&self.new).unwrap_or_default() // it was a snapshot when it was read
    }
}

/// A transcript's third line is empty, and its second one is the seed.
fn is_transcript(snapshot: &Snapshot) -> bool {
    let mut lines = snapshot.contents().lines().skip(1);
    lines.next().is_some_and(|line| line.starts_with("seed ")) && lines.next() == Some("")
}

fn contents(text: &str) -> String {
    Snapshot::parse(text).unwrap_or_default().contents().to_owned()
}

fn parse(path: &Path, text: &str) -> Result<Snapshot, SnapshotError> {
    Snapshot::parse(text).map_err(|error| SnapshotError::Format { path: path.to_path_buf(), error })
}

fn line_changes(old: &str, new: &str) -> PendingChanges {
    // Contents have no line end at their end, and their last line is a line as any other.
    let [old, new] = [old, new].map(|text| format!("{text}\n"));
    let diff = TextDiff::from_lines(&old, &new);
    let (mut text, mut removed, mut added) = (String::new(), 0, 0);
    for (number, group) in (0..).zip(diff.grouped_ops(CONTEXT_LINES)) {
        if number > 0 {
            text += "  …\n";
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let line = one_line(change.value().trim_end_matches('\n'));
            match change.tag() {
                ChangeTag::Equal => text += &format!("  {line}\n"),
                ChangeTag::Delete => {
                    removed += 1;
                    text += &(styled(OLD, &format!("- {line}")) + "\n");
                }
                ChangeTag::Insert => {
                    added += 1;
                    text += &(styled(NEW, &format!("+ {line}")) + "\n");
                }
            }
        }
    }
    PendingChanges { summary: format!("lines: {added} added, {removed} removed"), text: text.trim_end_matches('\n').to_owned() }
}

fn added_lines(text: &str) -> String {
    text.lines().map(|line| styled(NEW, &format!("+ {}", one_line(line)))).collect::<Vec<_>>().join("\n")
}
