//! `cargo xtask fuzz`: every reader of bytes on changed samples, within bounds of time and memory (K-12).
//!
//! ```text
//!   sample files ── mutation (seed, number) ──> bytes ──> target, in a child with bounded memory ──> finding: panic, slow, killed
//! ```
//!
//! Each target runs in a process of its own, which notes the number of the case before it begins it. A stack that overflows and memory that runs out end
//! the child, and the parent still knows the case. The same seed and number give the same bytes.

mod child;
mod mutation;
mod options;
mod parent;
mod targets;

pub(crate) use parent::main;
