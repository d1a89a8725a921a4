//! Scenarios and tapes: types, parsing from text, checking. Reading files is the work of `files`.
//!
//! Its rules are in `docs/rules/files.md` (F-1 to F-12); `docs/rules/simulation.md` describes the abilities of a scenario.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod boundary;
pub mod client_profile;
pub mod conversation;
pub mod derive;
pub mod drive;
pub mod expectations;
pub mod explore_settings;
pub mod fault;
pub mod interrupt;
pub mod known_tools;
pub mod language;
pub mod latency;
pub mod matching;
pub mod network;
pub mod pair;
pub mod parse;
pub mod plan;
pub mod presets;
pub mod recording;
pub mod replies;
mod safe_uses;
pub mod script;
pub mod side;
pub mod simulated_api;
pub mod single_fault;
pub mod statement;
pub mod tape;
pub mod turn;
pub mod types;
pub mod workspace;
