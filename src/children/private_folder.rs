//! Folders that their owner alone may look into, removed when they are no longer needed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own below the one for temporary files. It is removed when this is dropped.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
}

impl PrivateFolder {
    /// Makes `NAME-PROCESS-NUMBER` in `parent`. Names are as long in every run, because clients send the paths of their folders.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(parent: &Path, name: &str) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{name}-{:08}-{number:04}", std::process::id()));
            match create_own(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What a process that was left behind still writes there is nobody's loss.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn create_own(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn k_12_a_folder_is_its_owners_alone_and_goes() {
        let first = PrivateFolder::new(&std::env::temp_dir(), "reenact-test").unwrap();
        let second = PrivateFolder::new(&std::env::temp_dir(), "reenact-test").unwrap();
        assert_ne!(first.path(), second.path());
        assert_eq!(fs::metadata(first.path()).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(first.path().join("a"), "b").unwrap();
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
