//! The record of a run: typed events, their text made for diffs, and their lossless JSON form.
//!
//! Everything shown is a pure function of the events: no clock, no terminal, no limit of time.
//!
//! Its rules are in `docs/rules/transcript.md`.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod diff;
pub mod event;
pub mod json;
pub mod record;
pub mod stream_json;
pub mod text;
pub mod trace;
pub mod watch;
