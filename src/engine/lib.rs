//! The contract for any agent loop under test, and our own loop, the reference implementation.
//!
//! Read [`contract`] first. Nothing in this room knows about HTTP connections, files, clocks or threads: what happens comes in as
//! inputs, what should happen goes out as effects.
//!
//! ```text
//!   agent_loop > agents > session > query > call, executor          machines, nested; effects go down, verdicts come up
//!                                         └ pipeline: what one tool use goes through
//!   answer_decision, class, admission, ordering, retry, decide (permissions), result (sizes)   policies, pure functions beside them
//! ```
//!
//! Which state of a machine follows which is a table beside it, drawn in ARCHITECTURE.md.
//!
//! Its rules: `docs/rules/query.md` (session S, query Q), `executor.md` (T), `retry.md` (R), `compaction.md` (C), `tools.md` (B-8, B-12, P-1),
//! `determinism.md` (D).

#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "taken-edges"))]
extern crate std;

/// An assertion about the reference loop itself. A build with `--cfg reenact_foreign` leaves all of them out: then its oracles alone find what is wrong, as
/// in an engine of somebody else.
macro_rules! invariant {
    ($($about:tt)*) => {
        if cfg!(not(reenact_foreign)) {
            assert!($($about)*);
        }
    };
}

pub mod agent_loop;
pub mod budget;
pub mod contract;
pub mod data_file;
pub mod date;
pub mod emission;
pub mod hook;
pub mod key;
pub mod log;
pub mod permission;
pub mod random;
pub mod retry;
pub mod schema;
pub mod settings;
pub mod texts;
pub mod time;
pub mod tokenizer;
pub mod windows;

mod agent_effects;
#[doc(hidden)]
pub mod agents;
mod call;
mod compaction;
#[doc(hidden)]
pub mod conversation;
#[doc(hidden)]
pub mod diagram;
mod executor;
mod query;
#[doc(hidden)]
pub mod session;
mod status;
