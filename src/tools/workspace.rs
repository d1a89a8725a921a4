//! The files and folders that tools work on, under absolute paths.

use core::ops::ControlFlow;

use reenact_wire::prelude::*;

use crate::read_state::ContentDigest;
use crate::search::pattern::{MatchedLine, SearchPattern};
use crate::shell_run::{CallStep, ShellRun};

/// Files, for tools. All paths are absolute and normal: no `.`, no `..`, no slash at the end. [`Workspace::resolve`] makes them so.
pub trait Workspace {
    /// The folder that relative paths are meant from.
    fn working_directory(&self) -> &str;

    /// The normal path of a file behind all links, also those of its parents; of a file that is not there as well (P-4).
    ///
    /// # Errors
    /// A loop of links, or a folder that may not be looked into.
    fn resolve(&self, path: &str) -> Result<String, FileProblem>;

    /// The facts about a file or folder that need no reading.
    ///
    /// # Errors
    /// It is not there, or may not be looked at.
    fn facts(&self, path: &str) -> Result<EntryFacts, FileProblem>;

    /// Reads a file piece by piece, until its end or until `piece` breaks off.
    ///
    /// # Errors
    /// It is no file, or may not be read.
    fn read(&self, path: &str, piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), FileProblem>;

    /// The digest of a file's content. A workspace may know it without reading.
    ///
    /// # Errors
    /// It is no file, or may not be read.
    fn digest(&self, path: &str) -> Result<ContentDigest, FileProblem> {
        let mut hasher = blake3::Hasher::new();
        self.read(path, &mut |piece| {
            hasher.update(piece);
            ControlFlow::Continue(())
        })?;
        Ok(ContentDigest::from_hasher(&hasher))
    }

    /// Puts a content in place of the file, whole or not at all, and makes its folders. A file that was there keeps its permissions (B-2).
    ///
    /// # Errors
    /// It may not be written, or there is no room.
    fn write(&mut self, path: &str, content: &[u8]) -> Result<(), FileProblem>;

    /// All files below a folder, in the order of their paths. `.git` and `node_modules` are left out.
    ///
    /// # Errors
    /// It is no folder, or may not be looked into.
    fn files(&self, folder: &str, scope: FileScope) -> Result<Vec<FoundFile>, FileProblem>;

    /// The lines of a file that fit; of a binary file none.
    ///
    /// # Errors
    /// It may not be read.
    fn matches(&self, path: &str, pattern: &SearchPattern) -> Result<Vec<MatchedLine>, FileProblem>;

    /// The same for several files, in their order. A workspace may search them at the same time.
    fn matches_of(&self, paths: &[&str], pattern: &SearchPattern) -> Vec<Result<Vec<MatchedLine>, FileProblem>> {
        paths.iter().map(|path| self.matches(path, pattern)).collect()
    }

    /// Goes on with the commands of a shell (B-5).
    fn run_shell(&mut self, run: &mut ShellRun) -> CallStep;
}

/// Which files below a folder count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileScope {
    /// All of them.
    Whole,
    /// Those that no `.gitignore` names.
    NotIgnored,
}

/// Facts about a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryFacts {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed last, in microseconds on the clock of the workspace.
    pub modified: i64,
    /// How many names the file has: a second one may lie anywhere (P-4).
    pub names: u64,
}

/// A file below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path.
    pub path: String,
    /// When it was changed last.
    pub modified: i64,
}

/// Why a file cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    /// Nothing has this path.
    #[error("no such file or directory")]
    Missing,
    /// A folder stands where a file is meant.
    #[error("it is a directory")]
    IsFolder,
    /// A file stands where a folder is meant.
    #[error("not a directory")]
    NotFolder,
    /// It may not be read or written.
    #[error("permission denied")]
    Denied,
    /// No room is left.
    #[error("no space left on device")]
    Full,
    /// The path leads elsewhere than it did when it was checked (P-4).
    #[error("the path leads elsewhere than when it was checked")]
    Moved,
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// The whole content of a file.
///
/// # Errors
/// It cannot be read, or has more bytes than `most`.
pub fn whole_content(workspace: &(impl Workspace + ?Sized), path: &str, most: usize) -> Result<Vec<u8>, FileProblem> {
    let mut content = Vec::new();
    let mut is_too_large = false;
    workspace.read(path, &mut |piece| {
        is_too_large = content.len() + piece.len() > most;
        if is_too_large {
            return ControlFlow::Break(());
        }
        content.extend_from_slice(piece);
        ControlFlow::Continue(())
    })?;
    if is_too_large { Err(FileProblem::Other(format!("it has more than {most} bytes"))) } else { Ok(content) }
}

/// Folders whose files are left out of every search (B-6).
pub const UNSEARCHED_FOLDERS: [&str; 2] = [".git", "node_modules"];

/// The path behind all links, for a path as the model wrote it.
///
/// # Errors
/// The path, and why it leads nowhere.
pub fn resolved_path(workspace: &(impl Workspace + ?Sized), path: &str) -> Result<String, String> {
    let path = absolute_path(workspace.working_directory(), path);
    workspace.resolve(&path).map_err(|problem| format!("{path}: {problem}"))
}

/// Whether a normal path lies in this folder.
pub fn lies_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The path from the root, with all that the model wrote: what `..` means behind a link only the workspace knows.
pub fn absolute_path<'a>(working_directory: &str, path: &'a str) -> Cow<'a, str> {
    if path.starts_with('/') { Cow::Borrowed(path) } else { Cow::Owned(format!("{working_directory}/{path}")) }
}

/// The normal form of an absolute path, or of a relative one from the working directory. `..` is taken at its word.
pub fn normal_path(working_directory: &str, path: &str) -> String {
    let whole = absolute_path(working_directory, path);
    let components = reenact_engine::permission::path::components(&whole);
    format!("/{}", components.join("/"))
}
