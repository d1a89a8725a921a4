//! Sessions that go on from a line of another file of their folder. Claude Code 1.0 writes such.

use std::path::{Path, PathBuf};

use reenact_files::open;
use reenact_files::session_files::files_in;
use reenact_stores::conversation::StoredConversation;
use reenact_stores::{StoreFile, StoreFormat, shortened};
use reenact_wire::prelude::*;

use super::FILE_BYTES_MAX;

/// The conversations of a file, each with the past that other files of its folder have. `conversations` are those of the file alone; they stay where no other
/// file has more.
pub(super) fn with_beginnings(
    path: &Path,
    file: &StoreFile<'_>,
    format: StoreFormat,
    mut conversations: Vec<StoredConversation>,
) -> Vec<StoredConversation> {
    // The oldest first.
    let mut beginnings: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    loop {
        let parents = missing_parents(&conversations);
        if parents.is_empty() || !format.goes_on_elsewhere() {
            return conversations;
        }
        let is_read = |path: &Path| beginnings.iter().any(|(read, _)| read == path);
        let Some(beginning) = beginning(path, format, &parents, is_read) else { return conversations };
        beginnings.insert(0, beginning);
        let short: Vec<_> = beginnings.iter().map(|(path, bytes)| (path.to_string_lossy(), shortened(bytes))).collect();
        let files: Vec<StoreFile<'_>> = short.iter().map(|(name, bytes)| StoreFile { name, bytes }).collect();
        match format.read_with_beginnings(file, &files) {
            Ok(joined) if !joined.is_empty() => conversations = joined,
            // A file of another format, which has the id by chance.
            _ => return conversations,
        }
    }
}

/// The lines that the conversations go on from and that no file has which was read.
fn missing_parents(conversations: &[StoredConversation]) -> Vec<Arc<str>> {
    let damages = conversations.iter().flat_map(|conversation| conversation.remarks.damages());
    damages.filter_map(|damage| damage.missing_parent.clone()).collect()
}

/// Another file of the folder with one of these lines.
fn beginning(path: &Path, format: StoreFormat, parents: &[Arc<str>], is_read: impl Fn(&Path) -> bool) -> Option<(PathBuf, Vec<u8>)> {
    let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
    let others = files_in(folder).into_iter().map(|file| file.path);
    let is_candidate =
        |other: &PathBuf| other.file_name() != path.file_name() && other.extension() == path.extension() && !other.is_symlink();
    let candidates = others.filter(|other| is_candidate(other) && !is_read(other));
    let mut read = candidates.filter_map(|other| Some((open::read(&other, FILE_BYTES_MAX).ok()?, other)));
    let found = read.find(|(bytes, _)| parents.iter().any(|parent| format.has_line(bytes, parent)));
    found.map(|(bytes, path)| (path, bytes))
}
