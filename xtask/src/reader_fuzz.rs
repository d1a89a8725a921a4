//! `cargo xtask fuzz`: every reader of bytes on changed samples, within bounds of time and memory (K-12).
//!
//! ```text
//!   sample files ── mutation (seed, number) ──> bytes ──> target, in a child with bounded memory ──> finding: panic, slow, killed
//! ```
//!
//! Each target runs in a process of its own, which notes the number of the case before it begins it. A stack that overflows and memory that runs out end
//! the child, and the parent still knows the case. The same seed and number give the same bytes. What it needs is behind the feature `fuzz`, and the
//! command starts itself again with it.

#[cfg(feature = "fuzz")]
mod child;
#[cfg(feature = "fuzz")]
mod mutation;
#[cfg(feature = "fuzz")]
mod options;
#[cfg(feature = "fuzz")]
mod parent;
#[cfg(feature = "fuzz")]
mod targets;

#[cfg(feature = "fuzz")]
pub(crate) use parent::main;

/// Starts the same command again with what it needs.
#[cfg(not(feature = "fuzz"))]
pub(crate) fn main(options: &[&str]) -> std::process::ExitCode {
    crate::fuzz::with_feature("fuzz", options)
}
