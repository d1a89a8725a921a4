//! The search for failures: many runs of one scenario, each a little different, all oracles on each.
//!
//! ```text
//!   run ──event──event──event──…          the scenario as it is
//!     └copy   └copy   └copy               at each boundary: inject, run to the end, ask the oracles
//! ```
//!
//! [`sweep`] is complete: every boundary, every kind of interrupt. Nothing here knows files or threads; the runner gives each
//! scenario a thread.
//!
//! Its rules are in `docs/rules/explore.md` (E).

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod against;
pub mod audit;
pub mod budget;
pub mod canary;
pub mod certificate;
pub mod certify;
pub mod coverage;
pub mod estimate;
pub mod explain;
pub mod explorer;
mod finding;
pub mod finding_group;
pub mod fingerprint;
pub mod fuzz;
mod ignored_interrupts;
pub mod input_kind;
pub mod interrupt;
mod judged_states;
pub mod plan;
pub mod shrink;
pub mod sweep;
mod sweep_watch;
pub mod verdict;

use reenact_wire::prelude::*;

/// Stands between a run and its caller, for engines that panic: pure rooms cannot catch that.
pub trait PanicGuard {
    /// Does the work; an error is the words of its panic.
    ///
    /// # Errors
    /// When the work panicked and the guard caught it.
    fn run<R>(&self, work: impl FnOnce() -> R) -> Result<R, String>;
}

/// The words of a caught panic.
#[doc(hidden)]
pub fn panic_text(payload: &(dyn core::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("(without a message)").into()
}

/// Lets a panic through.
#[derive(Clone, Copy, Debug)]
pub struct NoPanicGuard;

impl PanicGuard for NoPanicGuard {
    fn run<R>(&self, work: impl FnOnce() -> R) -> Result<R, String> {
        Ok(work())
    }
}
