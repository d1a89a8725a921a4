//! A directory as the workspace of built-in tools (B-1 to B-7): files are opened without following links, and written whole or not at all.
//!
//! ```text
//!   path of the model ── resolve ──> path behind all links ── decision (P-4) ──> opened from the root, no link followed
//!                                                                             └──> a link by now: FileProblem::Moved
//! ```
//!
//! Between the decision about a path and its use another process may put a link in its place. So nothing is opened by a path alone: the system is asked to
//! follow no link on the way.

#![cfg(unix)]

mod copy;
mod opening;
mod replacement;
mod search;

use core::ops::ControlFlow;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use reenact_tools::search::pattern::{MatchedLine, SearchPattern};
use reenact_tools::shell_run::{CallStep, ShellRun};
use reenact_tools::workspace::{EntryFacts, FileProblem, FileScope, FoundFile, Workspace};
use rustix::fs::OFlags;

pub use copy::{CopiedTree, copy_tree};
pub use replacement::remove_partial_files;

/// A directory with its files.
#[derive(Debug)]
pub struct DirectoryWorkspace {
    /// Its path behind all links.
    root: String,
}

impl DirectoryWorkspace {
    /// The directory at this path. What a killed process has left of half a write is removed.
    ///
    /// # Errors
    /// It is not a directory, its path is not UTF-8, or it may not be looked into.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(path)?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is no directory", root.display())));
        }
        let root =
            root.into_os_string().into_string().map_err(|path| io::Error::other(format!("{} is not UTF-8", path.to_string_lossy())))?;
        remove_partial_files(Path::new(&root))?;
        Ok(Self { root })
    }
}

impl Workspace for DirectoryWorkspace {
    fn working_directory(&self) -> &str {
        &self.root
    }

    fn resolve(&self, path: &str) -> Result<String, FileProblem> {
        resolved(Path::new(path), LINKS_MAX)?
            .into_os_string()
            .into_string()
            .map_err(|_| FileProblem::Other(String::from("its path is not UTF-8")))
    }

    fn facts(&self, path: &str) -> Result<EntryFacts, FileProblem> {
        let file = opening::open(&self.root, path, OFlags::PATH)?;
        let facts = rustix::fs::fstat(&file).map_err(opening::problem)?;
        let is_folder = rustix::fs::FileType::from_raw_mode(facts.st_mode).is_dir();
        // Before 1970 and after 294,000 nothing is expected.
        let modified = facts.st_mtime as i64 * 1_000_000 + facts.st_mtime_nsec as i64 / 1_000;
        Ok(EntryFacts { is_folder, size: facts.st_size as u64, modified, names: facts.st_nlink as u64 })
    }

    fn read(&self, path: &str, piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), FileProblem> {
        let mut file = opening::open_file(&self.root, path)?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) if piece(&buffer[..count]).is_break() => return Ok(()),
                Ok(_) => (),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(of_error(&error)),
            }
        }
    }

    fn write(&mut self, path: &str, content: &[u8]) -> Result<(), FileProblem> {
        replacement::write(&self.root, path, content)
    }

    fn files(&self, folder: &str, scope: FileScope) -> Result<Vec<FoundFile>, FileProblem> {
        if !self.facts(folder)?.is_folder {
            return Err(FileProblem::NotFolder);
        }
        search::files(folder, scope)
    }

    fn matches(&self, path: &str, pattern: &SearchPattern) -> Result<Vec<MatchedLine>, FileProblem> {
        search::ContentSearch::new(pattern)?.matches(&opening::open_file(&self.root, path)?)
    }

    fn matches_of(&self, paths: &[&str], pattern: &SearchPattern) -> Vec<Result<Vec<MatchedLine>, FileProblem>> {
        search::matches_of(&self.root, paths, pattern)
    }

    fn run_shell(&mut self, run: &mut ShellRun) -> CallStep {
        run.code = 126;
        run.print_error("the commands of a real shell are run by a driver, and not by the workspace");
        CallStep::Done(run.outcome())
    }
}

/// So many links that lead to nothing are followed.
const LINKS_MAX: usize = 40;

/// The path behind all links. What is not there yet is put behind what is; so many more links to nothing may follow.
fn resolved(path: &Path, links: usize) -> Result<PathBuf, FileProblem> {
    if links == 0 {
        return Err(FileProblem::Other(String::from("too many links")));
    }
    match fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            // A link that leads to nothing: where it leads counts, for a file that will be made.
            Ok(target) => resolved(&path.parent().unwrap_or(Path::new("/")).join(target), links - 1),
            Err(_) => with_parent(path, links - 1),
        },
        Err(error) => Err(of_error(&error)),
    }
}

fn with_parent(path: &Path, links: usize) -> Result<PathBuf, FileProblem> {
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => Ok(resolved(parent, links)?.join(name)),
        // Behind a folder that is not there it means the folder above.
        (Some(parent), Some(Component::ParentDir)) => {
            let parent = resolved(parent, links)?;
            Ok(parent.parent().unwrap_or(Path::new("/")).to_path_buf())
        }
        _ => Err(FileProblem::Missing),
    }
}

/// The problem that a system's error is.
fn of_error(error: &io::Error) -> FileProblem {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(errno) => opening::problem(errno),
        None => FileProblem::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
