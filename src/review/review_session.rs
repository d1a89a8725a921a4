//! A review: one pending snapshot at a time, each accepted, rejected or skipped, and any decision taken back (V-3).
//!
//! ```text
//!   choice ──> ReviewSession ──> files: accepted, rejected, restored
//!                   └──────────> the next one to show, or the end
//! ```
//!
//! Each decision is carried out at once, so a review that is broken off keeps what was decided.

use crate::pending::{DecisionError, PendingSnapshot};

/// A word of the person who reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewChoice {
    /// It is right as it is now.
    Accept,
    /// It is wrong: its pending file is removed.
    Reject,
    /// It stays pending.
    Skip,
    /// All that were not decided are right.
    AcceptAll,
    /// Take the last decision back.
    Undo,
}

/// A review of some pending snapshots.
#[derive(Clone, Debug)]
pub struct ReviewSession {
    pending: Vec<PendingSnapshot>,
    /// One for each that was decided, in order.
    decisions: Vec<ReviewDecision>,
}

/// The fate of a pending snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    /// It took the place of the approved one.
    Accepted,
    /// It is removed.
    Rejected,
    /// It is pending.
    Skipped,
}

impl ReviewSession {
    /// A review of these, in this order.
    pub fn new(pending: Vec<PendingSnapshot>) -> Self {
        Self { pending, decisions: Vec::new() }
    }

    /// The one that is to be decided, with its number from 1; `None` when all are.
    pub fn current(&self) -> Option<(usize, &PendingSnapshot)> {
        self.pending.get(self.decisions.len()).map(|pending| (self.decisions.len() + 1, pending))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pending.len()
    }

    /// How many were decided so. Those that were never decided are pending, as those that were skipped.
    pub fn count_of(&self, decision: ReviewDecision) -> usize {
        let decided = self.decisions.iter().filter(|other| **other == decision).count();
        if decision == ReviewDecision::Skipped { decided + self.pending.len() - self.decisions.len() } else { decided }
    }

    /// Carries a choice out. Undo at the beginning does nothing.
    ///
    /// # Errors
    /// A file is another one than was read, or cannot be written. Nothing is decided then; the files are read again.
    pub fn choose(&mut self, choice: ReviewChoice) -> Result<(), DecisionError> {
        match choice {
            ReviewChoice::Undo => self.undo(),
            ReviewChoice::AcceptAll => {
                while self.current().is_some() {
                    self.decide(ReviewDecision::Accepted)?;
                }
                Ok(())
            }
            ReviewChoice::Accept => self.decide(ReviewDecision::Accepted),
            ReviewChoice::Reject => self.decide(ReviewDecision::Rejected),
            ReviewChoice::Skip => self.decide(ReviewDecision::Skipped),
        }
    }

    fn decide(&mut self, decision: ReviewDecision) -> Result<(), DecisionError> {
        let Some(pending) = self.pending.get_mut(self.decisions.len()) else { return Ok(()) };
        let done = match decision {
            ReviewDecision::Accepted => pending.accept(),
            ReviewDecision::Rejected => pending.reject(),
            ReviewDecision::Skipped => Ok(()),
        };
        if let Err(error) = done {
            // One that is gone cannot be shown again.
            match PendingSnapshot::read(&pending.path) {
                Ok(now) => *pending = now,
                Err(_) => drop(self.pending.remove(self.decisions.len())),
            }
            return Err(error);
        }
        self.decisions.push(decision);
        Ok(())
    }

