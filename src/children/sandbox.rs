//! A sandbox for a command: it reads everything, writes in a few folders alone, and opens no TCP connection (P-3).
//!
//! On Linux it is Landlock. The watcher enters it, and whatever the command starts inherits it: nobody comes out again. Other systems have none here, and
//! say so.

use std::path::PathBuf;

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
    /// Enters it, with the calling thread and all processes that it starts from now on.
    pub(super) fn enter(&self) -> Result<(), String> {
        system::enter(self)
    }
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
