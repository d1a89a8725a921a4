//! `cargo xtask clients --agents`: a client sweep of each shipped agent that is installed, and writes the table of agents and interrupts (K-9).
//!
//! ```text
//!   drive --sweep --json ──> findings ──> drive --repeat 3 --json ──> rates ──> docs/agent-tables.md
//! ```
//!
//! Agents are large and slow, so this is no step of CI. A report of `drive` is JSON, and reading it is behind the feature `agents`: the command starts
//! itself again with it.

#[cfg(feature = "agents")]
mod findings;
#[cfg(feature = "agents")]
mod page;
#[cfg(feature = "agents")]
mod report;
#[cfg(feature = "agents")]
mod sweeps;

#[cfg(feature = "agents")]
pub(super) use sweeps::main;

/// Starts the same command again with what it needs.
#[cfg(not(feature = "agents"))]
pub(super) fn main(names: &[&str]) -> std::process::ExitCode {
    crate::feature::start_with("agents", &[], &[&["clients", "--agents"], names].concat())
}
