//! The built-in tools for real (B-1 to B-7, B-10): files of a directory, and commands of a shell under a watcher.
//!
//! ```text
//!   tool use ── check ──> asked about, denied, a mistake in its values, or nothing
//!            └─ run ────> files      tools over a directory, on a thread of their own
//!                     └─> commands   watcher ──> sandbox ──> shell ──> …     output as progress, at most 1 MiB of it kept
//! ```
//!
//! The host is the surroundings of one session: what was read, the list of things to do, the commands in the background. When it is dropped, all that
//! its commands have started is ended (K-13).
//!
//! Its rules: `docs/rules/tools.md` (B, P), `docs/rules/record.md` (K-13).

#![cfg(unix)]

mod background;
mod command;
mod files;
mod host;
mod output_text;

pub use command::CommandPlacement;
pub use host::{ToolHost, ToolHostOptions};
