//! The work of a person with transcripts and recordings: differences in words (V-2), tests of scenarios (V-1), and timelines as text (V-8).
//!
//! Its rules are in `docs/rules/review.md`.

pub mod diff_text;
#[cfg(feature = "harness")]
pub mod harness;
pub mod pending;
pub mod review_session;
pub mod scenario_tests;
pub mod show_text;
