//! Real connections: the same worlds and engines over HTTP.
//!
//! ```text
//!   record:   client ──HTTP──> proxy ──HTTP──> upstream             what passes becomes a tape
//!   serve:    client ──HTTP──> replay server (on `world`)           what it asked is judged
//!   driver:   engine (in a `sim::Run`) ──HTTP──> any Messages API   what happened is a transcript and a boundary log
//!   network:  driver and replay server inside a simulated network   seeded, on virtual time (M-11)
//! ```
//!
//! The pure rooms decide; here are sockets, clocks, processes and signals.
//!
//! Its rules: `docs/rules/record.md` (K), `docs/rules/simulation.md` (M-11).

#![cfg(unix)]

extern crate alloc;

pub mod access;
pub mod base_url;
pub mod base_url_variables;
pub mod client_folders;
mod client_form;
pub mod clock;
pub mod drive;
pub mod driver;
mod head_watch;
pub mod network;
pub mod no_proxy;
pub mod record;
pub mod serve;
#[doc(hidden)]
pub mod signals;
#[cfg(feature = "network")]
pub mod simulation;
pub mod tls;
pub mod web_fetch;
pub mod workspace_run;
