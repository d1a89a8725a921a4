//! The files that a session has read (B-1): an edit of a file that was not read, or that changed since, is refused (B-2).

use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};

use reenact_wire::prelude::*;

/// So many files are remembered. The one that was read longest ago is forgotten first.
const FILES_MAX: usize = 1_000;

/// A digest of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentDigest([u8; 16]);

impl ContentDigest {
    /// The digest of these bytes.
    pub fn from_bytes(content: &[u8]) -> Self {
        Self::from_hasher(&{
            let mut hasher = blake3::Hasher::new();
            hasher.update(content);
            hasher
        })
    }

    /// The digest of what a hasher was given.
    pub fn from_hasher(hasher: &blake3::Hasher) -> Self {
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(digest)
    }
}

/// How a file was when it was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// When it was changed last.
    pub modified: i64,
    /// Its content; `None` of a file that is too large to be read for it.
    pub digest: Option<ContentDigest>,
}

/// Where the content is known the time decides nothing: a workspace in memory gives each write a time of its own (E-3).
impl Hash for FileStamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.digest, self.digest.is_none().then_some(self.modified)).hash(state);
    }
}

impl FileStamp {
    /// Whether a file that was like this has changed: time and content both differ (B-1).
    pub fn has_changed(&self, now: &FileStamp) -> bool {
        self.modified != now.modified && (self.digest.is_none() || self.digest != now.digest)
    }
}

/// The files that a session has read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadState {
    /// The one that was read last stands at the end.
    files: VecDeque<(Arc<str>, FileStamp)>,
}

impl ReadState {
    /// The file was read or written just now.
    pub fn note(&mut self, path: &str, stamp: FileStamp) {
        self.files.retain(|(known, _)| **known != *path);
        if self.files.len() == FILES_MAX {
            self.files.pop_front();
        }
        self.files.push_back((path.into(), stamp));
    }

    /// How the file was when it was read last.
    pub fn stamp(&self, path: &str) -> Option<FileStamp> {
        self.files.iter().rev().find(|(known, _)| **known == *path).map(|(_, stamp)| *stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(modified: i64, content: &str) -> FileStamp {
        FileStamp { modified, digest: Some(ContentDigest::from_bytes(content.as_bytes())) }
    }

    #[test]
    fn b_1_changed_means_that_time_and_content_differ() {
        assert!(stamp(1, "a").has_changed(&stamp(2, "b")));
        assert!(!stamp(1, "a").has_changed(&stamp(2, "a")), "touched");
        assert!(!stamp(1, "a").has_changed(&stamp(1, "b")), "the time is the same");
        let large = |modified| FileStamp { modified, digest: None };
        assert!(large(1).has_changed(&large(2)), "of a large file the time decides");
    }

    #[test]
    fn b_1_what_was_read_is_remembered_within_a_bound() {
        let mut state = ReadState::default();
        for number in 0..=FILES_MAX {
            state.note(&format!("/{number}"), stamp(0, "a"));
            state.note("/first", stamp(0, "a"));
        }
        assert_eq!(state.stamp("/0"), None);
        assert!(state.stamp("/first").is_some() && state.stamp("/1000").is_some());
        assert_eq!(state.files.len(), FILES_MAX);
    }
}
