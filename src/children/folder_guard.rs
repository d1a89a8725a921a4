//! The folder of a run, removed also when the program is killed.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::time::Duration;

use super::{PrivateFolder, WatcherProgram};

pub(super) const ROLE: &str = "guard-folder";

/// The message to the guard after the folder was removed.
const IS_REMOVED: &[u8] = b"removed\n";

/// How often a folder is removed again, because a process that is being ended may still write there.
const REMOVALS: u32 = 30;

/// The pause between two removals.
const PAUSE: Duration = Duration::from_millis(100);

/// A folder that is removed with this, and when this process ends in any way.
#[derive(Debug)]
pub struct FolderGuard {
    folder: PrivateFolder,
    guard: Child,
}

impl FolderGuard {
    /// Makes `NAME-…` in the folder for temporary files.
    ///
    /// # Errors
    /// When it cannot be made, or the guard cannot be started.
    pub fn new(name: &str, program: &WatcherProgram) -> io::Result<Self> {
        let folder = PrivateFolder::new(&std::env::temp_dir(), name)?;
        let mut command = program.command(ROLE);
        command.arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        Ok(Self { guard: command.spawn()?, folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for FolderGuard {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.folder.path());
        if let Some(mut input) = self.guard.stdin.take() {
            let _ = input.write_all(IS_REMOVED);
        }
        let _ = self.guard.wait();
    }
}

/// The guard: waits for the end of its input, and removes the folder.
pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    // What is pressed at the terminal is not for the guard.
    let _ = rustix::process::setsid();
    let Some(folder) = arguments.next().map(PathBuf::from) else { return ExitCode::from(2) };
    let mut input = Vec::new();
    let _ = io::stdin().read_to_end(&mut input);
    if input != IS_REMOVED {
        for _ in 0..REMOVALS {
            let _ = fs::remove_dir_all(&folder);
            pause();
        }
    }
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "the guard has nothing else to do")]
fn pause() {
    std::thread::sleep(PAUSE);
}
