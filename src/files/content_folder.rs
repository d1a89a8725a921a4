//! A folder of files that are named by their content, so that folders are merged by copying (E-6).
//!
//! ```text
//!   FOLDER/progress-1f0c….json      never changed, and there as a whole or not at all
//! ```
//!
//! Two programs may write into one folder: files of one name are equal.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{atomic, open};

/// How long a file is at most.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// So many digits of the digest are in a name.
const NAME_DIGITS: usize = 32;

/// Such a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentFolder {
    path: PathBuf,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ContentFolderError {
    /// The file system does not permit it.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is not what it was.
    #[error("{0}: its content is not the one that it is named for: remove it, and what it held is done again")]
    IsChanged(PathBuf),
}

impl ContentFolder {
    /// Makes the folder where it is not there.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> Result<Self, ContentFolderError> {
        fs::create_dir_all(path).map_err(|source| ContentFolderError::Io { path: path.into(), source })?;
        Ok(Self { path: path.into() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file of a kind, which is a word. When this returns, the file is there and stays.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn add(&self, kind: &str, content: &[u8]) -> Result<(), ContentFolderError> {
        let path = self.path.join(name(kind, content));
        if path.exists() {
            return Ok(());
        }
        atomic::write(&path, content).map_err(|source| ContentFolderError::Io { path, source })
    }

    /// The contents of all files of a kind, in the order of their names. What is no such file is passed over.
    ///
    /// # Errors
    /// Those of the file system, and a file that was changed.
    pub fn contents(&self, kind: &str) -> Result<Vec<Vec<u8>>, ContentFolderError> {
        let io = |path: &Path, source| ContentFolderError::Io { path: path.into(), source };
        let entries = fs::read_dir(&self.path).map_err(|source| io(&self.path, source))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| io(&self.path, source))?.file_name();
            names.extend(entry.into_string().ok().filter(|name| is_of_kind(name, kind)));
        }
        names.sort();
        let read = |file: &String| {
            let path = self.path.join(file);
            let content = open::read(&path, FILE_BYTES_MAX).map_err(|source| io(&path, source))?;
            if name(kind, &content) == *file { Ok(content) } else { Err(ContentFolderError::IsChanged(path)) }
        };
        names.iter().map(read).collect()
    }
}

fn is_of_kind(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-')) && name.ends_with(".json")
}

fn name(kind: &str, content: &[u8]) -> String {
    let digest = blake3::hash(content).to_hex();
    format!("{kind}-{}.json", &digest.as_str()[..NAME_DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_6_files_are_named_by_their_content_and_a_changed_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = ContentFolder::open(&folder.path().join("a").join("b")).unwrap();
        for content in [&b"one"[..], b"two", b"one"] {
            folder.add("part", content).unwrap();
        }
        folder.add("whole", b"three").unwrap();
        fs::write(folder.path().join("notes.txt"), "x").unwrap();
        let mut contents = folder.contents("part").unwrap();
        contents.sort();
        assert_eq!(contents, [b"one".to_vec(), b"two".to_vec()]);
        fs::write(folder.path().join(name("part", b"one")), "none").unwrap();
        assert!(matches!(folder.contents("part"), Err(ContentFolderError::IsChanged(_))));
        assert_eq!(folder.contents("whole").unwrap(), [b"three".to_vec()]);
    }
}
