//! A file replaced as a whole: a reader, also one after a crash, sees the old one or the new one (B-2).
//!
//! The new content is written in a folder of the working directory that belongs to this process, and then takes the place of the old file. The next
//! process that opens the directory removes such folders of processes that are gone.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use reenact_tools::workspace::FileProblem;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::opening::{open, problem};

/// How the folders of half-written files begin; the number of their process follows.
pub(crate) const PARTIAL_FOLDER: &str = ".reenact-partial-";

/// Puts the content in place of the file.
pub(crate) fn write(root: &str, path: &str, content: &[u8]) -> Result<(), FileProblem> {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = open_or_make(root, if parent.is_empty() { "/" } else { parent })?;
    let before = match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(facts) => Some(facts),
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(problem(errno)),
    };
    let mode = before.map(|facts| Mode::from_raw_mode(facts.st_mode));
    match before.map(|facts| rustix::fs::FileType::from_raw_mode(facts.st_mode)) {
        Some(rustix::fs::FileType::Directory) => return Err(FileProblem::IsFolder),
        Some(rustix::fs::FileType::Symlink) => return Err(FileProblem::Moved),
        _ => (),
    }
    // A file that may not be written is not replaced either, though its folder would allow it.
    if before.is_some() {
        rustix::fs::accessat(&parent, name, rustix::fs::Access::WRITE_OK, AtFlags::empty()).map_err(problem)?;
    }
    let is_below = path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
    let partial = PartialFolder::make(if is_below { None } else { Some(&parent) }, root)?;
    partial.write(content, mode)?;
    rustix::fs::renameat(&partial.folder, PartialFolder::FILE, &parent, name).map_err(problem)?;
    // So that the new name is there after a crash of the machine as well. Some file systems cannot.
    if let Ok(folder) = rustix::fs::openat(&parent, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::fs::fsync(&folder);
    }
    Ok(())
}

/// Removes the folders of half-written files whose processes are gone.
///
/// # Errors
/// When the directory may not be looked into.
pub fn remove_partial_files(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_one = entry.file_name().to_string_lossy().starts_with(PARTIAL_FOLDER) && entry.file_type()?.is_dir();
        if !is_one {
            continue;
        }
        let Ok(folder) = File::open(entry.path()) else { continue };
        // Its process holds a lock as long as it lives.
        if rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// A folder for one file that is being written. It is removed when this is dropped.
struct PartialFolder<'a> {
    /// The folder that it lies in, and its name there.
    place: (Option<&'a OwnedFd>, OwnedFd, String),
    folder: OwnedFd,
}

impl<'a> PartialFolder<'a> {
    const FILE: &'static str = "file";

    /// In the root, or in the folder of a file that lies elsewhere: a file can be renamed inside of one file system alone.
    fn make(parent: Option<&'a OwnedFd>, root: &str) -> Result<Self, FileProblem> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let top = rustix::fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(problem)?;
        let name = format!("{PARTIAL_FOLDER}{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let place = parent.unwrap_or(&top);
        rustix::fs::mkdirat(place, &name, Mode::RWXU).map_err(problem)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(place, &name, flags, Mode::empty()).map_err(problem)?;
        rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).map_err(problem)?;
        Ok(Self { place: (parent, top, name), folder })
    }

    fn write(&self, content: &[u8], mode: Option<Mode>) -> Result<(), FileProblem> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Without a file before it: what the process gives to new files.
        let file = rustix::fs::openat(&self.folder, Self::FILE, flags, Mode::from_raw_mode(0o666)).map_err(problem)?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&file, mode).map_err(problem)?;
        }
        let mut file = File::from(file);
        file.write_all(content).and_then(|()| file.sync_all()).map_err(|error| crate::of_error(&error))
    }
}

impl Drop for PartialFolder<'_> {
    fn drop(&mut self) {
        let (parent, top, name) = &self.place;
        let _ = rustix::fs::unlinkat(&self.folder, Self::FILE, AtFlags::empty());
        let _ = rustix::fs::unlinkat(parent.unwrap_or(top), name.as_str(), AtFlags::REMOVEDIR);
    }
}

/// Opens a folder, and makes it and those above it where they are not there.
fn open_or_make(root: &str, path: &str) -> Result<OwnedFd, FileProblem> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    match open(root, path, flags) {
        Err(FileProblem::Missing) => (),
        other => return other,
    }
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = open_or_make(root, if parent.is_empty() { "/" } else { parent })?;
    match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
        // Somebody else was faster.
        Ok(()) | Err(Errno::EXIST) => open(root, path, flags),
        Err(errno) => Err(problem(errno)),
    }
}
