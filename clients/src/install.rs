//! Fetches the pinned clients, once, into `target/clients`, with the ordinary tools of their languages and as the machine has these set up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::client_kind::{Language, Library, SdkClient};

/// The installed packages, for people.
pub(super) const PINS: &str = "anthropic 2.11.0 (Python) and @anthropic-ai/sdk 1.11.0 (TypeScript)";

/// The SDK, and what it receives bytes with, because the names of that one's errors reach the users of the SDK.
const PYTHON_PINS: [&str; 2] = ["anthropic==2.11.0", "httpx2==2.16.2"];
const TYPESCRIPT_PINS: [&str; 1] = ["@anthropic-ai/sdk@1.11.0"];

const PYTHON_SCRIPT: &str = include_str!("drive_sdk.py");
const TYPESCRIPT_SCRIPT: &str = include_str!("drive_sdk.mjs");
const PYTHON_LIBRARY_SCRIPT: &str = include_str!("drive_library.py");
const TYPESCRIPT_LIBRARY_SCRIPT: &str = include_str!("drive_library.mjs");

/// The needs of a machine, and how they are found.
pub(super) struct MachineNeed {
    program: &'static str,
    arguments: &'static [&'static str],
    what: &'static str,
}

pub(super) const PYTHON: MachineNeed = MachineNeed {
    program: "python3",
    arguments: &["-c", "import ensurepip, venv"],
    what: "Python 3 with its modules venv and ensurepip (Debian: python3 python3-venv)",
};
pub(super) const NODE: MachineNeed = MachineNeed { program: "node", arguments: &["--version"], what: "Node (Debian: nodejs)" };
pub(super) const NPM: MachineNeed = MachineNeed { program: "npm", arguments: &["--version"], what: "npm (Debian: npm)" };

/// Why clients could not be driven.
#[derive(Debug, PartialEq)]
pub(super) enum InstallProblem {
    /// The machine lacks something: a language, or a way to the registries.
    Lacking(String),
    /// Something else.
    Wrong(String),
}

/// Both SDKs, ready to be driven.
pub(super) fn sdks() -> Result<[SdkClient; 2], InstallProblem> {
    are_there(&[PYTHON, NODE, NPM])?;
    Ok([python()?, typescript()?])
}

/// Whether agents can be installed and run.
pub(super) fn npm_is_there() -> Result<(), InstallProblem> {
    are_there(&[NODE, NPM])
}

/// Where everything of the clients is.
pub(super) fn folder() -> PathBuf {
    crate::root().join("target/clients")
}

/// A library, ready to be driven: the command, to be followed by the way.
pub(super) fn library(library: &Library) -> Result<Vec<String>, InstallProblem> {
    let home = folder().join(library.name.replace(' ', "-").to_ascii_lowercase());
    let script = match library.language {
        Language::Python => PYTHON_LIBRARY_SCRIPT,
        Language::TypeScript => TYPESCRIPT_LIBRARY_SCRIPT,
    };
    Ok([script_in(&home, library.language, library.pins, script)?, vec![library.argument.into()]].concat())
}

fn python() -> Result<SdkClient, InstallProblem> {
    let language = Language::Python;
    Ok(SdkClient { language, command: script_in(&folder().join("python"), language, &PYTHON_PINS, PYTHON_SCRIPT)? })
}

fn typescript() -> Result<SdkClient, InstallProblem> {
    let language = Language::TypeScript;
    Ok(SdkClient { language, command: script_in(&folder().join("typescript"), language, &TYPESCRIPT_PINS, TYPESCRIPT_SCRIPT)? })
}

/// Installs packages into a folder of their own, and puts a script beside them, because that is where Node looks for packages.
fn script_in(home: &Path, language: Language, pins: &[&str], text: &str) -> Result<Vec<String>, InstallProblem> {
    let (program, script) = match language {
        Language::Python => (virtual_environment(home, pins)?, home.join("client.py")),
        Language::TypeScript => {
            once(home, pins, |home| npm(home, pins))?;
            (String::from("node"), home.join("client.mjs"))
        }
    };
    write(&script, text)?;
    Ok(vec![program, shown(&script)])
}

/// An environment of Python with these packages, made once: its interpreter.
pub(super) fn virtual_environment(home: &Path, pins: &[&str]) -> Result<String, InstallProblem> {
    let python = shown(&home.join("bin/python"));
    once(home, pins, |home| {
        fetch(Command::new("python3").args(["-m", "venv"]).arg(home))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "2"];
        fetch(Command::new(&python).args(pip).args(pins))
    })?;
    Ok(python)
}

