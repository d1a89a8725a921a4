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

/// `cargo xtask packages`: the installations are those of the clients.
pub(crate) fn packages(languages: &[&str]) -> ExitCode {
    start("reenact-clients", &[], &[&["--packages"], languages].concat())
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// The packages with an optimisation of their own in a profile.
    fn packages(manifest: &str, profile: &str) -> BTreeSet<String> {
        let lines = manifest.lines().skip_while(|line| *line != format!("[profile.{profile}.package]")).skip(1);
        lines.take_while(|line| !line.is_empty()).filter_map(|line| Some(line.split_once('.')?.0.to_owned())).collect()
    }

    /// `dist` and `fuzz` begin as `dev`: what that optimises a little, they optimise fully.
    #[test]
    fn profiles_that_begin_as_dev_set_each_of_its_packages() {
        let manifest = std::fs::read_to_string(crate::root().join("Cargo.toml")).unwrap();
        let dev = packages(&manifest, "dev");
        assert!(!dev.is_empty());
        assert_eq!(packages(&manifest, "dist"), dev);
        assert_eq!(packages(&manifest, "fuzz"), dev);
    }
}
