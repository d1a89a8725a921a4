//! The traces that a client leaves on the disk: changed files in its working directory, and its sessions (K-9).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::environment::with_folder_names;
use super::path_pattern;
use super::profile::{ClientProfile, ProfileNames, StorePlace};
use reenact_files::open;
use reenact_stores::conversation::{StoredBranch, StoredConversation};
use reenact_stores::{StoreFile, StoreFormat};
use reenact_wire::prelude::*;

/// All that is read of one store.
const STORE_BYTES_MAX: u64 = 64 << 20;

/// How often a store is read that somebody writes meanwhile.
const STORE_READINGS_MAX: usize = 5;

/// The most files of a working directory that are looked at.
const FILES_MAX: usize = 10_000;

/// The files of a working directory at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FolderState(Vec<FileTrace>);

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTrace {
    /// Its path below the working directory.
    pub path: String,
    /// When it was written last.
    pub written_at: SystemTime,
    bytes: u64,
}

/// The sessions that a client has stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSessions {
    /// The files that were read.
    pub files: usize,
    /// Where there is no file: the nearest folder that is there, and what it holds.
    pub nearest: Option<String>,
    /// Their format; `None` where the profile names none that is known.
    pub format: Option<StoreFormat>,
    /// The conversations of all files.
    pub conversations: Vec<StoredConversation>,
    /// Why a file is not among them.
    pub problems: Vec<String>,
}

/// The traces of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientTraces {
    /// The files that the client and its commands made or changed until the client had ended.
    pub changed: Vec<FileTrace>,
    /// The same from then on until the second command had ended.
    pub changed_again: Vec<FileTrace>,
    /// When the client was acted on.
    pub acted_at: Option<SystemTime>,
    /// The sessions that it had stored by then; `None` where its profile does not say where.
    pub stored: Option<StoredSessions>,
    /// The same when the second command had ended.
    pub stored_again: Option<StoredSessions>,
}

impl FolderState {
    pub(super) fn read(folder: &Path) -> Self {
        let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
                // What a command removes meanwhile is no trace.
                let Ok(data) = entry.metadata() else { continue };
                let path = entry.path();
                if data.is_dir() {
                    folders.push(path);
                } else if let (Ok(written_at), Ok(below)) = (data.modified(), path.strip_prefix(folder)) {
                    found.push(FileTrace { path: below.display().to_string(), written_at, bytes: data.len() });
                }
                if found.len() + folders.len() > FILES_MAX {
                    return Self(found);
                }
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Self(found)
    }

    /// The files that are other than before.
    pub(super) fn changed_since(self, before: &Self) -> Vec<FileTrace> {
        self.0.into_iter().filter(|file| !before.0.contains(file)).collect()
    }
}

impl StoredSessions {
    /// Reads the store of a profile. Files are called as the profile calls them, with `folders` shown by their names.
    pub(super) fn read(profile: Option<&ClientProfile>, names: &ProfileNames, folders: &[(String, &'static str)]) -> Option<Self> {
        let StorePlace { files, format } = profile?.store.as_ref()?;
        let format_known = StoreFormat::from_word(format);
        let mut sessions = Self { files: 0, nearest: None, format: format_known, conversations: Vec::new(), problems: Vec::new() };
        let Some(known_format) = sessions.format else {
            let known = StoreFormat::ALL.map(StoreFormat::as_str).join(", ");
            sessions.problems.push(format!("the profile names the format `{format}` of its store: write one of {known}"));
            return Some(sessions);
        };
        let pattern = names.fill(files);
        let read = sessions.read_files(&pattern, folders);
        sessions.files = read.len();
        sessions.nearest = if read.is_empty() { nearest_folder(&pattern, folders) } else { None };
        let files: Vec<StoreFile<'_>> = read.iter().map(|(name, bytes)| StoreFile { name, bytes }).collect();
        // One file that cannot be read must not hide the others. Only opencode needs all of them for one session.
        let groups: Vec<&[StoreFile<'_>]> = if known_format == StoreFormat::Opencode { vec![&files] } else { files.chunks(1).collect() };
        for group in groups {
            match known_format.read(group) {
                Ok(conversations) => sessions.conversations.extend(conversations),
                Err(error) => sessions.problems.push(format!("the stored session cannot be read: {error}")),
            }
        }
        Some(sessions)
    }

    /// The id of the session that was written last.
    pub(super) fn newest_session(&self) -> Option<String> {
        let mut sessions = self.conversations.iter().rev().filter(|conversation| conversation.branch == StoredBranch::Main);
        sessions.find_map(|conversation| conversation.session.as_deref().map(Into::into))
    }

    /// The files of a pattern, each with its name. They are read again as long as one of them was written meanwhile, so that they fit together. Nothing is
    /// locked: who writes them is not disturbed.
    fn read_files(&mut self, pattern: &str, folders: &[(String, &'static str)]) -> Vec<(String, Vec<u8>)> {
        for _ in 1..STORE_READINGS_MAX {
            let before = file_states(pattern);
            let read = self.read_files_once(&before, folders);
            if file_states(pattern) == before {
                return read;
            }
            self.problems.clear();
        }
        self.read_files_once(&file_states(pattern), folders)
    }

    fn read_files_once(&mut self, files: &[FileState], folders: &[(String, &'static str)]) -> Vec<(String, Vec<u8>)> {
        let mut left = STORE_BYTES_MAX;
        let mut read: Vec<(String, Vec<u8>)> = Vec::new();
        for (path, _) in files {
            let shown = with_folder_names(&path.display().to_string(), folders);
            match open::read(path, left) {
                Ok(bytes) => {
                    left -= bytes.len() as u64;
                    read.push((shown, bytes));
                }
                Err(error) => self.problems.push(format!("{shown} cannot be read: {error}")),
            }
        }
        read
    }
}

/// The deepest folder of a pattern that is there, with some of its entries.
fn nearest_folder(pattern: &str, folders: &[(String, &'static str)]) -> Option<String> {
    const ENTRIES_MAX: usize = 6;
    let fixed = pattern.split('*').next().unwrap_or_default();
    let folder = Path::new(fixed).ancestors().find(|folder| folder.is_dir())?;
    let mut entries: Vec<String> =
        fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    entries.sort_unstable();
    let more = if entries.len() > ENTRIES_MAX { ", …" } else { "" };
    entries.truncate(ENTRIES_MAX);
    let held = if entries.is_empty() { String::from("nothing") } else { entries.join(", ") };
    Some(format!("{} holds {held}{more}", with_folder_names(&folder.display().to_string(), folders)))
}

/// A file, with its length and the time when it was written.
type FileState = (PathBuf, Option<(u64, SystemTime)>);

/// The files of a pattern as they are now.
fn file_states(pattern: &str) -> Vec<FileState> {
    let state = |path: &PathBuf| fs::metadata(path).and_then(|file| Ok((file.len(), file.modified()?))).ok();
    path_pattern::files(pattern).into_iter().map(|path| (path.clone(), state(&path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_files_that_are_new_or_changed_are_traces() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/same"), "x").unwrap();
        fs::write(folder.path().join("other"), "x").unwrap();
        let before = FolderState::read(folder.path());
        fs::write(folder.path().join("other"), "xy").unwrap();
        fs::write(folder.path().join("a/new"), "").unwrap();
        let changed = FolderState::read(folder.path()).changed_since(&before);
        assert_eq!(changed.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["a/new", "other"]);
    }
}