/// Installs an agent: its program.
pub(super) fn agent(name: &str, pin: &'static str, program: &str) -> Result<String, InstallProblem> {
    let home = folder().join(name);
    let program = shown(&home.join(program));
    // Whether it was linked is seen by starting it: npm may leave the scripts of packages out.
    once(&home, &[pin], |home| {
        npm(home, &[pin])?;
        fetch(Command::new(&program).arg("--version"))
    })?;
    Ok(program)
}

/// Installs packages into a prefix of their own.
fn npm(home: &Path, pins: &[&str]) -> Result<(), InstallProblem> {
    // Pinned packages do not get old, and nobody wants to wait a minute to hear that there is no network.
    let options = ["install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefer-offline", "--fetch-retries", "1"];
    let options = [&options[..], &["--fetch-retry-mintimeout", "1000", "--fetch-retry-maxtimeout", "1000"]].concat();
    fetch(Command::new("npm").args(options).arg("--prefix").arg(home).args(pins))
}

/// Does the work unless it was done to its end before, for the same pins; what an earlier try left is removed.
fn once(home: &Path, pins: &[&str], work: impl FnOnce(&Path) -> Result<(), InstallProblem>) -> Result<(), InstallProblem> {
    let (mark, pins) = (home.join("installed"), pins.join("\n"));
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == pins) {
        return Ok(());
    }
    println!("xtask clients: installing {} into {}, once", pins.replace('\n', " and "), home.display());
    if home.exists() {
        fs::remove_dir_all(home).map_err(|error| wrong(home, &error))?;
    }
    fs::create_dir_all(home).map_err(|error| wrong(home, &error))?;
    work(home)?;
    write(&mark, &pins)
}

/// Whether all of these run; what does not is told at once.
pub(super) fn are_there(needs: &[MachineNeed]) -> Result<(), InstallProblem> {
    let runs = |need: &&MachineNeed| Command::new(need.program).args(need.arguments).output().is_ok_and(|output| output.status.success());
    let missing: Vec<&str> = needs.iter().filter(|need| !runs(need)).map(|need| need.what).collect();
    if missing.is_empty() { Ok(()) } else { Err(InstallProblem::Lacking(format!("this machine has no {}", missing.join(", no ")))) }
}

/// A step of an installation. That it fails is put down to the machine: the pins are known to exist.
pub(super) fn fetch(command: &mut Command) -> Result<(), InstallProblem> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
            Err(InstallProblem::Lacking(format!("{command:?} failed ({}); is there a network?\n{said}", output.status)))
        }
        Err(error) => Err(InstallProblem::Lacking(format!("{command:?} could not be started: {error}"))),
    }
}

fn write(path: &Path, text: &str) -> Result<(), InstallProblem> {
    fs::write(path, text).map_err(|error| wrong(path, &error))
}

pub(super) fn wrong(path: &Path, error: &std::io::Error) -> InstallProblem {
    InstallProblem::Wrong(format!("{}: {error}", path.display()))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let gone = |what| MachineNeed { program: "no-such-program-at-all", arguments: &[], what };
        let broken = MachineNeed { program: "false", arguments: &[], what: "truth" };
        let there = MachineNeed { program: "true", arguments: &[], what: "falsehood" };
        let missing = are_there(&[gone("tea"), there, broken]);
        assert_eq!(missing, Err(InstallProblem::Lacking("this machine has no tea, no truth".to_string())));
    }

    #[test]
    fn an_installation_that_fails_is_what_the_machine_lacks() {
        assert!(matches!(fetch(&mut Command::new("false")), Err(InstallProblem::Lacking(what)) if what.contains("is there a network?")));
        assert!(matches!(fetch(&mut Command::new("no-such-program-at-all")), Err(InstallProblem::Lacking(_))));
    }

    #[test]
    fn what_was_installed_to_its_end_is_used_again_and_other_pins_are_not() {
        let home = std::env::temp_dir().join(format!("xtask-clients-{}", std::process::id()));
        let mut count = 0;
        let mut install = |pins: &[&str], end| {
            once(&home, pins, |_| {
                count += 1;
                end
            })
            .is_ok()
        };
        let failure = || Err(InstallProblem::Lacking(String::new()));
        assert!(!install(&["a==1"], failure()) && install(&["a==1"], Ok(())) && install(&["a==1"], failure()), "done once it is done");
        assert!(install(&["a==2"], Ok(())));
        assert_eq!(count, 3);
        fs::remove_dir_all(home).unwrap();
    }
}
