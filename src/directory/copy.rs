//! A copy of a directory, for tools that may change it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A copy that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedTree {
    /// How many files it has.
    pub files: u64,
    /// The entries that were left out: sockets, pipes, devices, and what may not be read.
    pub left_out: Vec<PathBuf>,
}

/// Copies a directory with its files, links and times into another one, which must not lie in it. Links are copied as links.
///
/// # Errors
/// A folder cannot be read, or the copy cannot be written.
pub fn copy_tree(from: &Path, to: &Path) -> io::Result<CopiedTree> {
    let mut copied = CopiedTree::default();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(to.join(&folder))?;
        for entry in fs::read_dir(from.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let (kind, target) = (entry.file_type()?, to.join(&path));
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
                copied.files += 1;
            } else if kind.is_file() && copy_file(&entry.path(), &target)? {
                copied.files += 1;
            } else {
                copied.left_out.push(path);
            }
        }
    }
    copied.left_out.sort();
    Ok(copied)
}

/// Copies a file with its time; `false` if it may not be read, or is gone.
fn copy_file(from: &Path, to: &Path) -> io::Result<bool> {
    let Ok(source) = fs::File::open(from) else { return Ok(false) };
    fs::copy(from, to)?;
    let modified = source.metadata()?.modified()?;
    // A file that nobody may write has its time all the same in the copy of the system.
    let _ = fs::File::open(to).and_then(|file| file.set_modified(modified));
    Ok(true)
}
