//! The commands that are crates beside this one: what only one of them needs is not compiled for the others.

use std::process::{Command, ExitCode};

/// `cargo xtask bench`, optimised as what is shipped.
pub(crate) fn bench(options: &[&str]) -> ExitCode {
    start("reenact-bench", &["--profile", "dist"], options)
}

/// `cargo xtask clients`.
pub(crate) fn clients(options: &[&str]) -> ExitCode {
    start("reenact-clients", &[], options)
}

/// `cargo xtask fuzz` and `fuzz-scenarios`, optimised and with debug assertions.
pub(crate) fn fuzz(words: &[&str]) -> ExitCode {
    start("reenact-fuzz", &["--profile", "fuzz"], words)
}

/// Runs a member of the workspace, built with these options of cargo; its exit code. With 2 it has not understood its words.
fn start(package: &str, cargo_options: &[&str], words: &[&str]) -> ExitCode {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet"]).args(cargo_options).args(["--package", package, "--"]).args(words);
    match cargo.current_dir(crate::root()).status() {
        Ok(status) if status.code() == Some(2) => crate::usage_after_problem(),
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into(),
        Err(error) => {
            eprintln!("xtask: {package}: cargo could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}
