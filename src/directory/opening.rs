//! Files opened without following a link on the way (P-4).

use std::fs::File;
use std::os::fd::OwnedFd;

use reenact_tools::workspace::FileProblem;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// Opens what has this path, which leads through no link. Below the root nothing of another file system is opened either: a folder that is mounted
/// there may be one from elsewhere.
pub(crate) fn open(root: &str, path: &str, flags: OFlags) -> Result<OwnedFd, FileProblem> {
    let below = path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let (start, rest) = match below {
        Some(rest) => (root, rest.trim_start_matches('/')),
        None => ("/", path.trim_start_matches('/')),
    };
    let start = rustix::fs::open(start, OFlags::DIRECTORY | OFlags::CLOEXEC | start_flags(), Mode::empty()).map_err(problem)?;
    if rest.is_empty() {
        return Ok(start);
    }
    open_below(&start, rest, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, below.is_some())
}

/// Opens a file for reading. What is no file is not opened: to read a pipe or a device might never end.
pub(crate) fn open_file(root: &str, path: &str) -> Result<File, FileProblem> {
    let file = open(root, path, OFlags::RDONLY | OFlags::NONBLOCK)?;
    let facts = rustix::fs::fstat(&file).map_err(problem)?;
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        FileType::Directory => Err(FileProblem::IsFolder),
        _ => Err(FileProblem::Other(String::from("it is no regular file"))),
    }
}

#[cfg(target_os = "linux")]
fn start_flags() -> OFlags {
    OFlags::PATH
}

#[cfg(not(target_os = "linux"))]
fn start_flags() -> OFlags {
    OFlags::RDONLY
}

#[cfg(target_os = "linux")]
pub(crate) fn open_below(start: &OwnedFd, path: &str, flags: OFlags, stays: bool) -> Result<OwnedFd, FileProblem> {
    use rustix::fs::ResolveFlags;
    let mut resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    if stays {
        resolve |= ResolveFlags::NO_XDEV;
    }
    loop {
        match rustix::fs::openat2(start, path, flags, Mode::empty(), resolve) {
            // The kernel could not tell whether something was moved in the meantime.
            Err(Errno::AGAIN | Errno::INTR) => (),
            // An old kernel, or one whose sandbox does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => return open_by_parts(start, path, flags),
            other => return other.map_err(problem),
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open_below(start: &OwnedFd, path: &str, flags: OFlags, _: bool) -> Result<OwnedFd, FileProblem> {
    open_by_parts(start, path, flags)
}

/// Opens one folder after the other, no link among them.
fn open_by_parts(start: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd, FileProblem> {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    let mut at: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let here = at.as_ref().unwrap_or(start);
        if part == ".." {
            return Err(FileProblem::Moved);
        }
        let flags = if parts.peek().is_some() { OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | start_flags() } else { flags };
        at = Some(rustix::fs::openat(here, part, flags, Mode::empty()).map_err(problem)?);
    }
    at.ok_or(FileProblem::Missing)
}

/// The problem that a system's error is.
pub(crate) fn problem(errno: Errno) -> FileProblem {
    match errno {
        Errno::NOENT => FileProblem::Missing,
        Errno::ISDIR => FileProblem::IsFolder,
        Errno::NOTDIR => FileProblem::NotFolder,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => FileProblem::Denied,
        Errno::NOSPC | Errno::DQUOT => FileProblem::Full,
        // A link stands where none was, or another file system.
        Errno::LOOP | Errno::XDEV => FileProblem::Moved,
        other => FileProblem::Other(other.to_string()),
    }
}
