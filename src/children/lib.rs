//! Programs that are started and watched to their end, with everything that they start (K-13).
//!
//! ```text
//!   reenact ──────── socket ────────> watcher ──> command ──> …
//!      └── folder guard                  (subreaper: a process without a parent becomes the watcher's child)
//! ```
//!
//! The watcher is this program, started again. It ends all descendants of its command when the socket closes: also when this process is killed. A
//! folder guard removes the folder of a run in the same case. On systems other than Linux the watcher knows the command's group of processes alone.
//! A command may run in a sandbox, which the watcher stays outside of.
//!
//! Its rules: `docs/rules/record.md` (K-13), `docs/rules/tools.md` (P-3).

#![cfg(unix)]

extern crate alloc;

mod descendants;
mod folder_guard;
mod message;
mod private_folder;
mod sandbox;
mod terminal;
mod watched_child;
mod watcher;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub use folder_guard::FolderGuard;
pub use message::{ChildExit, ChildSignal, SignalTarget};
pub use private_folder::PrivateFolder;
pub use sandbox::{Sandbox, SandboxSupport};
pub use terminal::ChildTerminal;
pub use watched_child::{ChildCommand, ChildSession, ChildStartError, LeftProcesses, WatchedChild};

/// The first argument of this program when it is started as a helper of itself.
const HELPER_ARGUMENT: &str = "__helper";

/// The program that is started as the watcher: its `main` calls [`helper_main`], as `reenact` does.
#[derive(Clone, Debug)]
pub struct WatcherProgram {
    path: PathBuf,
}

impl WatcherProgram {
    /// The program that runs.
    ///
    /// # Errors
    /// When the system does not tell its path.
    pub fn current() -> std::io::Result<Self> {
        // This path leads to the program that runs even after its file was replaced.
        let link = PathBuf::from("/proc/self/exe");
        if cfg!(target_os = "linux") && link.exists() {
            return Ok(Self { path: link });
        }
        Ok(Self { path: std::env::current_exe()? })
    }

    /// Another one, such as the `reenact` that is installed.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn command(&self, role: &str) -> Command {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(&self.path);
        command.arg0("reenact").args([HELPER_ARGUMENT, role]);
        command
    }
}

/// Does a helper's work when the arguments say so; the first one is the program's name. A program's `main` calls this first.
pub fn helper_main(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(HELPER_ARGUMENT)) {
        return None;
    }
    let role = arguments.next();
    match role.as_deref().and_then(OsStr::to_str) {
        Some(watcher::ROLE) => Some(watcher::main(arguments)),
        Some(folder_guard::ROLE) => Some(folder_guard::main(arguments)),
        Some(terminal::ROLE) => Some(terminal::main(arguments)),
        Some(sandbox::ROLE) => Some(sandbox::main(arguments)),
        _ => Some(ExitCode::from(2)),
    }
}
