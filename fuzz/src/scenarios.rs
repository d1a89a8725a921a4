//! `cargo xtask fuzz-scenarios`: many whole scenarios from one seed, each run with all that must hold in every run.
//!
//! ```text
//!   seed, number ──> a scenario ──> check ──┬─> coverage
//!                    (strategies)           └─> findings, one group a bug ──> shrunk by proptest ──> a file each
//! ```
//!
//! The same seed gives the same cases and findings on any number of threads; how small they become depends on how fast the machine is.

mod case;
mod check;
mod coverage;
mod finding;
mod keys;
mod options;
mod shrink;
mod workers;

pub(crate) use options::main;
