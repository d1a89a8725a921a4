//! Sessions that go on from a line of another file of their folder. Claude Code 1.0 writes such.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use reenact_files::open;
use reenact_files::session_files::files_in;
use reenact_stores::conversation::StoredConversation;
use reenact_stores::{StoreFile, StoreFormat, shortened};
use reenact_wire::prelude::{Cow, String, Vec};

use super::{FILE_BYTES_MAX, UnjudgedFile};

/// The lines of a folder's files.
#[derive(Debug, Default)]
struct FolderLines {
    /// The file of each line, by the line's id. An id that stands twice means the first of its files.
    files: BTreeMap<Arc<str>, Arc<Path>>,
    /// The lines that a file goes on from and does not have.
    missing: BTreeMap<Arc<Path>, Vec<Arc<str>>>,
    /// The files whose lines nobody knows.
    unread: Vec<UnjudgedFile>,
}

/// The lines of folders. A folder is read once, and only where a session of it has lost its beginning.
#[derive(Debug)]
pub(super) struct Beginnings {
    folders: BTreeMap<PathBuf, OnceLock<FolderLines>>,
}

impl Beginnings {
    /// For files at these paths. Nothing is read yet.
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a Path>) -> Self {
        Self { folders: paths.map(|path| (folder(path).to_path_buf(), OnceLock::new())).collect() }
    }

    /// The conversations of a file, each with the past that other files of its folder have. `conversations` are those of the file alone; they stay where no
    /// other file has more. `unread` gets the files that may have the past, and cannot be read.
    pub(super) fn join(
        &self,
        path: &Path,
        file: &StoreFile<'_>,
        format: StoreFormat,
        conversations: Vec<StoredConversation>,
        unread: &mut Vec<UnjudgedFile>,
    ) -> Vec<StoredConversation> {
        let damages = conversations.iter().flat_map(|conversation| conversation.remarks.damages());
        let parents: Vec<Arc<str>> = damages.filter_map(|damage| damage.missing_parent.clone()).collect();
        let lines = self.folders.get(folder(path)).filter(|_| !parents.is_empty() && format.goes_on_elsewhere());
        let Some(lines) = lines.map(|lines| lines.get_or_init(|| folder_lines(folder(path), format))) else { return conversations };
        if parents.iter().any(|parent| !lines.files.contains_key(parent)) {
            unread.extend(lines.unread.iter().cloned());
        }
        let paths = lines.beginnings(path, parents);
        let read = |path: Arc<Path>| Some((path.to_string_lossy().into_owned(), open::read(&path, FILE_BYTES_MAX).ok()?));
        let read: Vec<(String, Vec<u8>)> = paths.into_iter().filter_map(read).collect();
        let short: Vec<(&str, Cow<'_, [u8]>)> = read.iter().map(|(name, bytes)| (&**name, shortened(bytes))).collect();
        let files: Vec<StoreFile<'_>> = short.iter().map(|(name, bytes)| StoreFile { name, bytes }).collect();
        let joined = (!files.is_empty()).then(|| format.read_with_beginnings(file, &files)).and_then(Result::ok);
        joined.filter(|joined| !joined.is_empty()).unwrap_or(conversations)
    }
}

impl FolderLines {
    /// The files that the file at `path` goes on from, and those that they go on from, the oldest first.
    fn beginnings(&self, path: &Path, mut parents: Vec<Arc<str>>) -> Vec<Arc<Path>> {
        let (mut found, mut known) = (Vec::new(), BTreeSet::new());
        while let Some(parent) = parents.pop() {
            let other = self.files.get(&parent).filter(|other| other.file_name() != path.file_name());
            if let Some(other) = other.filter(|other| known.insert(Arc::clone(other))) {
                parents.extend(self.missing.get(other).into_iter().flatten().cloned());
                found.push(other.clone());
            }
        }
        found.reverse();
        found
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The lines of the files of JSON lines in a folder.
fn folder_lines(folder: &Path, format: StoreFormat) -> FolderLines {
    let mut lines = FolderLines::default();
    let paths = files_in(folder).into_iter().map(|file| file.path);
    for path in paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl") && !path.is_symlink()) {
        let bytes = match open::read(&path, FILE_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) => {
                let problem = format!("it may have the beginning of a session beside it, and cannot be read ({error})");
                lines.unread.push(UnjudgedFile { path, problem });
                continue;
            }
        };
        let path: Arc<Path> = path.into();
        let (mut ids, mut parents) = (BTreeSet::new(), BTreeSet::new());
        for (id, parent) in format.line_links(&bytes) {
            parents.extend(parent.map(Arc::<str>::from));
            ids.insert(Arc::<str>::from(id));
        }
        lines.missing.insert(path.clone(), parents.difference(&ids).cloned().collect());
        ids.into_iter().for_each(|id| _ = lines.files.entry(id).or_insert_with(|| path.clone()));
    }
    lines
}