    fn undo(&mut self) -> Result<(), DecisionError> {
        let Some(decision) = self.decisions.last() else { return Ok(()) };
        if *decision != ReviewDecision::Skipped {
            self.pending[self.decisions.len() - 1].restore(*decision == ReviewDecision::Accepted)?;
        }
        self.decisions.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use reenact_files::snapshot::{Snapshot, SnapshotMetadata, pending_path, write_pending};

    use super::*;
    use crate::diff_text::DiffLayout;

    const OLD: &str = "Hello\nseed 0\n\n   0.000s  user      prompt 1       Hello?\n  +1.364s  model     text           Hello to you.";

    fn snapshot(contents: &str) -> Snapshot {
        Snapshot::new(SnapshotMetadata::default().with("source", "scenarios/a.toml").with("description", "A greeting"), contents)
    }

    /// Three pending ones: changed, new, and no transcript.
    fn session(folder: &Path) -> (Vec<PathBuf>, ReviewSession) {
        let paths: Vec<PathBuf> = ["a.snap", "b.snap", "c.snap"].iter().map(|name| folder.join(name)).collect();
        for (path, old, new) in [(0, OLD, OLD.replace("to you", "to all")), (2, "1\n2\n3", "1\n3\n4".into())] {
            fs::write(&paths[path], snapshot(old).to_string()).unwrap();
            write_pending(&paths[path], &snapshot(&new)).unwrap();
        }
        write_pending(&paths[1], &snapshot(OLD)).unwrap();
        let pending = paths.iter().map(|path| PendingSnapshot::read(path).unwrap()).collect();
        (paths, ReviewSession::new(pending))
    }

    #[test]
    fn v_3_each_is_shown_with_its_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (_, mut session) = session(folder.path());
        let mut seen = Vec::new();
        while let Some((number, pending)) = session.current() {
            let changes = pending.changes(DiffLayout::Unified);
            seen.push(format!("{number} {}: {}", pending.title().unwrap(), changes.summary));
            assert!(!changes.text.is_empty());
            session.choose(ReviewChoice::Skip).unwrap();
        }
        let expected = ["1 A greeting: 1 changed; 3 events the same", "2 A greeting: new", "3 A greeting: lines: 1 added, 1 removed"];
        assert_eq!(seen, expected);
        assert_eq!(session.count_of(ReviewDecision::Skipped), 3);
    }

    #[test]
    fn v_3_decisions_change_the_files_and_undo_changes_them_back() {
        let folder = tempfile::tempdir().unwrap();
        let (paths, mut session) = session(folder.path());
        let files = || -> Vec<Option<String>> {
            let read = |path: &PathBuf| [fs::read_to_string(path).ok(), fs::read_to_string(pending_path(path)).ok()];
            paths.iter().flat_map(read).collect()
        };
        let before = files();
        for choice in [ReviewChoice::Accept, ReviewChoice::Reject, ReviewChoice::Accept] {
            session.choose(choice).unwrap();
        }
        assert_eq!(session.current(), None);
        let decided = files();
        assert_eq!([&decided[0], &decided[4]], [&before[1], &before[5]], "the accepted ones");
        assert_eq!(
            [&decided[1], &decided[2], &decided[3], &decided[5]],
            [&None; 4],
            "nothing is pending, and the rejected one has no file"
        );
        for _ in 0..5 {
            session.choose(ReviewChoice::Undo).unwrap();
        }
        assert_eq!(files(), before);
        assert_eq!(session.current().unwrap().0, 1);
        session.choose(ReviewChoice::AcceptAll).unwrap();
        assert_eq!((session.current(), session.count_of(ReviewDecision::Accepted)), (None, 3));
    }

    #[test]
    fn v_3_a_file_that_has_changed_meanwhile_is_shown_again() {
        let folder = tempfile::tempdir().unwrap();
        let (paths, mut session) = session(folder.path());
        write_pending(&paths[0], &snapshot("another")).unwrap();
        assert!(matches!(session.choose(ReviewChoice::Accept), Err(DecisionError::OtherFile(_))));
        assert!(fs::read_to_string(&paths[0]).unwrap().contains("to you"), "nothing was accepted unseen");
        session.choose(ReviewChoice::Accept).unwrap();
        assert!(fs::read_to_string(&paths[0]).unwrap().contains("another"));
        // What a run wrote after a decision is not overwritten by undo.
        write_pending(&paths[0], &snapshot("a later one")).unwrap();
        assert!(matches!(session.choose(ReviewChoice::Undo), Err(DecisionError::OtherFile(_))));
        assert!(fs::read_to_string(pending_path(&paths[0])).unwrap().contains("a later one"));
        fs::remove_file(pending_path(&paths[1])).unwrap();
        assert!(session.choose(ReviewChoice::Accept).is_err());
        assert_eq!(session.current().unwrap().1.path, paths[2], "one that is gone is left out");
    }
}
