//! Several files that belong together: all of them get their names, or none does (K-12).
//!
//! The files that are replaced are first set aside under another name. Then the new files get their names, and the old ones are removed. An error
//! in between puts everything back. A killed process leaves some of the old files or some of the new ones, never both, and the files that it had
//! set aside. The next set of these files removes those.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::atomic::{self, ExistingFile, UnnamedFile};

/// Where it went wrong, and why.
#[derive(Debug)]
pub struct FileSetError {
    /// The file.
    pub path: PathBuf,
    /// The error of the file system.
    pub source: io::Error,
}

/// Gives all `files` their names, and takes `replaced` away: what has these names, and what else is not wanted any more. Of `replaced` nothing need be
/// there. `is_of_set` knows the names of all files that the set may have had: what a process that was killed has left of them is removed.
///
/// # Errors
/// When a name is taken that is not in `replaced`, when a folder is in the way, and those of the file system. Everything is as it was then.
pub fn publish(files: Vec<UnnamedFile>, replaced: &[PathBuf], is_of_set: &dyn Fn(&str) -> bool) -> Result<(), FileSetError> {
    let first = files.first().map(|file| file.path().to_path_buf());
    let mut change = FileSetChange::default();
    let changed = set_aside(replaced, &mut change).and_then(|()| give_names(files, &mut change));
    match changed {
        Ok(()) => {
            let done = std::mem::take(&mut change.set_aside);
            // The new files are there. What cannot be removed is in nobody's way, and the next set removes it.
            done.iter().for_each(|(_, aside)| drop(std::fs::remove_file(aside)));
            first.iter().for_each(|path| atomic::remove_leftovers(path, is_of_set));
            Ok(())
        }
        Err(error) => {
            change.undo();
            Err(error)
        }
    }
}

/// The names of the plain files in the folder of `path`, in no order; none where the folder cannot be listed. A link is no plain file.
pub fn names_beside(path: &Path) -> Vec<OsString> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.file_name()).collect()
}

/// The steps so far.
#[derive(Debug, Default)]
struct FileSetChange {
    /// Files that were there: their name, and the one that they have meanwhile.
    set_aside: Vec<(PathBuf, PathBuf)>,
    named: Vec<PathBuf>,
}

impl FileSetChange {
    /// Puts everything back. The error that matters is the one before.
    fn undo(self) {
        self.named.iter().for_each(|path| drop(std::fs::remove_file(path)));
        self.set_aside.iter().rev().for_each(|(path, aside)| drop(std::fs::rename(aside, path)));
    }
}

fn set_aside(replaced: &[PathBuf], change: &mut FileSetChange) -> Result<(), FileSetError> {
    for path in replaced {
        let aside = match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Ok(there) if there.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(_) => atomic::free_name(path, |aside| rename_to_free(path, aside)).map(|(aside, ())| aside),
            Err(error) => Err(error),
        };
        change.set_aside.push((path.clone(), aside.map_err(|source| FileSetError { path: path.clone(), source })?));
    }
    Ok(())
}

/// A plain rename would replace what has the name. Names that are set aside hold the number of this process, so nobody takes one in between.
fn rename_to_free(path: &Path, aside: &Path) -> io::Result<()> {
    match aside.symlink_metadata() {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(path, aside),
    }
}

fn give_names(files: Vec<UnnamedFile>, change: &mut FileSetChange) -> Result<(), FileSetError> {
    for file in files {
        let path = file.path().to_path_buf();
        match file.publish(ExistingFile::IsAnError) {
            Ok(()) => change.named.push(path),
            Err(source) => return Err(FileSetError { path, source }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::atomic::FileAccess;

    fn new_file(path: &Path) -> UnnamedFile {
        let mut file = UnnamedFile::create(path, FileAccess::Everyone).unwrap();
        file.write_all(b"new").unwrap();
        file
    }

    fn contents(folder: &Path) -> Vec<(String, String)> {
        let read = |path: PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap());
        let mut all: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).map(read).collect();
        all.sort();
        all
    }

    #[test]
    fn k_12_a_set_of_files_replaces_all_of_another_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "b", "old"] {
            std::fs::write(at(name), name).unwrap();
        }
        let before = contents(folder.path());
        let replaced = ["a", "b", "c", "old"].map(at);
        let is_of_set = |name: &str| name != "x";
        // `d` is nothing that may be replaced, and `e` is a folder.
        std::fs::write(at("d"), "d").unwrap();
        std::fs::create_dir(at("e")).unwrap();
        let error = publish(["a", "b", "d"].map(|name| new_file(&at(name))).into(), &replaced, &is_of_set).unwrap_err();
        assert_eq!((error.path, error.source.kind()), (at("d"), ErrorKind::AlreadyExists));
        let with_folder: Vec<PathBuf> = replaced.iter().cloned().chain([at("e")]).collect();
        assert_eq!(publish(["a", "e"].map(|name| new_file(&at(name))).into(), &with_folder, &is_of_set).unwrap_err().path, at("e"));
        std::fs::remove_file(at("d")).unwrap();
        assert_eq!(contents(folder.path()), before, "everything is as it was");
        // What a process that is gone has set aside goes with the next set; what is of another set stays.
        std::fs::write(at(".b.4194305.tmp"), "left").unwrap();
        std::fs::write(at(".x.4194305.tmp"), "left").unwrap();
        publish(["a", "b", "c"].map(|name| new_file(&at(name))).into(), &replaced, &is_of_set).unwrap();
        let names: Vec<String> = contents(folder.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".x.4194305.tmp", "a", "b", "c"]);
    }
}
