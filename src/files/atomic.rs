//! Writing a file whole or not at all, so that a run that is stopped half-way leaves no broken file behind (K-12).
//!
//! A file is filled before it has its name. It gets the name when it is whole: a name that was free, or that of the file which it replaces. It is
//! never written through a link.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The permitted readers of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Everyone whom the process lets, as the umask has it.
    Everyone,
    /// Its owner alone: it may hold secrets.
    Owner,
}

/// The treatment of an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFile {
    /// Nothing is written.
    IsAnError,
    /// The new one takes its place.
    IsReplaced,
}

/// Writes `contents` to `path` and replaces what is there; makes missing folders.
///
/// A concurrent reader of `path` sees the old or the new contents, never a part. The data is not forced to the disk first: what is written
/// here can be made again by running again, and a sync for each of a thousand files would be the slowest part of a run.
///
/// # Errors
/// Those of the file system; `path` is as it was then.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_with(path, FileAccess::Everyone, |file| file.write_all(contents))
}

/// The same for contents that are written piece by piece.
///
/// # Errors
/// As [`write()`], and those of `contents`.
pub fn write_with(path: &Path, access: FileAccess, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = UnnamedFile::create(path, access)?;
    contents(&mut file)?;
    file.publish(ExistingFile::IsReplaced)
}

/// Makes an empty file to append to, where none is.
///
/// # Errors
/// When something has this name, also a link that leads nowhere; and those of the file system.
#[doc(hidden)]
pub fn create_new(path: &Path, access: FileAccess) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(mode(access));
    }
    options.open(path)
}

/// Puts an empty file to append to in the place of what is there.
///
/// # Errors
/// Those of the file system.
#[doc(hidden)]
pub fn replace_by_empty(path: &Path, access: FileAccess) -> io::Result<File> {
    let (temporary, file) = create_beside(path, access)?;
    named(&temporary, path).map(|()| file)
}

/// A file that has no name yet. Dropped without one it is gone.
#[derive(Debug)]
#[doc(hidden)]
pub struct UnnamedFile {
    file: BufWriter<File>,
    path: PathBuf,
    /// Its name meanwhile, where the system has no files without one.
    temporary: Option<PathBuf>,
}

impl UnnamedFile {
    /// One that will be at `path`; makes missing folders.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, access: FileAccess) -> io::Result<Self> {
        std::fs::create_dir_all(folder(path))?;
        let (temporary, file) = match unnamed(folder(path), access) {
            Some(file) => (None, file),
            None => create_beside(path, access).map(|(temporary, file)| (Some(temporary), file))?,
        };
        Ok(Self { file: BufWriter::new(file), path: path.to_path_buf(), temporary })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// When something has this name that is not to be replaced; and those of the file system. `path` is as it was then.
    pub fn publish(mut self, existing: ExistingFile) -> io::Result<()> {
        self.file.flush()?;
        match (self.temporary.take(), existing) {
            (None, ExistingFile::IsAnError) => link(self.file.get_ref(), &self.path),
            (None, ExistingFile::IsReplaced) => {
                let (temporary, ()) = free_name(&self.path, |temporary| link(self.file.get_ref(), temporary))?;
                named(&temporary, &self.path)
            }
            (Some(temporary), ExistingFile::IsReplaced) => named(&temporary, &self.path),
            (Some(temporary), ExistingFile::IsAnError) => {
                // A link to what is there fails where a rename would replace it.
                let linked = std::fs::hard_link(&temporary, &self.path);
                std::fs::remove_file(&temporary).and(linked)
            }
        }
    }
}

impl Write for UnnamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for UnnamedFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The error that matters is the one before.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn mode(access: FileAccess) -> u32 {
    match access {
        FileAccess::Everyone => 0o666,
        FileAccess::Owner => 0o600,
    }
}

