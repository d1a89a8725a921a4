//! `cargo xtask clients --agents`: a client sweep of each shipped agent that is installed, and writes the table of agents and interrupts (K-9).
//!
//! ```text
//!   drive --sweep --json ──> findings ──> drive --repeat 3 --json ──> rates ──> docs/agent-tables.md
//! ```
//!
//! Agents are large and slow, so this is no step of CI.

mod findings;
mod page;
mod report;
mod sweeps;

pub(super) use sweeps::main;
