//! Opening files for reading: regular files only, and no more of them than was asked for (K-12).
//!
//! A pipe waits for a writer, perhaps for ever, and a device may have no end. Neither is what somebody means who names a file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Opens a regular file for reading; links are followed.
///
/// # Errors
/// Those of the file system, and when it is a folder, a pipe, a device or a socket. It never waits.
#[doc(hidden)]
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Without this flag a pipe is opened when somebody writes to it. To regular files it makes no difference.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    match () {
        () if kind.is_file() => Ok(file),
        () if kind.is_dir() => Err(ErrorKind::IsADirectory.into()),
        () => Err(io::Error::new(ErrorKind::InvalidInput, "a pipe or a device, and no file: write its contents to a file and name that")),
    }
}

/// Reads a regular file of at most `bytes_max` bytes.
///
/// # Errors
/// As [`open`], and when the file is larger.
#[doc(hidden)]
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let too_large = || io::Error::new(ErrorKind::FileTooLarge, format!("larger than {} MiB", bytes_max >> 20));
    let length = file.metadata()?.len();
    if length > bytes_max {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX)).map_err(|_| ErrorKind::OutOfMemory)?;
    // It may grow while it is read.
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(too_large()) } else { Ok(bytes) }
}

/// The first bytes of a regular file, at most `count` of them.
///
/// # Errors
/// As [`open`].
#[doc(hidden)]
pub fn beginning(path: &Path, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Editors on Windows put it in front of UTF-8. It is no part of the text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Whether a file begins so, be there a byte order mark or not.
#[doc(hidden)]
pub fn begins_with(path: &Path, mark: &str) -> bool {
    let length = BYTE_ORDER_MARK.len() + mark.len();
    beginning(path, length as u64).is_ok_and(|bytes| bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes).starts_with(mark.as_bytes()))
}

/// Whether a file begins so, or is empty: one of ours, which may be written anew.
#[doc(hidden)]
pub fn is_ours(path: &Path, mark: &str) -> bool {
    beginning(path, mark.len() as u64).is_ok_and(|bytes| bytes.is_empty() || bytes == mark.as_bytes())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn k_12_only_regular_files_are_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for path in [fifo.as_path(), Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert!(read(path, 10).unwrap_err().to_string().starts_with("a pipe or a device"), "{}", path.display());
        }
        assert_eq!(read(folder.path(), 10).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(read(&folder.path().join("none"), 10).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn k_12_a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert_eq!(read(&path, 9).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(beginning(&path, 3).unwrap(), b"012");
    }
}
