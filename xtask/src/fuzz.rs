//! `cargo xtask fuzz-scenarios`: many whole scenarios from one seed, each run with all that must hold in every run.
//!
//! ```text
//!   seed, number ──> a scenario ──> check ──┬─> coverage
//!                    (strategies)           └─> findings, one group a bug ──> shrunk by proptest ──> a file each
//! ```
//!
//! The same seed gives the same cases and findings on any number of threads; how small they become depends on how fast the machine is. What it needs is behind the feature `fuzz`, and the command starts
//! itself again with it, optimised and with debug assertions.

#[cfg(feature = "fuzz")]
mod case;
#[cfg(feature = "fuzz")]
mod check;
#[cfg(feature = "fuzz")]
mod coverage;
#[cfg(feature = "fuzz")]
mod finding;
#[cfg(feature = "fuzz")]
mod keys;
#[cfg(feature = "fuzz")]
mod options;
#[cfg(feature = "fuzz")]
mod shrink;
#[cfg(feature = "fuzz")]
mod workers;

#[cfg(feature = "fuzz")]
pub(crate) use options::main;

/// Starts the same command again with what it needs.
#[cfg(not(feature = "fuzz"))]
pub(crate) fn main(options: &[&str]) -> std::process::ExitCode {
    with_feature("fuzz-scenarios", options)
}

/// Starts a command of xtask again, optimised and with what fuzzing needs.
#[cfg(not(feature = "fuzz"))]
pub(crate) fn with_feature(command: &str, options: &[&str]) -> std::process::ExitCode {
    crate::feature::start_with("fuzz", &["--profile", "fuzz"], &[&[command], options].concat())
}
