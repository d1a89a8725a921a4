//! The files of folders in which agents keep sessions.
//!
//! Nothing is opened here. Links are not followed, so no folder is searched twice and none for ever. What is neither a file nor a folder is told.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use reenact_wire::prelude::*;

/// How the names of files end that may hold sessions.
const ENDINGS: [&str; 8] = [".jsonl", ".json", ".db", ".sqlite", ".sqlite3", "-wal", "-shm", "-journal"];

/// A file that may hold sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFileEntry {
    /// Its path.
    pub path: PathBuf,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was written last, where the file system knows.
    pub changed_at: Option<SystemTime>,
}

impl SessionFileEntry {
    /// The file at this path; `None` where there is no such file.
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().filter(Metadata::is_file).map(|data| Self::new(path.to_path_buf(), &data))
    }

    fn new(path: PathBuf, data: &Metadata) -> Self {
        Self { path, bytes: data.len(), changed_at: data.modified().ok() }
    }
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundSessionFiles {
    /// In the order of their paths.
    pub files: Vec<SessionFileEntry>,
    /// The paths that could not be looked at, and why.
    pub left_out: Vec<(PathBuf, String)>,
    /// How many files of folders do not look like sessions by their names.
    pub others: usize,
}

/// The files at these paths and in the folders at them, each once. A file that is named is taken whatever its name is, and a link that is named is followed.
pub fn search(paths: &[PathBuf]) -> FoundSessionFiles {
    let mut found = FoundSessionFiles::default();
    for path in paths {
        match fs::metadata(path) {
            Ok(data) if data.is_dir() => found.search_folder(path),
            Ok(data) if data.is_file() => found.add(path.clone(), &data),
            Ok(_) => found.leave_out(path, "it is a pipe or a device, and no file".into()),
            Err(error) => found.leave_out(path, unread(&error)),
        }
    }
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    // One path may lead into another one, and by another way.
    let mut known = BTreeSet::new();
    found.files.retain(|file| paths.len() < 2 || known.insert(fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone())));
    found
}

/// The files of one folder, in the order of their paths; none where it is not there.
pub fn files_in(folder: &Path) -> Vec<SessionFileEntry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<SessionFileEntry> = entries.filter_map(|entry| SessionFileEntry::at(&entry.path())).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

fn unread(error: &io::Error) -> String {
    format!("it cannot be read ({error})")
}

impl FoundSessionFiles {
    fn search_folder(&mut self, folder: &Path) {
        let mut folders = vec![folder.to_path_buf()];
        while let Some(next) = folders.pop() {
            let entries = match fs::read_dir(&next) {
                Ok(entries) => entries,
                Err(error) => {
                    self.leave_out(&next, unread(&error));
                    continue;
                }
            };
            for entry in entries {
                let (path, data) = match entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))) {
                    Ok(found) => found,
                    Err(error) => {
                        self.leave_out(&next, format!("an entry of it cannot be read ({error})"));
                        continue;
                    }
                };
                let kind = data.file_type();
                match () {
                    () if kind.is_dir() => folders.push(path),
                    () if kind.is_symlink() => self.leave_out(&path, "it is a link and was not followed: name its target".into()),
                    () if !may_be_session(&path) => self.others += 1,
                    () if kind.is_file() => self.add(path, &data),
                    () => self.leave_out(&path, "it is a pipe or a device, and no file".into()),
                }
            }
        }
    }

    fn add(&mut self, path: PathBuf, data: &Metadata) {
        self.files.push(SessionFileEntry::new(path, data));
    }

    fn leave_out(&mut self, path: &Path, problem: String) {
        self.left_out.push((path.to_path_buf(), problem));
    }
}

fn may_be_session(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn v_9_files_of_folders_are_found_once_and_what_is_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fs::create_dir_all(at.join("a/b")).unwrap();
        for name in ["a/b/1.jsonl", "a/2.json", "a/notes.md", "a/named"] {
            fs::write(at.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(at, at.join("a/b/loop")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at.join("a/fifo.jsonl")).status().unwrap().success());
        let found = search(&[at.to_path_buf(), at.join("a/b/../2.json"), at.join("a/named"), at.join("none")]);
        let names: Vec<String> = found.files.iter().map(|file| file.path.strip_prefix(at).unwrap().display().to_string()).collect();
        assert_eq!(names, ["a/2.json", "a/b/1.jsonl", "a/named"]);
        assert_eq!(found.others, 2, "notes.md, and `named` in its folder");
        let left_out: Vec<&str> = found.left_out.iter().map(|(_, problem)| &**problem).collect();
        assert_eq!(left_out.len(), 3, "{left_out:?}");
        for part in ["a link and was not followed", "a pipe or a device", "cannot be read (No such file"] {
            assert!(left_out.iter().any(|problem| problem.contains(part)), "{part}: {left_out:?}");
        }
    }
}
