//! Deterministic simulation and replay of LLM agent loops.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod prelude;

#[cfg(feature = "cli")]
pub mod cli;
pub mod engine;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "files")]
pub mod runner;
pub mod scenario;
pub mod sim;
pub mod transcript;
pub mod wire;
pub mod world;
