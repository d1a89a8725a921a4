//! The contract for any agent loop under test, and our own loop, the reference implementation.
//!
//! Read [`contract`] first. Nothing in this room knows about HTTP, files, clocks or threads: what happens comes in as inputs,
//! what should happen goes out as effects.

pub mod contract;
pub mod emission;
pub mod random;
pub mod settings;
pub mod time;
