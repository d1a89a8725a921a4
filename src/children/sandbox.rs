//! A sandbox for a command: it reads everything, writes in a few folders alone, opens no TCP connection, and reaches no process outside (P-3).
//!
//! ```text
//!   watcher ──> this program again: read-only file systems, then Landlock ──> becomes the command ──> …
//! ```
//!
//! On Linux it is Landlock, and before it a name space of mounts, where the system allows one: Landlock lets permissions and times of files be changed, and
//! a read-only file system does not. Whatever the command starts inherits both: nobody comes out again. The watcher stays outside, so a command cannot
//! reach it. Other systems have none of this here, and say so.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use super::WatcherProgram;

#[cfg(target_os = "linux")]
mod read_only;

pub(super) const ROLE: &str = "sandbox";

/// The exit code of a command that did not start, as shells have it.
const NOT_STARTED: u8 = 126;

/// The limits of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// The folders in which it may write.
    pub writable: Vec<PathBuf>,
}

/// The sandbox that this system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxSupport {
    /// Files and TCP connections.
    Full,
    /// Files alone: a command reaches the network.
    FilesOnly,
    /// None at all.
    None,
}

impl SandboxSupport {
    /// That of this system. Nothing is restricted by asking.
    pub fn of_system() -> Self {
        system::support()
    }
}

impl Sandbox {
    /// The helper that becomes a command in this sandbox.
    pub(super) fn command(&self, program: &WatcherProgram, words: &[OsString]) -> Command {
        let mut command = program.command(ROLE);
        command.arg(self.writable.len().to_string()).args(&self.writable).args(words);
        command
    }
}

/// The helper's work: it does not return when the command runs.
pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    let count = arguments.next().and_then(|count| count.into_string().ok()?.parse::<usize>().ok());
    let writable = count.map(|count| arguments.by_ref().take(count).map(PathBuf::from).collect());
    let (Some(writable), Some(program)) = (writable, arguments.next()) else { return ExitCode::from(2) };
    if let Err(problem) = system::enter(&Sandbox { writable }) {
        eprintln!("the command was not started, because its sandbox is not there: {problem}");
        return ExitCode::from(NOT_STARTED);
    }
    let problem = Command::new(&program).args(arguments).exec();
    eprintln!("{}: {problem}", program.to_string_lossy());
    ExitCode::from(NOT_STARTED)
}

#[cfg(target_os = "linux")]
mod system {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
    };

    use super::{Sandbox, SandboxSupport};

    /// The first version with files, which must be there.
    const FILES: ABI = ABI::V1;

    /// The first version with connections.
    const NETWORK: ABI = ABI::V4;

    /// The version whose limits are wanted, as far as they are there.
    const WANTED: ABI = ABI::V6;

    /// Devices that commands write to without an effect.
    const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx"];

    pub(super) fn support() -> SandboxSupport {
        let has_files = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(FILES))
            .and_then(Ruleset::create)
            .is_ok();
        let has_network = || {
            let network = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessNet::from_all(NETWORK));
            network.and_then(Ruleset::create).is_ok()
        };
        match has_files {
            true if has_network() => SandboxSupport::Full,
            true => SandboxSupport::FilesOnly,
            false => SandboxSupport::None,
        }
    }

    pub(super) fn enter(sandbox: &Sandbox) -> Result<(), String> {
        // Where no name space is allowed, Landlock alone holds.
        let _ = super::read_only::make(&sandbox.writable);
        match restrict(sandbox) {
            Ok(RulesetStatus::NotEnforced) => Err(String::from("the system does not enforce it")),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn restrict(sandbox: &Sandbox) -> Result<RulesetStatus, RulesetError> {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(FILES))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(WANTED))?
            .handle_access(AccessNet::from_all(WANTED))?
            .scope(Scope::from_all(WANTED))?
            .create()?;
        if let Ok(root) = PathFd::new("/") {
            rules = rules.add_rule(PathBeneath::new(root, AccessFs::from_read(WANTED)))?;
        }
        for folder in sandbox.writable.iter().filter_map(|folder| PathFd::new(folder).ok()) {
            rules = rules.add_rule(PathBeneath::new(folder, AccessFs::from_all(WANTED)))?;
        }
        for device in DEVICES.iter().filter_map(|device| PathFd::new(device).ok()) {
            rules = rules.add_rule(PathBeneath::new(device, AccessFs::from_file(WANTED)))?;
        }
        Ok(rules.restrict_self()?.ruleset)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Sandbox, SandboxSupport};

    pub(super) fn support() -> SandboxSupport {
        SandboxSupport::None
    }

    pub(super) fn enter(_: &Sandbox) -> Result<(), String> {
        Err(String::from("this system has none"))
    }
}
