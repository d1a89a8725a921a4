//! The Messages API as it travels: SSE framing, typed events, assembled messages, requests and error bodies.
//!
//! Nothing here does I/O or knows what an engine is. What is read is kept byte for byte beside what was understood of it (N-8).
//!
//! Its rules are in `docs/rules/wire.md` (N-1 to N-8).

pub(crate) mod answer;
pub mod assembler;
pub mod block;
pub mod compare;
pub(crate) mod container;
mod date;
pub mod error;
pub mod event;
pub mod http;
pub mod json;
pub mod models;
pub mod order;
mod partial_block;
pub mod rate_limit;
pub(crate) mod raw_json;
pub mod request;
pub(crate) mod server_threads;
pub mod sse;
pub mod tokens;
pub mod usage;
pub mod validate;
pub mod whole_message;