/// A file that vanishes with the process, however that ends; `None` where the system has none.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path, access: FileAccess) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder, flags, Mode::from_raw_mode(mode(access))).ok()?;
    // Without this folder it could not be given a name.
    Path::new("/proc/self/fd").is_dir().then(|| file.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path, _: FileAccess) -> Option<File> {
    None
}

/// Gives an unnamed file this name, if it is free.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(rustix::fs::CWD, own, rustix::fs::CWD, path, rustix::fs::AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A new file beside `path`, because a rename is atomic only within one file system.
fn create_beside(path: &Path, access: FileAccess) -> io::Result<(PathBuf, File)> {
    free_name(path, |temporary| create_new(temporary, access))
}

/// `.name.PID.tmp` in the same folder, or `.name.PID-1.tmp` where a process that was killed has left that, and so on.
pub(super) fn free_name<T>(path: &Path, mut make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    for number in 0..NAMES_MAX {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        let again = if number == 0 { String::new() } else { format!("-{number}") };
        temporary.push(format!(".{}{again}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match make(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            made => return made.map(|made| (temporary, made)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes what processes that are gone have left in a folder under names of [`free_name`], of files whose names are wanted.
pub(super) fn remove_leftovers(beside: &Path, is_wanted: &dyn Fn(&str) -> bool) {
    // Leftovers do no harm: where the folder cannot be listed, they stay.
    for entry in std::fs::read_dir(folder(beside)).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let parts = file.to_str().and_then(|file| file.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.'));
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if parts.is_some_and(|(name, process)| !is_folder && is_wanted(name) && is_of_a_process_that_is_gone(process)) {
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// `PID` or `PID-1`.
#[cfg(unix)]
fn is_of_a_process_that_is_gone(middle: &str) -> bool {
    let (process, again) = middle.split_once('-').unwrap_or((middle, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let process = process.parse().ok().filter(|_| is_number(process) && is_number(again)).and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_of_a_process_that_is_gone(_: &str) -> bool {
    false
}

/// How many names are tried.
const NAMES_MAX: u32 = 1_000;

/// Renames, or removes what cannot be renamed.
fn named(temporary: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(temporary, path).inspect_err(|_| {
        // The error that matters is the first one.
        std::fs::remove_file(temporary).ok();
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_beside() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("deep/er/a.txt");
        write(&path, b"a longer text").expect("a first write");
        write(&path, b"short").expect("a second write");
        assert_eq!(std::fs::read(&path).expect("the file"), b"short");
        assert_eq!(std::fs::read_dir(path.parent().expect("a folder")).expect("its entries").count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let occupied = folder.path().join("a");
        std::fs::create_dir_all(occupied.join("b")).expect("a folder in the way");
        assert!(write(&occupied, b"text").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("its entries").count(), 1);
    }

    #[test]
    fn k_12_what_may_hold_secrets_is_its_owners_and_never_written_through_a_link() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("other"));
        std::fs::write(&other, "other").unwrap();
        symlink(&other, &path).unwrap();
        assert_eq!(create_new(&path, FileAccess::Owner).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        write_with(&path, FileAccess::Owner, |file| file.write_all(b"new")).unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&other).unwrap()), (b"new".to_vec(), b"other".to_vec()));
        assert_eq!(path.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_file(&path).unwrap();
        symlink(folder.path().join("nowhere"), &path).unwrap();
        drop(replace_by_empty(&path, FileAccess::Owner).unwrap());
        assert_eq!(path.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!folder.path().join("nowhere").exists());
    }

    #[test]
    fn k_12_a_file_has_no_name_before_it_is_whole_and_takes_none_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = UnnamedFile::create(&path, FileAccess::Owner).unwrap();
        file.write_all(b"new").unwrap();
        assert!(!path.exists());
        std::fs::write(&path, "old").unwrap();
        assert_eq!(file.publish(ExistingFile::IsAnError).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        // What a process with the same number has left behind is in nobody's way.
        std::fs::write(folder.path().join(format!(".a.{}.tmp", std::process::id())), "left").unwrap();
        write(&path, b"newer").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"newer");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
