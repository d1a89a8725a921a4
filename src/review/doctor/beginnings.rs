//! Sessions that go on from a line of another file of their folder. Claude Code 1.0 writes such.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use reenact_files::open;
use reenact_files::session_files::files_in;
use reenact_stores::conversation::StoredConversation;
use reenact_stores::{StoreFile, StoreFormat, shortened};
use reenact_wire::prelude::{Cow, String, Vec};

use super::FILE_BYTES_MAX;

/// The file of each line of a folder, by the line's id.
type FolderLines = BTreeMap<Arc<str>, Arc<Path>>;

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
    /// other file has more.
    pub(super) fn join(
        &self,
        path: &Path,
        file: &StoreFile<'_>,
        format: StoreFormat,
        mut conversations: Vec<StoredConversation>,
    ) -> Vec<StoredConversation> {
        // The oldest first.
        let mut beginnings: Vec<(Arc<Path>, Vec<u8>)> = Vec::new();
        while let Some(beginning) = self.beginning(path, format, &conversations, &beginnings) {
            beginnings.insert(0, beginning);
            let short: Vec<(Cow<'_, str>, Cow<'_, [u8]>)> =
                beginnings.iter().map(|(path, bytes)| (path.to_string_lossy(), shortened(bytes))).collect();
            let files: Vec<StoreFile<'_>> = short.iter().map(|(name, bytes)| StoreFile { name, bytes }).collect();
            match format.read_with_beginnings(file, &files) {
                Ok(joined) if !joined.is_empty() => conversations = joined,
                _ => break,
            }
        }
        conversations
    }

    /// A file that is not read yet and has a line which the conversations go on from.
    fn beginning(
        &self,
        path: &Path,
        format: StoreFormat,
        conversations: &[StoredConversation],
        read: &[(Arc<Path>, Vec<u8>)],
    ) -> Option<(Arc<Path>, Vec<u8>)> {
        let damages = conversations.iter().flat_map(|conversation| conversation.remarks.damages());
        let parents: Vec<&Arc<str>> = damages.filter_map(|damage| damage.missing_parent.as_ref()).collect();
        if parents.is_empty() || !format.goes_on_elsewhere() {
            return None;
        }
        let lines = self.folders.get(folder(path))?.get_or_init(|| folder_lines(folder(path), format));
        let is_new = |other: &&Arc<Path>| other.file_name() != path.file_name() && read.iter().all(|(read, _)| read != *other);
        let other = parents.into_iter().filter_map(|parent| lines.get(parent)).find(is_new)?;
        Some((other.clone(), open::read(other, FILE_BYTES_MAX).ok()?))
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The lines of the files of JSON lines in a folder. An id that stands twice means the first of its files.
fn folder_lines(folder: &Path, format: StoreFormat) -> FolderLines {
    let mut lines = FolderLines::new();
    let paths = files_in(folder).into_iter().map(|file| file.path);
    for path in paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl") && !path.is_symlink()) {
        let Ok(bytes) = open::read(&path, FILE_BYTES_MAX) else { continue };
        let path: Arc<Path> = path.into();
        for id in format.line_ids(&bytes) {
            lines.entry(String::into_boxed_str(id).into()).or_insert_with(|| path.clone());
        }
    }
    lines
}
