//! Real connections: the same worlds and engines over HTTP.
//!
//! ```text
//!   record:   client ──HTTP──> proxy ──HTTP──> upstream             what passes becomes a tape
//!   serve:    client ──HTTP──> replay server (on `world`)           what it asked is judged
//!   driver:   engine (in a `sim::Run`) ──HTTP──> any Messages API   what happened is a transcript and a boundary log
//!   network:  driver and replay server inside a simulated network   seeded, on virtual time (M-11)
//! ```
//!
//! What is decided is decided in the pure rooms; here are sockets, clocks, processes and signals.

pub mod clock;
pub mod drive;
pub mod driver;
pub mod network;
pub mod record;
pub mod serve;
#[cfg(feature = "network")]
pub mod simulation;

use std::any::Any;

use crate::prelude::*;

/// What a panic said.
fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("(without a message)").into()
}
