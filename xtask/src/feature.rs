//! Starts a command again in a build with a feature: what only one command needs is not compiled for the others.

use std::process::{Command, ExitCode};

/// Runs the command `words` in a build of xtask with `feature`, and with these further options of cargo.
pub(crate) fn start_with(feature: &str, cargo_options: &[&str], words: &[&str]) -> ExitCode {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet"]).args(cargo_options).args(["--package", "xtask", "--features", feature, "--"]);
    cargo.args(words).current_dir(crate::root());
    match cargo.status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into(),
        Err(error) => {
            let command = words.first().copied().unwrap_or_default();
            eprintln!("xtask {command}: cargo could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}
