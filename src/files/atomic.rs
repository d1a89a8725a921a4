//! Writing a file whole or not at all, so that a run that is stopped half-way leaves no broken file behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes `contents` to `path` by way of a file beside it that is renamed; makes missing folders.
///
/// A concurrent reader of `path` sees the old or the new contents, never a part. The data is not forced to the disk first: what is written
/// here can be made again by running again, and a sync for each of a thousand files would be the slowest part of a run.
///
/// # Errors
/// Those of the file system; the file beside is removed, and `path` is as it was.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(contents))
}

/// The same for contents that are written piece by piece.
///
/// # Errors
/// As [`write()`], and those of `contents`.
pub fn write_with(path: &Path, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let temporary = temporary_path(path)?;
    let filled = File::create(&temporary).and_then(|file| {
        let mut file = BufWriter::new(file);
        contents(&mut file)?;
        file.flush()
    });
    let written = filled.and_then(|()| std::fs::rename(&temporary, path));
    written.inspect_err(|_| {
        // The error that matters is the first one.
        std::fs::remove_file(&temporary).ok();
    })
}

/// `.name.PID.tmp` in the same folder, because a rename is atomic only within one file system. Two processes do not share a name; two threads
/// of one process must not write the same path, which would be a mistake anyway.
fn temporary_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(temporary))
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
}
