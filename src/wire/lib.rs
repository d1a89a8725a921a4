//! The Messages API as it travels: SSE framing, typed events, assembled messages, requests and error bodies.
//!
//! Nothing here does I/O or knows what an engine is. What is read is kept byte for byte beside what was understood of it (N-8).
//!
//! Its rules are in `docs/rules/wire.md` (N-1 to N-8). What other rooms need and users do not is public and hidden.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[doc(hidden)]
pub mod answer;
pub mod assembler;
pub mod block;
pub mod compare;
#[doc(hidden)]
pub mod container;
#[doc(hidden)]
pub mod date;
#[doc(hidden)]
pub mod denied_start;
pub mod error;
pub mod event;
pub mod http;
pub mod json;
pub mod models;
pub mod order;
mod partial_block;
#[doc(hidden)]
pub mod prelude;
pub mod rate_limit;
#[doc(hidden)]
pub mod raw_json;
pub mod request;
pub mod sse;
pub mod tokens;
pub mod usage;
pub mod validate;
pub mod whole_message;
