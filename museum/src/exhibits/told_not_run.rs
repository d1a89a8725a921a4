//! The model is told of a tool that was stopped that it was never run.
//!
//! - Report: anthropics/claude-code#86001
//! - Mechanism: one text serves for a tool that the user refused and for one that the user stopped.
//! - Plain scenario: one Write of 40 ms.
//! - Smallest plan that fails: a cancel 10 ms after its start.
//! - Oracles: O-20
//! - Budget: 0 deviations, 0 faults, 1 input.

use super::Card;
use crate::mini_loop::habits::Habits;

/// The oracles that see it.
pub const CARD: Card = Card::new("told-not-run", "anthropics/claude-code#86001", &["O-20"]);

/// The loop with this bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash, Eq)]
pub struct ToldNotRun;

impl Habits for ToldNotRun {
    fn stop_text(_has_started: bool) -> &'static str {
        "The user rejected this tool call: it was not run, and nothing was written."
    }
}
