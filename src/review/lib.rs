//! The work of a person with transcripts and sessions: differences in words (V-2), tests of scenarios (V-1), a doctor of stored sessions (V-9).
//!
//! Its rules are in `docs/rules/review.md`.

pub mod diff_text;
pub mod doctor;
#[cfg(feature = "harness")]
pub mod harness;
pub mod scenario_tests;
