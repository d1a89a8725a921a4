//! A copy of a directory, for tools that may change it.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// So many bytes are copied. A larger folder is seldom one that an agent works in.
const BYTES_MAX: u64 = 8 << 30;

/// A copy that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedTree {
    /// How many files it has.
    pub files: u64,
    /// The entries that were left out: sockets, pipes, devices, and what may not be read.
    pub left_out: Vec<PathBuf>,
    /// The links that lead out of the directory: they are copied as they are.
    pub links_outside: Vec<PathBuf>,
}

/// Copies a directory with its files, links, permissions and times into another one, which must not lie in it. A link that leads into the directory by an
/// absolute path leads into the copy.
///
/// # Errors
/// The directory cannot be read, the copy cannot be written, or there is too much of it.
pub fn copy_tree(from: &Path, to: &Path) -> io::Result<CopiedTree> {
    let root = from.canonicalize()?;
    let mut copied = CopiedTree::default();
    let mut bytes = 0;
    let mut folders = vec![PathBuf::new()];
    let mut modes = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(from.join(&folder)) {
            Err(_) if !folder.as_os_str().is_empty() => {
                copied.left_out.push(folder);
                continue;
            }
            entries => entries?,
        };
        fs::create_dir_all(to.join(&folder))?;
        modes.push((to.join(&folder), fs::metadata(from.join(&folder))?.permissions()));
        for entry in entries {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let (kind, target) = (entry.file_type()?, to.join(&path));
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                let (leads_to, is_outside) = copied_link(&root, to, &folder, &fs::read_link(entry.path())?);
                std::os::unix::fs::symlink(leads_to, target)?;
                copied.files += 1;
                copied.links_outside.extend(is_outside.then_some(path));
            } else if kind.is_file() {
                bytes += entry.metadata()?.len();
                if bytes > BYTES_MAX {
                    return Err(io::Error::other(format!("it has more than {} GiB: name a smaller folder", BYTES_MAX >> 30)));
                }
                match copy_file(&entry.path(), &target)? {
                    true => copied.files += 1,
                    false => copied.left_out.push(path),
                }
            } else {
                copied.left_out.push(path);
            }
        }
    }
    // Last, because nothing can be written into a folder that nobody may write to.
    for (folder, mode) in modes.into_iter().rev() {
        fs::set_permissions(folder, mode)?;
    }
    copied.left_out.sort();
    copied.links_outside.sort();
    Ok(copied)
}

/// The target of a link in the copy, and whether it lies outside.
fn copied_link(root: &Path, to: &Path, folder: &Path, target: &Path) -> (PathBuf, bool) {
    if let Ok(below) = target.strip_prefix(root) {
        return (to.join(below), false);
    }
    let mut depth = folder.components().count();
    for component in target.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => return (target.into(), true),
            Component::ParentDir if depth == 0 => return (target.into(), true),
            Component::ParentDir => depth -= 1,
            Component::CurDir => (),
            Component::Normal(_) => depth += 1,
        }
    }
    (target.into(), false)
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn b_1_a_copy_has_files_links_permissions_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/c"), "one").unwrap();
        fs::set_permissions(from.join("a/b/c"), fs::Permissions::from_mode(0o750)).unwrap();
        fs::set_permissions(from.join("a/b"), fs::Permissions::from_mode(0o555)).unwrap();
        symlink(from.canonicalize().unwrap().join("a/b/c"), from.join("absolute")).unwrap();
        symlink("../absolute", from.join("a/relative")).unwrap();
        symlink("../outside", from.join("outside")).unwrap();
        symlink("/etc", from.join("elsewhere")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, from.join("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let copied = copy_tree(&from, &to).unwrap();
        let expected = CopiedTree { files: 5, left_out: vec!["pipe".into()], links_outside: vec!["elsewhere".into(), "outside".into()] };
        assert_eq!(copied, expected);
        assert_eq!(fs::read_link(to.join("absolute")).unwrap(), to.join("a/b/c"));
        assert_eq!(fs::read_to_string(to.join("a/relative")).unwrap(), "one");
        let facts =
            |at: &Path| fs::metadata(at.join("a/b/c")).map(|facts| (facts.permissions().mode(), facts.modified().unwrap())).unwrap();
        assert_eq!(facts(&to), facts(&from));
        assert_eq!(fs::metadata(to.join("a/b")).unwrap().permissions().mode() & 0o777, 0o555);
        for at in [&from, &to] {
            fs::set_permissions(at.join("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}
