//! The work of a person with transcripts: differences in words (V-2), and tests of scenarios (V-1).
//!
//! Its rules are in `docs/rules/review.md`.

pub mod diff_text;
#[cfg(feature = "harness")]
pub mod harness;
pub mod pending;
pub mod review_session;
pub mod scenario_tests;
